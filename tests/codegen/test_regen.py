"""Regeneration: identical bytes on every run, and a diff for a changed tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.__main__ import main

REPOSITORY = Path(__file__).parents[2]
GENERATED = REPOSITORY / "generated" / "mcp_wire"


def contents(folder: Path) -> dict[str, bytes]:
    """Return every generated file below a folder, by its relative path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".py", ".typed")
    }


def copied(out: Path) -> Path:
    """Copy the generated files below `out`, and return the copy of the package."""
    shutil.copytree(GENERATED.parent / "json-schema", out / "json-schema")
    return shutil.copytree(
        GENERATED, out / "mcp_wire", ignore=shutil.ignore_patterns("__pycache__")
    )


def regenerate(out: Path, *more: str, root: Path = REPOSITORY) -> int:
    return main(["--root", str(root), "--out", str(out), *more])


def test_a_process_with_another_hash_seed_finds_package_and_reference_up_to_date() -> None:
    # Iteration over a set of strings depends on the seed; the committed bytes are from another one.
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    ran = subprocess.run(
        [sys.executable, "-m", "codegen", "--check"],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


def test_check_shows_a_changed_byte_as_a_unified_diff(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    types = copied(tmp_path) / "v2024_11_05" / "types.py"
    types.write_text(types.read_text().replace("class Tool(Wire,", "class Tool(Wird,"))
    code = regenerate(tmp_path, "--check")
    changed = [line for line in capsys.readouterr().out.splitlines() if line[0] in "+-"]
    assert (code, changed) == (
        1,
        [
            "--- a/mcp_wire/v2024_11_05/types.py",
            "+++ b/mcp_wire/v2024_11_05/types.py",
            "-class Tool(Wird, kw_only=True):",
            "+class Tool(Wire, kw_only=True):",
        ],
    )


def test_check_says_how_to_bring_the_tree_up_to_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied(tmp_path) / "latest.py").unlink()
    regenerate(tmp_path, "--check")
    assert capsys.readouterr().err == "generated/ is out of date: run `nox -s regen`\n"


def test_check_sees_a_changed_line_ending(tmp_path: Path) -> None:
    latest = copied(tmp_path) / "latest.py"
    latest.write_bytes(latest.read_bytes().replace(b"\n", b"\r\n", 1))
    assert regenerate(tmp_path, "--check") == 1


def test_check_sees_a_file_that_nothing_generates(tmp_path: Path) -> None:
    (copied(tmp_path) / "extra.py").write_text("EXTRA = 1\n")
    assert regenerate(tmp_path, "--check") == 1


def test_check_sees_a_file_that_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copied(tmp_path) / "profile.py").unlink()
    assert regenerate(tmp_path, "--check") == 1
    assert capsys.readouterr().out.startswith("--- /dev/null\n+++ b/mcp_wire/profile.py\n")


def test_check_sees_an_empty_file_that_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied(tmp_path) / "py.typed").unlink()
    assert regenerate(tmp_path, "--check") == 1
    assert capsys.readouterr().out == "--- /dev/null\n+++ b/mcp_wire/py.typed\n"


def test_check_sees_an_empty_file_that_nothing_generates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copied(tmp_path) / "left.py").touch()
    assert regenerate(tmp_path, "--check") == 1
    assert capsys.readouterr().out == "--- a/mcp_wire/left.py\n+++ /dev/null\n"


def test_check_sees_a_changed_json_schema(tmp_path: Path) -> None:
    copied(tmp_path)
    (tmp_path / "json-schema" / "2025-11-25.json").write_text("{}\n")
    assert regenerate(tmp_path, "--check") == 1


def test_check_changes_nothing(tmp_path: Path) -> None:
    (copied(tmp_path) / "latest.py").unlink()
    before = contents(tmp_path)
    regenerate(tmp_path, "--check")
    assert contents(tmp_path) == before


def test_a_deleted_package_comes_back_identical(tmp_path: Path) -> None:
    regenerate(tmp_path)
    assert contents(tmp_path / "mcp_wire") == contents(GENERATED)


def test_a_file_that_nothing_generates_is_removed(tmp_path: Path) -> None:
    (copied(tmp_path) / "extra.py").write_text("EXTRA = 1\n")
    regenerate(tmp_path)
    assert contents(tmp_path / "mcp_wire") == contents(GENERATED)


def test_an_up_to_date_package_is_not_written_again(tmp_path: Path) -> None:
    latest = copied(tmp_path) / "latest.py"
    before = latest.stat()
    regenerate(tmp_path)
    assert (latest.stat().st_ino, latest.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def with_another_revision(root: Path, revision: str) -> None:
    """Copy `schema/` below `root`, with the newest revision once more under a later date."""
    shutil.copytree(REPOSITORY / "schema", root / "schema")
    newest = max(path.parent for path in (root / "schema").glob("*/schema.json"))
    later = shutil.copytree(newest, root / "schema" / revision)
    overlay = root / "schema" / "overlay.toml"
    overlay.write_text(
        overlay.read_text().replace(f'"{newest.name}"]', f'"{newest.name}", "{revision}"]')
    )
    facts = later / "facts.toml"
    facts.write_text(facts.read_text().replace(newest.name, revision))
    for extension in (root / "schema" / "extensions").glob("*/facts.toml"):
        extension.write_text(f'refused = ["{revision}"]\n{extension.read_text()}')


@pytest.fixture(scope="module")
def one_more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the package generated with a revision more."""
    root = tmp_path_factory.mktemp("one_more")
    with_another_revision(root, "2031-01-01")
    regenerate(root / "out", root=root)
    return root / "out" / "mcp_wire"


def test_a_new_revision_changes_no_old_package(one_more: Path) -> None:
    made = contents(one_more)
    old = {path: text for path, text in contents(GENERATED).items() if path.startswith("v20")}
    assert {path: text for path, text in made.items() if path in old} == old


def test_a_new_revision_gets_a_package_of_its_own(one_more: Path) -> None:
    assert sorted(path.name for path in (one_more / "v2031_01_01").iterdir()) == sorted(
        path.name for path in (GENERATED / "v2024_11_05").glob("*.py")
    )


# --- only some revisions ---


def out_of_date(out: Path) -> Path:
    """Copy the generated package below `out`, with one extra line in three of its files."""
    package = copied(out)
    for path in ("v2024_11_05/types.py", "v2025_03_26/types.py", "common.py"):
        (package / path).write_text((package / path).read_text() + "MORE = 1\n")
    return package


def test_a_revision_that_is_named_is_written(tmp_path: Path) -> None:
    package = out_of_date(tmp_path)
    regenerate(tmp_path, "2025-03-26")
    assert contents(package / "v2025_03_26") == contents(GENERATED / "v2025_03_26")


def test_a_revision_that_is_not_named_stays_as_it_is(tmp_path: Path) -> None:
    package = out_of_date(tmp_path)
    before = contents(package / "v2024_11_05")
    regenerate(tmp_path, "2025-03-26")
    assert contents(package / "v2024_11_05") == before


def test_what_spans_the_revisions_is_written_whichever_is_named(tmp_path: Path) -> None:
    package = out_of_date(tmp_path)
    regenerate(tmp_path, "2025-03-26")
    assert (package / "common.py").read_bytes() == (GENERATED / "common.py").read_bytes()


def test_what_spans_the_revisions_spans_all_of_them_whichever_is_named(tmp_path: Path) -> None:
    regenerate(tmp_path, "2025-03-26")
    made = contents(tmp_path / "mcp_wire")
    assert {path: text for path, text in contents(GENERATED).items() if "/" not in path} == {
        path: text for path, text in made.items() if "/" not in path
    }


def test_check_looks_at_the_named_revisions_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out_of_date(tmp_path)
    regenerate(tmp_path, "2025-03-26", "--check")
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("+++ ")] == [
        "+++ b/mcp_wire/common.py",
        "+++ b/mcp_wire/v2025_03_26/types.py",
    ]


def test_a_revision_that_is_not_there_stops_with_one_that_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = regenerate(tmp_path, "2025-11-52")
    assert (code, capsys.readouterr().err) == (
        1,
        "codegen: no schema/2025-11-52; there is 2025-11-25, and "
        "`nox -s schema -- 2025-11-52` adds a published one\n",
    )


def test_a_folder_that_nothing_generates_is_removed_with_its_compiled_files(tmp_path: Path) -> None:
    folder = copied(tmp_path) / "v2019_01_01"
    (folder / "__pycache__").mkdir(parents=True)
    (folder / "types.py").write_text("MORE = 1\n")
    (folder / "__pycache__" / "types.cpython-311.pyc").write_bytes(b"")
    regenerate(tmp_path)
    assert not folder.exists()

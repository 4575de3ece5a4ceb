"""Checks of the pages for contributors: examples run, links lead somewhere, sessions are named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mcp_wire
from tests.release.__main__ import main as print_changes
from tests.requirements.count import sections

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```python\n# (tests/\S+\.py)\n(.*?)^```", CONTRIBUTING, re.M | re.S)
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md")])
DECISIONS = ROOT / "docs/decisions"
NEXT = "2027-01-31"
"""Revision that the pages make up."""
HEADINGS = {"Decision", "Alternatives", "Consequences", "What would make us reconsider"}

_FENCED = re.compile(r"^ *```.*?^ *```", re.M | re.S)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def run(*words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=110, check=False)


# --- examples ---


def test_there_is_an_example_for_each_kind_of_test() -> None:
    folders = [str(Path(path).parent) for path, _ in EXAMPLES]
    assert folders == [
        "tests/server/spec/server_features",
        "tests/client/spec",
        "tests/transports/http_client",
        "tests/codegen",
    ]
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_every_program_of_the_page_is_one_of_the_examples() -> None:
    assert CONTRIBUTING.count("```python") == len(EXAMPLES)


def test_the_examples_pass(tmp_path: Path) -> None:
    for number, (_, text) in enumerate(EXAMPLES):
        (tmp_path / f"test_example_{number}.py").write_text(text, "utf-8")
    options = ("-c", "pyproject.toml", "-p", "tests.conftest", "-p", "no:cacheprovider")
    ran = run(sys.executable, "-m", "pytest", "-q", "-rp", *options, str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    for number, (_, text) in enumerate(EXAMPLES):
        for name in re.findall(r"^(?:async )?def (test_\w+)", text, re.M):
            assert f"test_example_{number}.py::{name}" in ran.stdout


# --- links ---


def targets(page: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield each link of a page that leads into the repository, with its file and its section."""
    for link in _LINK.findall(_FENCED.sub("", page.read_text("utf-8"))):
        path, _, section = link.partition("#")
        if "://" not in path and not path.startswith("mailto:"):
            yield link, (page.parent / path).resolve() if path else page, section


def test_links_between_pages_lead_to_files_and_sections_that_exist() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link, path, section in targets(page)
        if not path.exists()
        or (section and path.suffix == ".md" and section not in sections(path.read_text("utf-8")))
    ]
    assert broken == []


def test_files_of_the_project_that_the_page_names_exist() -> None:
    # Texts of links are short forms of their targets, which are checked above.
    text = re.sub(r"\[`[^`]+`\]", "", CONTRIBUTING)
    folders = r"(?:tests|mcp_gen|codegen|docs|schema|examples|bench)/"
    named = set(re.findall(rf"(?<=[`\s\"])({folders}[\w/.-]+)", text))
    made_up = {path for path, _ in EXAMPLES} | {f"schema/{NEXT}/schema.json"}
    assert len(named) > 20
    assert sorted(one for one in named - made_up if not (ROOT / one.rstrip(".")).exists()) == []


def test_the_pages_of_contributors_are_found_from_the_readme_and_the_architecture() -> None:
    assert ROOT / "CONTRIBUTING.md" in {path for _, path, _ in targets(ROOT / "README.md")}
    from_contributing = {path for _, path, _ in targets(ROOT / "CONTRIBUTING.md")}
    assert {ROOT / "SECURITY.md", ROOT / "docs/architecture.md"} <= from_contributing
    architecture = ROOT / "docs/architecture.md"
    assert DECISIONS / "README.md" in {path for _, path, _ in targets(architecture)}


def test_every_decision_is_listed_and_says_what_would_change_it() -> None:
    listed = (DECISIONS / "README.md").read_text("utf-8")
    for page in DECISIONS.glob("*.md"):
        if page.name != "README.md":
            assert f"`{page.name}`" in listed
            text = page.read_text("utf-8")
            assert text.startswith("# ")
            assert set(re.findall(r"^## (.+)$", text, re.M)) >= HEADINGS, page.name


# --- sessions, releases, templates ---


NOXFILE = ast.parse((ROOT / "noxfile.py").read_text("utf-8"))
"""The noxfile, which is not imported: nox is not among what tests need."""


def session_names() -> list[str]:
    """Return the names of the noxfile's sessions."""
    return [
        node.name
        for node in NOXFILE.body
        if isinstance(node, ast.FunctionDef)
        and any("nox.session" in ast.unparse(one) for one in node.decorator_list)
    ]


def test_every_session_is_named_on_the_page() -> None:
    assert len(session_names()) > 10
    assert [one for one in session_names() if f"| `nox -s {one}` |" not in CONTRIBUTING] == []


def test_the_page_says_nightly_of_what_runs_each_night() -> None:
    rows = re.findall(r"^\| `nox -s (\w+)` \|.*\| ([^|]+) \|$", CONTRIBUTING, re.M)
    said = {name for name, when in rows if "nightly" in when}
    (nightly,) = (
        ast.literal_eval(node.value)
        for node in NOXFILE.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "NIGHTLY"
    )
    # That of `bench` is said in the row of `nightly`.
    assert {*nightly} == said | {"bench"}
    assert nightly[-1] == "mutants", "it has what is left of the night"


def test_no_session_but_nightly_puts_another_at_the_end_of_the_night() -> None:
    notifying = [
        node.name
        for node in NOXFILE.body
        if isinstance(node, ast.FunctionDef) and ".notify(" in ast.unparse(node)
    ]
    assert notifying == ["nightly"]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ([], ("-n", "3", "--dist", "worksteal")),
        (["tests/server"], ("-n", "3", "--dist", "worksteal")),
        (["tests/server", "tests/client", "-x"], ("-n", "3", "--dist", "worksteal")),
        (["tests/core/test_sse.py"], ()),
        (["tests/core/test_sse.py::test_a"], ()),
        (["tests/core", "-k", "batch"], ()),
        (["tests/core", "-n0"], ()),
    ],
)
def test_all_tests_and_folders_run_on_all_processors_and_few_tests_on_one(
    words: list[str], options: tuple[str, ...]
) -> None:
    (function,) = (
        node
        for node in NOXFILE.body
        if isinstance(node, ast.FunctionDef) and node.name == "at_once"
    )
    function.args.args[0].annotation = None
    names: dict[str, Any] = {"os": SimpleNamespace(cpu_count=lambda: 2)}
    exec(compile(ast.Module([function], []), "noxfile.py", "exec"), names)
    assert names["at_once"](SimpleNamespace(posargs=words)) == options


def test_the_version_of_the_project_has_a_section_in_the_changelog(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert print_changes([]) == 0
    assert "* Added: " in capsys.readouterr().out


def test_the_sdist_includes_everything_at_the_top_of_the_repository() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {f"/{one}" for one in at_the_top()} == set(included)


def at_the_top() -> set[str]:
    """Return the names of the tracked files and folders; in an unpacked sdist, of all."""
    if not (ROOT / ".git").exists():
        return {path.name for path in ROOT.iterdir()} - {"PKG-INFO"}
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard").stdout
    return {line.partition("/")[0] for line in tracked.splitlines()}


def test_ci_calls_the_noxfile_and_nothing_else() -> None:
    workflow = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    steps = re.findall(r"run: (.*)", workflow)
    assert steps == [".ci/run", ".ci/programs", "pip install nox", "nox -s nightly"]


def test_a_bug_report_asks_for_one_of_the_protocol_versions() -> None:
    form = (ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text("utf-8")
    assert tuple(re.findall(r'- "(\d{4}-\d\d-\d\d)"', form)) == mcp_wire.REVISIONS[::-1]


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"a", b"a\n"), (b"a\n\n \n", b"a\n"), (b"a\nb\n", b"a\nb\n"), (b"", b""), (b" \n", b"")],
)
def test_the_hook_makes_a_file_end_with_one_newline(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    path = tmp_path / "file"
    path.write_bytes(before)
    ran = run(sys.executable, ".ci/end_of_file.py", str(path))
    assert (path.read_bytes(), ran.returncode) == (after, int(before != after))

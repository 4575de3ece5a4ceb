"""The schema step as a maintainer runs it: files in, one line out, no change on failure."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from codegen.schema import step
from codegen.schema.sources import parse_sources

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER_COMMIT = "89abcdef0123456789abcdef0123456789abcdef"

PUBLISHED = (
    b'{"definitions": {"Tool": {"type": "object", "description": "prose",'
    b' "properties": {"description": {"type": "string", "description": "prose"}}}}}'
)
KEPT = """\
{
  "definitions": {
    "Tool": {
      "properties": {
        "description": {
          "type": "string"
        }
      },
      "type": "object"
    }
  }
}
"""
CHANGED = PUBLISHED.replace(b"object", b"array")
CHANGED_KEPT = KEPT.replace("object", "array")
UNKNOWN_KEYWORD = PUBLISHED.replace(b'"type": "object"', b'"x-odd": []')

SOURCES = """\
# What this file is.
repository = "example/specification"
url = "{base}/{{repository}}/{{commit}}/{{path}}"

# The first.
[revisions."2024-11-05"]
path = "schema/2024-11-05/schema.json"
commit = "{commit}"  # kept
sha256 = "{sha256}"
structure_sha256 = "{structure_sha256}"

# Another.
[revisions."2025-03-26"]
path = "schema/2025-03-26/schema.json"
commit = "{commit}"
sha256 = "{sha256}"
structure_sha256 = "{structure_sha256}"
"""


def sha256_of(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


class Project:
    """Folder with a `schema/` of two revisions, in which the step is run."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root / "project"
        self.outside = root / "outside.json"
        self.sources = self.root / "schema" / "sources.toml"
        self.kept = self.root / "schema" / "2024-11-05" / "schema.json"
        self._capsys = capsys
        self.kept.parent.mkdir(parents=True)
        self.kept.write_text("as it was\n")
        self.pin_base("https://example.invalid")

    def pin_base(self, base: str) -> None:
        """Write `sources.toml` with addresses below `base`."""
        row = {"base": base, "commit": COMMIT, "sha256": sha256_of(PUBLISHED)}
        self.sources.write_text(SOURCES.format(**row, structure_sha256=sha256_of(KEPT)))

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Return the exit code, stdout and stderr."""
        code = step.main([*arguments, "--root", str(self.root)])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def run_from(self, published: bytes, revision: str, *arguments: str) -> tuple[int, str, str]:
        """Run the step on a file with this content."""
        self.outside.write_bytes(published)
        return self.run(revision, "--from", str(self.outside), *arguments)

    def files(self) -> dict[Path, bytes]:
        """Return every file of the project."""
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path, capsys)


@pytest.fixture
def refusing_address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return an address on this machine at which nothing listens."""
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as bound_only:
        bound_only.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound_only.getsockname()[1]}"


def test_the_structure_of_the_pinned_file_is_kept(project: Project) -> None:
    project.run_from(PUBLISHED, "2024-11-05")
    assert project.kept.read_text() == KEPT


def test_success_is_one_line_on_stdout(project: Project) -> None:
    line = f"2024-11-05: 1 definitions, {len(PUBLISHED)} -> {len(KEPT)} bytes, sha256 ok\n"
    assert project.run_from(PUBLISHED, "2024-11-05") == (0, line, "")


def test_running_twice_changes_nothing_more(project: Project) -> None:
    project.run_from(PUBLISHED, "2024-11-05")
    once = project.files()
    project.run_from(PUBLISHED, "2024-11-05")
    assert project.files() == once


def test_a_sha256_mismatch_is_one_line_that_names_both_and_the_next_step(project: Project) -> None:
    line = (
        f"2024-11-05: expected sha256 {sha256_of(PUBLISHED)}, got {sha256_of(CHANGED)}; "
        "if the change is wanted, add --pin\n"
    )
    assert project.run_from(CHANGED, "2024-11-05") == (1, "", line)


def test_another_structure_of_the_pinned_file_is_one_line_that_names_both_hashes(
    project: Project,
) -> None:
    text = project.sources.read_text().replace(sha256_of(KEPT), sha256_of("another"))
    project.sources.write_text(text)
    before = project.files()
    line = (
        f"2024-11-05: expected structure_sha256 {sha256_of('another')}, got {sha256_of(KEPT)}; "
        "if the change is wanted, add --pin\n"
    )
    assert project.run_from(PUBLISHED, "2024-11-05") == (1, "", line)
    assert project.files() == before


def test_an_unknown_keyword_is_one_line_with_its_pointer(project: Project) -> None:
    line = (
        "2024-11-05: unknown keyword `x-odd` at `#/definitions/Tool`; "
        "add it to codegen/schema/keywords.py\n"
    )
    assert project.run_from(UNKNOWN_KEYWORD, "2024-11-05", "--pin") == (1, "", line)


def test_an_unknown_revision_is_one_line_that_says_how_to_add_it(project: Project) -> None:
    line = "2027-01-31: no such row in schema/sources.toml; to add it: --pin --commit SHA\n"
    assert project.run_from(PUBLISHED, "2027-01-31") == (1, "", line)


def test_without_network_one_line_says_so(project: Project, refusing_address: str) -> None:
    project.pin_base(refusing_address)
    address = f"{refusing_address}/example/specification/{COMMIT}/schema/2024-11-05/schema.json"
    code, out, err = project.run("2024-11-05")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"2024-11-05: cannot read {address} (")
    assert err.endswith("; give a copy with --from FILE\n")


def test_without_network_nothing_changes(project: Project, refusing_address: str) -> None:
    project.pin_base(refusing_address)
    before = project.files()
    project.run("2024-11-05", "--pin")
    assert project.files() == before


@pytest.mark.parametrize(
    ("published", "arguments"),
    [
        pytest.param(CHANGED, ["2024-11-05"], id="another sha256"),
        pytest.param(UNKNOWN_KEYWORD, ["2024-11-05", "--pin"], id="unknown keyword"),
        pytest.param(b"<html>", ["2024-11-05", "--pin"], id="not JSON"),
        pytest.param(b'{"type": "object"}', ["2024-11-05", "--pin"], id="no definitions"),
        pytest.param(PUBLISHED, ["2027-01-31"], id="unknown revision"),
        pytest.param(PUBLISHED, ["../2024-11-05", "--pin"], id="no revision"),
        pytest.param(PUBLISHED, ["2024-11-05", "--commit", COMMIT], id="commit without pin"),
        pytest.param(PUBLISHED, ["2024-11-05", "--pin", "--commit", "main"], id="no commit"),
    ],
)
def test_a_failure_is_one_line_and_changes_nothing(
    project: Project, published: bytes, arguments: list[str]
) -> None:
    before = project.files()
    code, out, err = project.run_from(published, *arguments)
    assert (code, out, err.count("\n"), project.files()) == (1, "", 1, before)


def test_a_failed_write_changes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(new: Path, _old: Path) -> None:
        raise PermissionError(f"cannot replace {new.name}")

    before = project.files()
    monkeypatch.setattr(os, "replace", refuse)
    code, _, _ = project.run_from(PUBLISHED, "2024-11-05")
    assert (code, project.files()) == (1, before)


def test_pin_updates_the_hashes_and_the_commit_of_one_row_only(project: Project) -> None:
    first, second = project.sources.read_text().split("# Another.")
    project.run_from(CHANGED, "2024-11-05", "--pin", "--commit", OTHER_COMMIT)
    for old, new in ((PUBLISHED, CHANGED), (KEPT, CHANGED_KEPT)):
        first = first.replace(sha256_of(old), sha256_of(new))
    first = first.replace(COMMIT, OTHER_COMMIT)
    assert project.sources.read_text() == f"{first}# Another.{second}"


def test_pin_adds_a_row_for_a_new_revision_and_keeps_the_others(project: Project) -> None:
    before = project.sources.read_text()
    project.run_from(CHANGED, "2027-01-31", "--pin", "--commit", COMMIT)
    row = (
        '\n[revisions."2027-01-31"]\n'
        'path = "schema/2027-01-31/schema.json"\n'
        f'commit = "{COMMIT}"\n'
        f'sha256 = "{sha256_of(CHANGED)}"\n'
        f'structure_sha256 = "{sha256_of(CHANGED_KEPT)}"\n'
    )
    assert project.sources.read_text() == before + row


def test_pinning_what_is_pinned_changes_no_row(project: Project) -> None:
    before = project.sources.read_text()
    project.run_from(PUBLISHED, "2024-11-05", "--pin")
    assert project.sources.read_text() == before


def test_pinning_other_bytes_without_a_commit_forgets_the_old_commit(project: Project) -> None:
    project.run_from(CHANGED, "2024-11-05", "--pin")
    assert 'commit = ""  # kept\n' in project.sources.read_text()


def test_a_row_without_commit_cannot_be_fetched(project: Project) -> None:
    project.run_from(CHANGED, "2024-11-05", "--pin")
    line = "2024-11-05: no commit to fetch from; give --from FILE, or --pin --commit SHA\n"
    assert project.run("2024-11-05") == (1, "", line)


def test_a_pinned_file_passes_the_next_check(project: Project) -> None:
    project.run_from(CHANGED, "2027-01-31", "--pin")
    code, _, _ = project.run_from(CHANGED, "2027-01-31")
    assert code == 0


def test_a_row_laid_out_in_another_way_is_left_to_a_hand(project: Project) -> None:
    text = project.sources.read_text().replace("sha256 = ", "sha256  =  ")
    project.sources.write_text(text)
    _, _, err = project.run_from(CHANGED, "2024-11-05", "--pin")
    assert err == (
        "2024-11-05: schema/sources.toml: the row has an unusual layout; edit it by hand\n"
    )


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        (
            ["2024-11-05"],
            f"https://example.invalid/example/specification/{COMMIT}/schema/2024-11-05/schema.json",
        ),
        (
            ["2027-01-31", "--pin", "--commit", OTHER_COMMIT],
            "https://example.invalid/example/specification/"
            f"{OTHER_COMMIT}/schema/2027-01-31/schema.json",
        ),
        (["2024-11-05", "--from", "https://example.invalid/a"], "https://example.invalid/a"),
    ],
)
def test_the_file_is_fetched_from_the_commit_or_the_given_address(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: list[str], address: str
) -> None:
    asked: list[str] = []

    def open_address(url: str, *, timeout: float) -> io.BytesIO:
        assert timeout > 0
        asked.append(url)
        return io.BytesIO(PUBLISHED)

    monkeypatch.setattr(urllib.request, "urlopen", open_address)
    assert (project.run(*arguments)[0], asked) == (0, [address])


def test_help_shows_examples(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        project.run("--help")
    assert "examples:\n  python -m codegen.schema.step 2025-11-25\n" in capsys.readouterr().out


def test_every_row_of_this_repository_has_its_kept_schema() -> None:
    schema = Path(__file__).parents[2] / "schema"
    rows = parse_sources((schema / "sources.toml").read_text()).revisions
    assert sorted(rows) == sorted(path.parent.name for path in schema.glob("*/schema.json"))

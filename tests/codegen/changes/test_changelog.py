"""The page of changes of every revision, and their index."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.emit.changelog import changelog
from tests.codegen.changes.test_changes import AFTER, BEFORE
from tests.codegen.tiny import CAPABILITY, STRING, checkout, struct

FILLED = '[[filled]]\npath = "EchoResult/size"\nby = "schema/overlay.toml"\nreason = "a test"\n'
LARGE = struct(text=STRING, size={"type": "integer"})


@pytest.fixture(name="pages")
def _pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the pages of two revisions: the later one demands one more field of a result."""
    from codegen.__main__ import generate

    monkeypatch.setattr("codegen.emit.package.models", lambda *_: "")
    checkout(tmp_path, revision=BEFORE)
    overlay = CAPABILITY + FILLED
    made = generate(checkout(tmp_path, {"EchoResult": LARGE}, overlay=overlay, revision=AFTER))
    return {path.as_posix(): text for path, text in made.reference.items()}


def test_every_revision_but_the_first_has_a_page(pages: dict[str, str]) -> None:
    there = {path for path in pages if path.startswith("changes/")}
    assert there == {"changes/README.md", f"changes/{AFTER}.md"}


def test_a_page_lists_a_change_under_whom_it_breaks(pages: dict[str, str]) -> None:
    lines = pages[f"changes/{AFTER}.md"].splitlines()
    row = lines.index("| required field added | `EchoResult.size` |  | `int` |")
    assert lines[row - 4] == "## Breaks servers: 1"


def test_a_page_says_why_it_breaks_them(pages: dict[str, str]) -> None:
    why = "* *required field added*: a message without it is refused"
    assert why in pages[f"changes/{AFTER}.md"].splitlines()


def test_the_index_counts_the_changes_of_a_page(pages: dict[str, str]) -> None:
    line = f"* [{BEFORE} to {AFTER}]({AFTER}.md): 1 change on the wire"
    assert line in pages["changes/README.md"].splitlines()


def test_one_revision_has_no_changes_to_tell() -> None:
    files = {Path("changes.py"): "RULES = {}", Path("changelog.py"): ""}
    assert changelog(files, ["2030-01-01"]) == {}

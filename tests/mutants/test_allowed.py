"""The allow-list: entries survive shifted lines, and stale ones are errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import allowed
from tests.mutants.allowed import Equivalent, equivalents
from tests.mutants.operators import changes
from tests.mutants.places import Place, all_places
from tests.mutants.reach import Unusable

ROOT = Path(__file__).parents[2]


def places(text: str) -> list[Place]:
    lines = text.splitlines()
    return [
        Place("a.py", "core", one, lines[one.line - 1].strip()) for one in changes(text.encode())
    ]


def test_an_entry_names_a_line_wherever_it_stands() -> None:
    entry = Equivalent("a.py", "X = 1", "1 becomes 2", "a reason")
    for text in ("X = 1\n", "Y = Z\n\n\nX = 1\n", "class A:\n    X = 1\n"):
        (place,) = places(text)
        assert equivalents([entry], [place]) == {place.id: entry}


def test_a_position_tells_two_changes_of_a_line_apart() -> None:
    first, second = places("X = 1, 1\n")
    entry = Equivalent("a.py", "X = 1, 1", "1 becomes 2", "a reason", at=7)
    assert equivalents([entry], [first, second]) == {second.id: entry}


def test_an_entry_that_fits_two_lines_is_an_error_unless_it_names_a_function(
    tmp_path: Path,
) -> None:
    text = "def f():\n    return 1\ndef g():\n    return 1\n"
    (tmp_path / "mcp_gen" / "core").mkdir(parents=True)
    (tmp_path / "mcp_gen" / "core" / "a.py").write_text(text)
    path = "mcp_gen/core/a.py"
    first, second = (
        replace(one, path=path) for one in places(text) if one.change.what == "1 becomes 2"
    )
    entry = Equivalent(path, "return 1", "1 becomes 2", "a reason")
    with pytest.raises(Unusable, match="several lines"):
        equivalents([entry], [first, second], tmp_path)
    entry = replace(entry, function="g")
    assert equivalents([entry], [first, second], tmp_path) == {second.id: entry}


@pytest.mark.parametrize("text", ["X = 2\n", "X = 11\n", "Y = 1\n"])
def test_an_entry_that_fits_no_line_is_an_error(text: str) -> None:
    entry = Equivalent("a.py", "X = 1", "1 becomes 2", "a reason")
    with pytest.raises(Unusable, match="X = 1: 1 becomes 2"):
        equivalents([entry], places(text))


@pytest.mark.parametrize(
    "text",
    [
        '[[equivalent]]\npath = "a.py"\ntext = "X = 1"\nwhat = "1 becomes 2"\n',
        '[[equivalent]]\npath = "a.py"\ntext = "X = 1"\nwhat = "1 becomes 2"\nreason = ""\n',
        '[[equivalent]]\npath = "a.py"\ntext = "X"\nwhat = "w"\nreason = "r"\nwhy = "r"\n',
    ],
)
def test_an_entry_without_a_reason_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "list.toml").write_text(text)
    with pytest.raises(Unusable, match="entry 1"):
        allowed.read(tmp_path / "list.toml")


def test_every_entry_of_the_list_names_a_place() -> None:
    entries = allowed.read()
    assert len({*entries}) == len(entries)
    equivalents(entries, all_places(ROOT, only={entry.path for entry in entries}))

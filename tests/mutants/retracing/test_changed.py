"""Test files are stale that use what has changed, and no others."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from tests.mutants.retracing.changed import Changes

FILES = {
    "tests/conftest.py": "",
    "tests/core/test_sums.py": "from tests.support.peers import peer",
    "tests/core/test_signs.py": "import tests.support.peers.far",
    "tests/core/test_texts.py": "COMMAND = 'python -m tests.support.wire'",
    "tests/core/test_alone.py": "import json",
    "tests/core/sub/conftest.py": "from ..helping import help",
    "tests/core/sub/test_below.py": "",
    "tests/core/helping.py": "",
    "tests/support/peers/__init__.py": "from .near import peer",
    "tests/support/peers/near.py": "from tests.support import wire",
    "tests/support/peers/far.py": "",
    "tests/support/wire.py": "",
}
TESTS = {name for name in FILES if "/test_" in name}
REACHED = {"mcp_gen/core/sums.py": ["tests/core/test_sums.py", "tests/core/test_other.py"]}


@pytest.fixture
def changes(tmp_path: Path) -> Changes:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Changes(tmp_path)


def stale(changes: Changes, *paths: str) -> Collection[str]:
    """Return the stale test files, by their names, if these paths have another hash."""
    before = dict.fromkeys([*FILES, *REACHED, "schema/a.json"], "then")
    now = before | dict.fromkeys(paths, "now")
    found = changes.affected(TESTS, before, now, lambda path: REACHED.get(path, ()))
    return {name.rpartition("/")[2].removesuffix(".py") for name in found}


def test_where_nothing_has_changed_no_test_file_is_stale(changes: Changes) -> None:
    assert stale(changes) == set()


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("mcp_gen/core/sums.py", {"test_sums"}),
        ("mcp_gen/core/added.py", set[str]()),
        ("tests/support/peers/far.py", {"test_signs"}),
        ("tests/support/peers/near.py", {"test_sums"}),
        ("tests/support/peers/__init__.py", {"test_sums"}),
        ("tests/support/wire.py", {"test_sums", "test_texts"}),
        ("tests/core/sub/conftest.py", {"test_below"}),
    ],
)
def test_the_users_of_a_changed_module_are_stale(
    changes: Changes, path: str, files: set[str]
) -> None:
    assert stale(changes, path) == files


@pytest.mark.parametrize(
    "path", ["tests/conftest.py", "schema/a.json", "generated/a.py", "mcp_gen/core/rows.toml"]
)
def test_what_everything_may_use_makes_all_of_them_stale(changes: Changes, path: str) -> None:
    assert len(stale(changes, path)) == len(TESTS)


def test_a_source_that_is_gone_makes_stale_what_reached_it(changes: Changes) -> None:
    before = {"mcp_gen/core/sums.py": "then"}
    found = changes.affected(TESTS, before, {}, lambda path: REACHED[path])
    assert found == {"tests/core/test_sums.py"}

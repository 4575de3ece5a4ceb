"""The map of tests that share what they do, or do it in another process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.mutants import reach
from tests.mutants.choice.selection import DEFAULTS, Selector
from tests.mutants.copies import Copy
from tests.mutants.operators import changes
from tests.mutants.places import Place
from tests.mutants.reach import Reach
from tests.mutants.tracing import SAMPLES, samples

HERE = Path(__file__).parent

SOURCE = """\
from functools import cache

LIMIT = 3


def made():
    return 1


def kept():
    return 2


@cache
def known():
    return 3


def elsewhere():
    return 4


def forked():
    return 5


def limited(n):
    return n < LIMIT
"""

TESTS = """\
import multiprocessing
import subprocess
import sys
import time
from functools import cache

import pytest

from mcp_gen.core import sums


@pytest.fixture(scope="module")
def one():
    time.sleep(0.2)
    return sums.made()


@cache
def two():
    return sums.kept()


def test_first(one):
    assert (one, two(), sums.known()) == (1, 2, 3)


def test_second(one):
    assert (one, two(), sums.known()) == (1, 2, 3)


def test_alone():
    assert sums.limited(1)


def test_child():
    code = "from mcp_gen.core import sums; sums.elsewhere()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_fork():
    process = multiprocessing.get_context("forkserver").Process(target=sums.forked)
    process.start()
    process.join()
"""
FILE = "tests/core/test_sums.py"
PATH = "mcp_gen/core/sums.py"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    files = {
        "mcp_gen/__init__.py": "",
        "mcp_gen/core/__init__.py": "",
        PATH: SOURCE,
        "tests/__init__.py": "",
        "tests/core/__init__.py": "",
        FILE: TESTS,
        DEFAULTS: "def test_it():\n    pass\n",
        "tests/mutants/__init__.py": "",
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    shutil.copy2(HERE / "tracing.py", root / "tests" / "mutants")
    shutil.copytree(HERE / "traced_child", root / "tests" / "mutants" / "traced_child")
    return root


@pytest.fixture(scope="module")
def map_(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Reach:
    folder = tmp_path_factory.mktemp("maps")
    copy = Copy.make(checkout, tmp_path_factory.mktemp("traced"))
    return reach.make(folder, copy.folder, 1, lambda text: None)


@pytest.mark.parametrize(
    ("line", "tests"),
    [
        ("return 1", {"test_first", "test_second"}),
        ("return 2", {"test_first", "test_second"}),
        ("return 3", {"test_first", "test_second"}),
        ("return 4", {"test_child"}),
        ("return 5", {"test_fork"}),
    ],
    ids=["a fixture", "a cache of the tests", "a cache of the runtime", "a child", "a fork"],
)
def test_a_line_counts_for_every_test_that_needs_it(
    map_: Reach, line: str, tests: set[str]
) -> None:
    lines = [str(one) for one in SOURCE.splitlines()]
    number = lines.index(f"    {line}") + 1
    assert map_.reaching(PATH, (number, number)) == {f"{FILE}::{name}" for name in tests}


def test_of_a_table_at_every_revision_each_row_is_run_at_some() -> None:
    revisions = [f"20{year}-01-01" for year in range(20, 25)]
    names = [f"t.py::test[{row}-{one}]" for row in "ab" for one in revisions]
    assert samples(names) == {names[0], names[4], names[5], names[9]}


def test_of_a_very_long_table_some_rows_are_run() -> None:
    names = [f"t.py::test[{row}]" for row in range(1_000)]
    found = samples(names)
    assert len(found) == SAMPLES
    assert {names[0], names[-1]} <= found


def test_what_tests_share_is_no_time_of_the_one_that_came_first(map_: Reach) -> None:
    first, second = (map_.tests[f"{FILE}::{name}"] for name in ("test_first", "test_second"))
    assert first.shares == second.shares
    assert first.seconds < first.whole_seconds


def test_what_a_child_imports_tells_nothing_about_its_test(map_: Reach) -> None:
    found = map_.reaching(PATH)
    assert f"{FILE}::test_first" in found
    assert f"{FILE}::test_child" not in found


def test_a_constant_is_tried_with_its_documentation_and_then_with_what_reads_it(
    map_: Reach, checkout: Path
) -> None:
    (change,) = [one for one in changes(SOURCE.encode()) if one.what == "3 becomes 4"][:1]
    found = Selector(map_, checkout, set()).tests(Place(PATH, "core", change, "LIMIT = 3"))
    first = [test.id for test in found[:2]]
    assert first == [f"{DEFAULTS}::test_it", f"{FILE}::test_alone"]

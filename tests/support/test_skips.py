"""In CI a skipped test is a failure that says what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.skips import LISTED

ROOT = Path(__file__).parents[2]
LIMIT_S = 50

# Tests of two files of a run of its own, which must refuse each of these skips: but in
# tests/test_walk.py, which is listed, those for the reason that is listed with it.
SKIPS = """
import pytest

def test_that_runs():
    pass

@pytest.mark.skip(reason="no time")
def test_by_mark():
    pass

@pytest.mark.skip(reason="counted on 3.11: there are other frames")
def test_for_the_listed_reason():
    pass

@pytest.mark.xfail(reason="counted on 3.11")
def test_that_fails_for_the_listed_reason():
    assert False

def test_in_its_body():
    pytest.skip("no peer")

@pytest.mark.xfail(reason="a known fault", strict=True)
def test_that_is_to_fail():
    assert False

@pytest.mark.parametrize("nothing", [])
def test_without_values(nothing):
    pass
"""
MODULE = """
import pytest

pytest.importorskip("a_module_that_is_nowhere")
"""


class Run:
    """Result of pytest on a file that is listed, one that is not, and one that skips itself."""

    def __init__(self, folder: Path, ci: str) -> None:
        (folder / "tests").mkdir()
        for name, text in (("walk", SKIPS), ("some", SKIPS), ("whole", MODULE)):
            (folder / "tests" / f"test_{name}.py").write_text(text)
        plugins = ("-p", "tests.conftest", "-p", "no:cacheprovider")
        told = ("-rA", "--continue-on-collection-errors")
        where = ("-c", os.devnull, "--rootdir", str(folder), "tests")
        path = os.pathsep.join([str(ROOT), *sys.path])
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *plugins, *told, *where],
            cwd=folder,
            env={**os.environ, "CI": ci, "COLUMNS": "1000", "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        self.said = ran.stdout
        self.ends = set(re.findall(r"^([A-Z]+) (tests/\S+)", ran.stdout, re.MULTILINE))
        """Outcome and node id of the tests that are told of with their id."""
        counts = re.findall(r"(\d+) ([a-z]+)", ran.stdout.splitlines()[-1])
        self.counts = {word: int(number) for number, word in counts}


@pytest.fixture(scope="module")
def in_ci(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("ci"), "true")


def test_in_ci_whatever_is_skipped_or_is_to_fail_fails(in_ci: Run) -> None:
    assert {(end, id) for end, id in in_ci.ends if "some" in id} == {
        ("PASSED", "tests/test_some.py::test_that_runs"),
        ("ERROR", "tests/test_some.py::test_by_mark"),
        ("ERROR", "tests/test_some.py::test_for_the_listed_reason"),
        ("FAILED", "tests/test_some.py::test_that_fails_for_the_listed_reason"),
        ("FAILED", "tests/test_some.py::test_in_its_body"),
        ("FAILED", "tests/test_some.py::test_that_is_to_fail"),
        ("ERROR", "tests/test_some.py::test_without_values[NOTSET]"),
    }


def test_in_ci_a_module_that_skips_itself_fails(in_ci: Run) -> None:
    assert ("ERROR", "tests/test_whole.py") in in_ci.ends


def test_in_ci_what_is_listed_may_be_skipped_for_its_reason(in_ci: Run) -> None:
    listed = {id.partition("::")[2]: end for end, id in in_ci.ends if "walk" in id}
    assert listed == {
        "test_that_runs": "PASSED",
        "test_that_fails_for_the_listed_reason": "XFAIL",
        "test_by_mark": "ERROR",
        "test_in_its_body": "FAILED",
        "test_that_is_to_fail": "FAILED",
        "test_without_values[NOTSET]": "ERROR",
    }
    assert (in_ci.counts["skipped"], in_ci.counts["xfailed"]) == (1, 1)


@pytest.mark.parametrize(
    "reason",
    ["Skipped: no time", "Skipped: no peer", "expected to fail (a known fault)", "a_module_that"],
)
def test_the_failure_gives_the_reason_and_says_what_to_do(in_ci: Run, reason: str) -> None:
    todo = "let it run, or list it with its reason in LISTED of tests/support/skips.py"
    assert any(reason in line and todo in line for line in in_ci.said.splitlines())


def test_elsewhere_skips_are_skips(tmp_path: Path) -> None:
    assert Run(tmp_path, "").counts == {"passed": 2, "skipped": 9, "xfailed": 4}


@pytest.mark.parametrize("prefix", LISTED)
def test_what_is_listed_is_there(prefix: str) -> None:
    file, _, test = prefix.partition("::")
    text = (ROOT / file).read_text("utf-8")
    assert f"def {test.partition('[')[0]}" in text
    assert re.search(rf'skipif\([^@]*reason="{re.escape(LISTED[prefix])}', text)


def test_what_only_one_version_of_python_runs_is_listed() -> None:
    conditional = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"skipif\(\s*sys\.version_info", path.read_text("utf-8"))
    ]
    assert len(conditional) >= 4
    listed = {prefix.partition("::")[0] for prefix in LISTED}
    assert [path for path in conditional if path not in listed] == []

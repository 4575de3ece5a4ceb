"""Faults in a small checkout: found, not found, found by time, or reached by no test."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from tests.mutants import reach, running
from tests.mutants.choice.selection import Selector
from tests.mutants.copies import Copy
from tests.mutants.operators import changes
from tests.mutants.places import Place
from tests.mutants.reach import Reach, TracedTest, Unusable
from tests.mutants.running import Outcome, Ran, Reliable, Stage, Worker

HERE = Path(__file__).parent

SOURCE = """\
LIMIT = 3


def add(a, b):
    return a + b


def is_small(n):
    return n < LIMIT


def wait(n):
    while n > 0:
        n -= 1


def never(n):
    return n == 1
"""

TESTS = """\
import os
import subprocess
from pathlib import Path

import pytest

from mcp_gen.core.sums import add, is_small, wait


@pytest.mark.parametrize("n", range(20))
def test_a_sum_is_made(n):
    assert add(n, 1) == n + 1


@pytest.mark.xdist_group("numbers")
def test_a_small_number_is_small():
    assert is_small(1)


def test_waiting_ends():
    if not os.environ.get("MUTANTS_TRACE"):
        left = subprocess.Popen(["sleep", "600"], env={}, start_new_session=True)
        Path(__file__).with_name("left").write_text(str(left.pid))
    wait(5)


def test_a_number_is_compared(small):
    assert is_small(small) == (small < 3)


def test_by_itself_it_fails():
    assert os.environ.get("MUTANTS_TRACE")
    assert is_small(0)
"""


CONFTEST = """\
import pytest


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true")


def pytest_generate_tests(metafunc):
    if "small" in metafunc.fixturenames:
        metafunc.parametrize("small", [1, 2, 3] if metafunc.config.getoption("full") else [1])
"""
"""Leaves out cases without `--full`, as the tests of this project do."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of one module and its tests."""
    root = tmp_path_factory.mktemp("checkout")
    files = {
        "mcp_gen/__init__.py": "",
        "mcp_gen/core/__init__.py": "",
        "mcp_gen/core/sums.py": SOURCE,
        "tests/__init__.py": "",
        "tests/conftest.py": CONFTEST,
        "tests/core/__init__.py": "",
        "tests/core/test_sums.py": TESTS,
        "tests/mutants/__init__.py": "",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--strict-markers"]\n',
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("forking.py", "selecting.py", "tracing.py"):
        shutil.copy2(HERE / name, root / "tests" / "mutants" / name)
    shutil.copytree(HERE / "traced_child", root / "tests" / "mutants" / "traced_child")
    return root


@pytest.fixture(scope="module")
def map_(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Reach:
    folder = tmp_path_factory.mktemp("maps")
    copy = Copy.make(checkout, tmp_path_factory.mktemp("traced"))
    return reach.make(folder, copy.folder, 1, lambda text: None)


@pytest.fixture(scope="module")
def worker(
    checkout: Path, map_: Reach, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worker]:
    folder = tmp_path_factory.mktemp("worker")
    copy = Copy.make(checkout, folder / "copy")
    reliable = Reliable(folder / "reliable.json")
    worker = Worker(checkout, copy, Selector(map_, checkout, set()), reliable)
    yield worker
    worker.close()


def place(text: str, what: str) -> Place:
    lines = SOURCE.splitlines()
    return next(
        Place("mcp_gen/core/sums.py", "core", one, text)
        for one in changes(SOURCE.encode())
        if lines[one.line - 1].strip() == text and one.what == what
    )


def left_behind(worker: Worker) -> bool:
    """Return True if the process that the last run has left in a session of its own still runs."""
    note = worker.copy.folder / "tests" / "core" / "left"
    pid = int(note.read_text())
    note.unlink()
    return is_running(pid)


def is_running(pid: int) -> bool:
    """Return True for a process that has not ended; nobody may have waited for it yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@contextmanager
def soon() -> Generator[None]:
    """Let a run that does not end be over soon."""
    with (
        mock.patch.object(running, "LEAST_TEST_S", 2.0),
        mock.patch.object(running, "ALLOWANCE_S", 5.0),
    ):
        yield


def test_the_map_tells_which_tests_reach_a_line(map_: Reach) -> None:
    direct = map_.reaching("mcp_gen/core/sums.py", (9, 9))
    assert {test.partition("::")[2] for test in direct} == {
        "test_a_number_is_compared[1]",
        "test_a_small_number_is_small",
        "test_by_itself_it_fails",
    }


def test_of_a_table_each_row_is_run_and_known(map_: Reach) -> None:
    direct = map_.reaching("mcp_gen/core/sums.py", (5, 5))
    assert {test.rpartition("::")[2] for test in direct} == {
        f"test_a_sum_is_made[{n}]" for n in range(20)
    }
    assert len(map_.by_function["tests/core/test_sums.py::test_a_sum_is_made"]) == 20


def test_a_map_is_made_once_and_again_for_a_changed_test_file(
    checkout: Path, tmp_path: Path
) -> None:
    copy = Copy.make(checkout, tmp_path / "copy")
    said: list[str] = []
    for _ in range(2):
        reach.make(tmp_path / "maps", copy.folder, 1, said.append)
    assert said == ["tracing tests: 0 of 1 files are done"]
    added = copy.folder / "tests/core/test_more.py"
    added.write_text("from mcp_gen.core.sums import never\n\ndef test_it():\n    never(1)\n")
    map_ = reach.make(tmp_path / "maps", copy.folder, 1, said.append)
    assert said[1] == "tracing tests: 1 of 2 files are done"
    assert map_.reaching("mcp_gen/core/sums.py", (18, 18)) == {"tests/core/test_more.py::test_it"}
    assert len(map_.tests) == 25


def test_a_test_file_is_traced_again_when_a_source_that_it_reaches_has_changed(
    checkout: Path, tmp_path: Path
) -> None:
    copy, maps = Copy.make(checkout, tmp_path / "copy"), tmp_path / "maps"
    source = copy.folder / "mcp_gen/core/signs.py"
    source.write_text("def sign(n):\n    return -1 if n < 0 else 1\n")
    added = copy.folder / "tests/core/test_signs.py"
    added.write_text("from mcp_gen.core.signs import sign\n\ndef test_it():\n    sign(1)\n")
    said: list[str] = []
    reach.make(maps, copy.folder, 1, said.append)
    source.write_text('"""Signs."""\n\n\ndef sign(n):\n    return 1\n')
    map_ = reach.make(maps, copy.folder, 1, said.append)
    assert said[1:] == ["tracing tests: 1 of 2 files are done"]
    assert map_.reaching("mcp_gen/core/signs.py", (5, 5)) == {"tests/core/test_signs.py::test_it"}
    assert map_.reaching("mcp_gen/core/sums.py", (5, 5)) != set()
    assert len(list(maps.iterdir())) == 2


def test_a_map_that_no_test_file_needs_any_more_is_gone(checkout: Path, tmp_path: Path) -> None:
    copy, maps = Copy.make(checkout, tmp_path / "copy"), tmp_path / "maps"
    for text in ("def test_it():\n    pass\n", "def test_that():\n    pass\n"):
        (copy.folder / "tests/core/test_sums.py").write_text(text)
        reach.make(maps, copy.folder, 1, lambda text: None)
    assert [path.name for path in maps.iterdir()] == ["map-1"]


def test_a_map_is_not_begun_when_the_time_is_over(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="0 of 1 test files are traced"):
        reach.make(tmp_path, checkout, 1, lambda text: None, deadline=0.0)


def test_a_traced_run_that_is_interrupted_leaves_no_process(checkout: Path, tmp_path: Path) -> None:
    copy = Copy.make(checkout, tmp_path / "copy")
    note = tmp_path / "pids"
    (copy.folder / "tests" / "core" / "test_sums.py").write_text(
        "import os, pathlib, subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(note)!r}).write_text(f'{{os.getpid()}} {{child.pid}}')\n"
        "child.wait()\n"
    )
    interrupts = iter([KeyboardInterrupt])

    def interrupted(process: subprocess.Popen[bytes]) -> int | None:
        end = time.monotonic() + 60
        for error in interrupts:
            while not (note.exists() and note.read_text()) and time.monotonic() < end:
                time.sleep(0.01)  # between two looks of a bounded wait: a file tells nobody
            raise error
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)  # bounded above: `poll` is what the caller wants of it
        return process.returncode

    with (
        mock.patch.object(subprocess.Popen, "wait", interrupted),
        pytest.raises(KeyboardInterrupt),
    ):
        reach.make(tmp_path / "maps", copy.folder, 1, lambda text: None)
    assert [pid for pid in note.read_text().split() if is_running(int(pid))] == []


def test_of_given_test_files_alone_a_map_is_made(checkout: Path, tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="0 of 1 test files are traced"):
        reach.make(tmp_path, checkout, 1, lambda text: None, 0.0, ["tests/core/"])
    with pytest.raises(Unusable, match="no test file begins with tests/cor/"):
        reach.make(tmp_path, checkout, 1, lambda text: None, 0.0, ["tests/cor/"])


def test_a_fault_is_found_by_a_test_that_reaches_it(worker: Worker) -> None:
    outcome = worker.try_fault(place("return a + b", "`+` becomes `-`"))
    assert (outcome.status, outcome.files) == ("killed", ("tests/core/test_sums.py",))
    assert outcome.by.startswith("tests/core/test_sums.py::test_a_sum_is_made")
    assert outcome.why.startswith("assert")


def test_a_fault_that_no_test_sees_survives(worker: Worker) -> None:
    outcome = worker.try_fault(place("return n < LIMIT", "`<` becomes `<=`"))
    assert (outcome.status, outcome.by) == ("survived", "")


def test_a_fault_that_only_left_out_cases_see_is_told_apart(
    checkout: Path, map_: Reach, tmp_path: Path
) -> None:
    reliable = Reliable(tmp_path / "reliable.json")
    selector = Selector(map_, checkout, set())
    copy = Copy.make(checkout, tmp_path / "copy")
    full = Worker(checkout, copy, selector, reliable, full=True)
    try:
        found = full.try_fault(place("return n < LIMIT", "`<` becomes `<=`"))
        survived = full.try_fault(place("return n == 1", "`==` becomes `!=`"))
        again = full.try_fault(place("return a + b", "`+` becomes `-`"))
    finally:
        full.close()
    case = "tests/core/test_sums.py::test_a_number_is_compared[3]"
    assert (found.status, found.by, found.full) == ("only full", case, True)
    assert (survived.status, survived.full) == ("survived", True)
    assert (again.status, again.full) == ("killed", False)


def test_a_left_out_case_that_fails_only_beside_others_is_no_proof(worker: Worker) -> None:
    test = TracedTest("tests/core/test_sums.py::test_a_number_is_compared[1]", 1.0, False, 1)
    others = [f"{test.function}[{n}]" for n in (2, 3)]
    ran = [
        Ran("failed", others[0], began=frozenset({others[0]})),
        Ran("passed"),
        Ran("failed", others[1], began=frozenset({others[1]})),
        Ran("failed", others[1]),
    ]
    with mock.patch.object(worker, "run", side_effect=ran) as run:
        found, proof = worker.run_left_out([test])
    assert (found.test, [one.id for one in proof]) == (others[1], [others[1]])
    left_out = [call.args[2] for call in run.call_args_list if len(call.args) > 1]
    assert [test.id in one for one in left_out] == [True, True]
    assert [others[0] in one for one in left_out] == [False, True]


def test_a_test_that_fails_without_a_fault_proves_nothing(worker: Worker) -> None:
    outcome = worker.try_fault(place("LIMIT = 3", "3 becomes 4"))
    assert outcome.status == "survived"


def test_a_fault_that_runs_for_ever_is_found_by_time_and_leaves_nothing(worker: Worker) -> None:
    with soon():
        outcome = worker.try_fault(place("n -= 1", "`-=` becomes `+=`"))
    assert outcome.status == "timeout"
    assert not left_behind(worker)


def test_a_server_that_a_run_leaves_behind_is_ended(worker: Worker) -> None:
    waits = TracedTest("tests/core/test_sums.py::test_waiting_ends", 0.1, False, 1)
    assert worker.run([waits]).status == "passed"
    assert not left_behind(worker)


def test_a_fault_that_no_test_reaches_is_told(worker: Worker, map_: Reach) -> None:
    fault = place("return n == 1", "`==` becomes `!=`")
    with mock.patch.object(map_, "tests", dict[str, TracedTest]()):
        assert worker.try_fault(fault) == Outcome("unreached")


def test_a_failure_that_does_not_come_again_is_no_proof(worker: Worker) -> None:
    tests = [TracedTest(f"tests/test_{n}.py::test", 1.0, False, 1) for n in range(3)]
    first, second, third = tests
    ran = [
        Ran("failed", second.id, began=frozenset({first.id, second.id})),
        Ran("passed", began=frozenset({second.id})),
        Ran("passed", began=frozenset({third.id})),
    ]
    with mock.patch.object(worker, "run", side_effect=ran) as run:
        found, proof = worker.run_until_sure(tests, 9.0)
    assert [call.args[0] for call in run.call_args_list] == [tests, [second], [third]]
    assert (found.status, proof) == ("passed", [])


def test_a_test_that_is_not_there_alone_is_no_proof_and_not_asked_again(worker: Worker) -> None:
    tests = [TracedTest(f"tests/test_{n}.py::test", 1.0, False, 1) for n in range(2)]
    first, second = tests
    ran = [
        Ran("failed", first.id, began=frozenset({first.id})),
        Ran("missing"),
        Ran("passed", began=frozenset({second.id})),
    ]
    with (
        mock.patch.object(worker, "run", side_effect=ran),
        mock.patch.object(worker, "_reliable") as reliable,
    ):
        found, proof = worker.run_until_sure(tests, 9.0)
    assert (found.status, proof) == ("passed", [])
    reliable.learn.assert_called_once_with(first.id, passes=False)


def test_of_tests_that_do_not_end_one_that_fails_without_a_fault_is_left_out(
    worker: Worker,
) -> None:
    tests = [TracedTest(f"tests/core/test_sums.py::test_{n}", 0.1, False, 1) for n in range(3)]
    names = frozenset(test.id for test in tests)
    ran = [
        Ran("timeout"),
        Ran("failed", tests[1].id, "without a fault"),
        Ran("timeout"),
        Ran("passed", began=names),
    ]
    with (
        mock.patch.object(worker, "run", side_effect=ran) as run,
        mock.patch.object(worker, "_reliable") as reliable,
        mock.patch.object(worker, "_selector") as selector,
    ):
        reliable.configure_mock(unreliable=set[str](), **{"known.return_value": None})
        selector.tests.side_effect = [tests, [tests[0], tests[2]]]
        outcome = worker.try_fault(place("return a + b", "`+` becomes `-`"))
    assert outcome.status == "timeout"
    reliable.learn.assert_any_call(tests[1].id, passes=False)
    assert run.call_args.args == ([tests[0], tests[2]],)


def test_a_file_that_cannot_be_imported_is_no_proof_if_it_never_can(worker: Worker) -> None:
    tests = [TracedTest(f"tests/core/test_sums.py::test_{n}", 0.1, False, 1) for n in range(3)]
    ran = Ran("failed", "tests/core/test_sums.py", "E   SyntaxError")
    with (
        mock.patch.object(worker, "run", return_value=ran),
        mock.patch.object(worker, "_reliable") as reliable,
    ):
        reliable.configure_mock(unreliable=set[str](), **{"known.return_value": None})
        assert worker.run_until_sure(tests, 9.0) == (ran, tests[:1])
        with pytest.raises(RuntimeError, match=r"without a fault: tests/core/test_sums\.py"):
            worker.try_fault(place("return a + b", "`+` becomes `-`"))


def test_a_marker_of_xdist_is_known_without_xdist(worker: Worker) -> None:
    marked = [TracedTest("tests/core/test_sums.py::test_a_small_number_is_small", 0.1, False, 1)]
    assert worker.run(marked).status == "passed"


def test_a_map_of_tests_that_are_not_there_is_an_error(worker: Worker) -> None:
    gone = [TracedTest("tests/core/test_sums.py::test_gone", 0.1, False, 1)]
    with pytest.raises(RuntimeError, match=r"remove \.mutants"):
        worker.run_until_sure(gone, 9.0)


def test_the_copy_is_whole_after_a_fault(worker: Worker, checkout: Path) -> None:
    worker.try_fault(place("return a + b", "`+` becomes `-`"))
    again = [TracedTest("tests/core/test_sums.py::test_a_sum_is_made[3]", 0.1, False, 1)]
    assert worker.run(again).status == "passed"


def test_a_stage_is_bounded_by_seconds_and_files() -> None:
    tests = [TracedTest(f"tests/test_{n}.py::test", 1.0, False, 1) for n in range(9)]
    by_seconds, by_files = Stage(2.0, 9), Stage(9.0, 3)
    assert [len(part) for part in by_seconds.take(tests)] == [4, 5]
    assert [len(part) for part in by_files.take(tests)] == [3, 6]


def test_files_of_which_no_test_had_its_turn_come_first_in_the_last_stage(worker: Worker) -> None:
    waits = [TracedTest(f"tests/test_waits.py::test_{n}", 1.0, False, 1) for n in range(400)]
    other = TracedTest("tests/test_other.py::test", 1.0, False, 1)
    with (
        mock.patch.object(worker, "run", side_effect=first_alone) as run,
        mock.patch.object(worker, "_selector") as selector,
    ):
        selector.tests.return_value = [*waits, other]
        worker.try_fault(place("return a + b", "`+` becomes `-`"))
    *_, last = (call.args[0] for call in run.call_args_list)
    assert last[0] == other


def first_alone(tests: list[TracedTest], seconds: float) -> Ran:
    """Run tests that wait: after the first one, the time of the stage is over."""
    return Ran("passed", began=frozenset({tests[0].id}))


def test_what_the_tests_of_a_stage_share_counts_once() -> None:
    shared = (("fixture", 3.0),)
    tests = [TracedTest(f"tests/test.py::test_{n}", 0.1, False, 1, shared) for n in range(9)]
    assert [len(part) for part in Stage(2.0, 9).take(tests)] == [9, 0]


def test_a_test_longer_than_its_stage_is_run_first_or_later() -> None:
    long = TracedTest("tests/test_long.py::test", 60.0, False, 1)
    short = TracedTest("tests/test_short.py::test", 1.0, False, 1)
    assert Stage(2.0, 3).take([long, short]) == ([long], [short])
    assert Stage(2.0, 3).take([short, long]) == ([short], [long])


def test_no_test_is_begun_when_the_time_of_its_stage_is_over(worker: Worker) -> None:
    tests = [
        TracedTest(f"tests/core/test_sums.py::test_a_sum_is_made[{n}]", 0.1, False, 1)
        for n in range(9)
    ]
    ran = worker.run(tests, 0.0)
    assert ran.status == "passed"
    assert ran.began == {tests[0].id}

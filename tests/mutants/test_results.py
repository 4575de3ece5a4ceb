"""Results and reports: what is kept between runs, and what a run says."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from rich.console import Console

from tests.mutants.__main__ import Plan, main
from tests.mutants.operators import changes
from tests.mutants.places import Place
from tests.mutants.report import Report, Result
from tests.mutants.results import Results
from tests.mutants.running import Outcome

SOURCE = "X = 1\nY = 2\nZ = 3\n"

FILES = {"tests/test_a.py": "hash a", "tests/test_b.py": "hash b"}
KILLED = Outcome("killed", "tests/test_a.py::test", "assert 0", 1, ("tests/test_a.py",), 1.0)
SURVIVED = Outcome("survived", tried=2, files=("tests/test_a.py", "tests/test_b.py"))
ONLY_FULL = replace(KILLED, status="only full", full=True)


def places(package: str = "core") -> list[Place]:
    lines = SOURCE.splitlines()
    return [Place("a.py", package, one, lines[one.line - 1]) for one in changes(SOURCE.encode())]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(SOURCE)
    return tmp_path


def test_a_result_is_known_in_the_next_run(tmp_path: Path) -> None:
    first, second, third = places()
    results = Results(tmp_path / "r", FILES)
    results.add(first, KILLED)
    results.add(second, SURVIVED)
    again = Results(tmp_path / "r", FILES)
    assert [again.get(one) for one in (first, second, third)] == [KILLED, SURVIVED, None]


def test_of_some_tests_alone_only_what_they_find_is_kept(tmp_path: Path) -> None:
    first, second, _ = places()
    results = Results(tmp_path / "r", FILES, is_whole=False)
    results.add(first, KILLED)
    results.add(second, SURVIVED)
    assert results.get(second) == SURVIVED
    again = Results(tmp_path / "r", FILES)
    assert [again.get(one) for one in (first, second)] == [KILLED, None]


def test_a_changed_test_file_forgets_what_it_may_find_now(tmp_path: Path) -> None:
    first, second, _ = places()
    results = Results(tmp_path / "r", FILES)
    results.add(first, KILLED)
    results.add(second, SURVIVED)
    other = Results(tmp_path / "r", FILES | {"tests/test_b.py": "another hash"})
    assert [other.get(first), other.get(second)] == [KILLED, None]
    own = Results(tmp_path / "r", FILES | {"tests/test_a.py": "another hash"})
    assert own.get(first) is None


def test_a_line_that_was_cut_off_is_passed_over(tmp_path: Path) -> None:
    first, second, _ = places()
    results = Results(tmp_path / "r", FILES)
    results.add(first, KILLED)
    results.add(second, KILLED)
    text = (tmp_path / "r").read_text()
    (tmp_path / "r").write_text(text[:-20])
    again = Results(tmp_path / "r", FILES)
    assert [again.get(first), again.get(second)] == [KILLED, None]


def report(root: Path, outcomes: list[Outcome | None], reason: str = "") -> Report:
    found = [
        Result(place, outcome, reason) for place, outcome in zip(places(), outcomes, strict=True)
    ]
    return Report(found, root, 90, 80)


def test_what_is_found_by_time_counts_and_what_is_equivalent_does_not(root: Path) -> None:
    first, second, third = places()
    found = [
        Result(first, KILLED),
        Result(second, replace(KILLED, status="timeout")),
        Result(third, None, "a reason"),
    ]
    core, total = Report(found, root, 90, 80).lines()
    assert (core.killed, core.timeout, core.equivalent, core.percent) == (1, 1, 1, 100.0)
    assert total.tried == 2


def test_thresholds_hold_for_each_package_and_for_all(root: Path) -> None:
    assert report(root, [KILLED, KILLED, KILLED]).faults() == []
    assert report(root, [KILLED, KILLED, SURVIVED]).faults() == [
        "core: 67 % found, expected 80 %",
        "all: 66.7 % found, expected 90 %",
    ]


def test_a_package_with_few_tried_faults_and_others_left_is_not_judged(root: Path) -> None:
    other = [Result(place, KILLED) for place in places("auth") * 4]
    core = [Result(place, one) for place, one in zip(places(), [SURVIVED, None, None], strict=True)]
    assert Report(other + core, root, 90, 80).faults() == []


@pytest.mark.parametrize("tried", [0, 7])
def test_a_run_that_tried_few_of_its_faults_says_nothing_good(root: Path, tried: int) -> None:
    outcomes = [KILLED] * tried + [None] * (9 - tried)
    found = [Result(place, one) for place, one in zip(places() * 3, outcomes, strict=True)]
    assert Report(found, root, 90, 80).faults() == [
        f"{tried} faults were tried: too few to judge by"
    ]


@pytest.mark.parametrize(
    ("outcomes", "options", "exit_code"),
    [
        ([KILLED] * 9, [], 0),
        ([KILLED] * 8 + [SURVIVED], [], 1),
        ([KILLED] * 8 + [None], [], 1),
        ([KILLED] * 8 + [None], ["--minutes", "1"], 0),
        ([KILLED] * 7 + [None] * 2, ["--minutes", "1"], 1),
        ([SURVIVED] * 9, ["--minutes", "1"], 1),
        ([KILLED] * 9, ["--full"], 0),
        ([KILLED] * 8 + [ONLY_FULL], ["--full"], 1),
        ([KILLED] * 8 + [ONLY_FULL], ["--full", "--min-full", "85", "--min-total", "80"], 0),
        ([KILLED] * 8 + [SURVIVED], ["--full", "--min-total", "80"], 0),
    ],
    ids=[
        "all found",
        "one not found",
        "interrupted",
        "time is over",
        "time is over too soon",
        "in time, not found",
        "full, all found",
        "full, one found by it alone",
        "full, that is enough",
        "full, one found by neither",
    ],
)
def test_the_exit_code_tells_if_enough_was_found_of_what_was_asked(
    monkeypatch: pytest.MonkeyPatch,
    outcomes: list[Outcome | None],
    options: list[str],
    exit_code: int,
) -> None:
    chosen = places() * 3
    found = [Result(place, one) for place, one in zip(chosen, outcomes, strict=True)]
    where = "tests.mutants"
    monkeypatch.setattr(f"{where}.places.all_places", mock.Mock(return_value=chosen))
    monkeypatch.setattr(f"{where}.allowed.read", mock.Mock(return_value=[]))
    monkeypatch.setattr(f"{where}.__main__.execute", mock.Mock(return_value=found))
    monkeypatch.setattr(f"{where}.report.Report.about", mock.Mock(return_value="a fault"))
    minimum = ["--min-package", "80"]
    assert main(["--only", "a.py", *minimum, *options]) == exit_code


def test_what_all_cases_alone_find_is_told_apart(root: Path) -> None:
    text = io.StringIO()
    outcomes = [KILLED, ONLY_FULL, SURVIVED]
    found = [Result(place, one) for place, one in zip(places(), outcomes, strict=True)]
    full = Report(found, root, 0, 0, 97)
    full.show(Console(file=text, width=120))
    said = "of 2 faults that all cases find, `nox -s tests` finds 1: 50.0 %"
    assert full.faults() == [f"{said}, expected 97 %"]
    assert said in text.getvalue()
    assert "found with --full alone: tests/test_a.py::test" in text.getvalue()
    assert full.json()["packages"]["all"]["only_full"] == 1
    assert full.lines()[-1].percent == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("known", "wanted"),
    [
        (None, True),
        (KILLED, False),
        (ONLY_FULL, False),
        (SURVIVED, True),
        (replace(SURVIVED, full=True), False),
        (Outcome("unreached"), True),
    ],
)
def test_with_full_only_what_was_not_found_is_tried_again(
    known: Outcome | None, wanted: bool
) -> None:
    plan = Plan([], {}, 1, None, again=False, tests=(), full=True)
    assert plan.wants(known) is wanted


@pytest.mark.parametrize(("known", "wanted"), [(None, True), (KILLED, False), (SURVIVED, False)])
def test_without_full_what_has_an_outcome_is_not_tried_again(
    known: Outcome | None, wanted: bool
) -> None:
    plan = Plan([], {}, 1, None, again=False, tests=(), full=False)
    assert plan.wants(known) is wanted


def test_what_no_test_reaches_is_not_found(root: Path) -> None:
    _, total = report(root, [KILLED, Outcome("unreached"), None]).lines()
    assert (total.survived, total.left, total.percent) == (1, 1, 50.0)


def test_a_survivor_is_shown_as_a_diff_with_the_tests_that_were_tried(root: Path) -> None:
    text = io.StringIO()
    report(root, [KILLED, SURVIVED, KILLED]).show(Console(file=text, width=100))
    shown = text.getvalue()
    assert "-Y = 2\n+Y = 3\n" in shown
    assert "tried: 2 tests in tests/test_a.py, tests/test_b.py" in shown


def test_a_script_gets_the_same_numbers(root: Path) -> None:
    found = report(root, [KILLED, SURVIVED, KILLED]).json()
    assert found["packages"]["all"]["percent"] == 66.7
    assert [one["id"] for one in found["survivors"]] == ["a.py:2:4: 2 becomes 3"]

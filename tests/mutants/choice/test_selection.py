"""The order of the tests for a fault."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from unittest import mock

import pytest

from tests.mutants.choice.selection import DEFAULTS, FACT_TABLE, GENERATED, Selector
from tests.mutants.operators import changes
from tests.mutants.places import Place
from tests.mutants.reach import Reach, TracedTest

ROOT = Path(__file__).parents[3]
SOURCE = "def f(tool):\n    if tool.meta is not None:\n        check(tool.meta)\n"


def chosen(path: str, package: str, *tests: TracedTest) -> list[str]:
    """Return the ids of tests that all reach a fault, in the order of the choice."""
    by_file: dict[str, list[TracedTest]] = defaultdict(list)
    by_function: dict[str, list[TracedTest]] = defaultdict(list)
    for test in tests:
        by_file[test.file].append(test)
        by_function[test.function].append(test)
    map_ = mock.Mock(spec=Reach)
    map_.configure_mock(
        tests={test.id: test for test in tests}, by_file=by_file, by_function=by_function
    )
    map_.reaching.return_value = {test.id for test in tests}
    change = next(one for one in changes(SOURCE.encode()) if one.what == "the call is dropped")
    place = Place(path, package, change, "check(tool.meta)")
    return [test.id for test in Selector(map_, ROOT, set()).tests(place)]


def test_a_test_with_the_words_of_the_line_in_its_name_comes_first() -> None:
    named = TracedTest("tests/a/test_a.py::test_the_meta_of_a_tool_is_checked", 0.1, False, 9)
    other = TracedTest("tests/a/test_a.py::test_another_thing", 0.1, False, 9)
    more = [TracedTest(f"tests/a/test_a.py::test_{n}", 0.1, False, 9) for n in "bcd"]
    assert chosen("mcp_gen/x/y.py", "server", *more, other, named)[0] == named.id


def test_a_test_in_the_folder_of_the_module_comes_before_one_elsewhere() -> None:
    near = TracedTest("tests/server/tools/test_calls.py::test_b", 0.1, False, 9)
    far = TracedTest("tests/hostile/work/test_kept.py::test_a", 0.1, False, 9)
    assert chosen("mcp_gen/server/tools/output.py", "server", far, near) == [near.id, far.id]


def test_a_test_whose_parameters_name_the_file_comes_first_however_long_it_is() -> None:
    rows = [
        TracedTest(f"tests/compat/test_zoo.py::test_pairs[{row} from 0]", seconds, False, 90)
        for row, seconds in (("roots", 1.0), ("tools", 2.0), ("elicitation", 8.0))
    ]
    more = [TracedTest(f"tests/compat/test_a.py::test_{n}", 0.1, False, 9) for n in "bcd"]
    path = "mcp_gen/compat/checks/servers/elicitation.py"
    assert chosen(path, "compat", *more, *rows)[0] == rows[-1].id


def test_the_row_of_a_table_with_the_words_of_the_line_in_its_name_comes_first() -> None:
    rows = [
        TracedTest(f"tests/a/test_a.py::test_a_mistake_is_named[{row}]", 0.1, False, 9)
        for row in ("an icon", "a lifespan", "a page", "tool metadata")
    ]
    assert chosen("mcp_gen/x/y.py", "server", *rows)[0] == rows[-1].id


def test_what_many_tests_share_makes_each_of_them_a_long_one() -> None:
    shared = TracedTest("tests/a/test_a.py::test_a", 0.1, False, 9, (("fixture", 20.0),))
    alone = TracedTest("tests/a/test_a.py::test_b", 1.0, False, 9)
    assert chosen("mcp_gen/x/y.py", "server", shared, alone) == [alone.id, shared.id]


LOGOUT = "mcp_gen/cli/commands/logout.py"


def test_where_no_test_reaches_the_line_those_of_its_function_come_first() -> None:
    of_function = TracedTest("tests/a/test_a.py::test_a", 5.0, False, 90)
    of_module = TracedTest("tests/cli/commands/test_logout.py::test_b", 0.1, False, 9)
    known = {one.id: one for one in (of_module, of_function)}
    map_ = mock.Mock(spec=Reach, tests=known)
    map_.by_function = {one.function: [one] for one in known.values()}
    change = next(
        one
        for one in changes((ROOT / LOGOUT).read_bytes())
        if one.what == "the call is dropped" and one.line > 40
    )

    def reaching(path: str, lines: tuple[int, int] | None = None) -> set[str]:
        if lines is None:
            return set(known)
        return {of_function.id} if lines[0] < change.line < lines[1] else set()

    map_.reaching.side_effect = reaching
    chosen = Selector(map_, ROOT, set()).tests(Place(LOGOUT, "cli", change, "print_json(found)"))
    assert [one.id for one in chosen] == [of_function.id, of_module.id]


def test_for_the_generator_its_whole_output_comes_first() -> None:
    whole = TracedTest(GENERATED, 6.0, True, 70)
    short = TracedTest("tests/codegen/test_a.py::test_a", 0.1, False, 9)
    assert chosen("codegen/x.py", "codegen", short, whole) == [whole.id, short.id]


@pytest.mark.parametrize("named", [DEFAULTS, FACT_TABLE, GENERATED])
def test_a_test_that_is_named_exists(named: str) -> None:
    file, _, function = named.partition("::")
    assert f"def {function}" in (ROOT / file).read_text("utf-8")

"""Pages and charts of docs/benchmarks: they are what the results give, and weak rows come first."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.about import About
from bench.curves.measuring import Curve, Point
from bench.pages.__main__ import draw
from bench.pages.charts import Mark, Ratio, curve_chart, ratio_chart
from bench.pages.contract import CONTRACT, kept, with_goals
from bench.pages.pages import pages
from bench.pages.results import FOLDER, load, write
from bench.pages.svg import MISS
from bench.peers.measuring import OURS, Report, Row
from bench.rounds import Bare, merged, named
from bench.sampling import Goal, at_least, at_most
from bench.sampling import Row as Pair

ABOUT = About(
    command="python -m bench peers --quick",
    python="3.11.0",
    cpu="A processor",
    cpus=2,
    system="Linux x86_64",
    versions={"mcp-gen": "0.2.0"},
)


def ratio(label: str, middle: float) -> Ratio:
    return Ratio(label, [Mark(middle, middle / 2, middle * 2, 0, middle < 1)])


def compared(name: str, ours: float) -> Row:
    return Row(
        name=name,
        unit="calls/s",
        better="more",
        setting="fast",
        placed="uvloop",
        values={OURS: [ours, ours], "other": [10.0, 10.0]},
        not_offered={"third": "it does not speak it"},
    )


def pair(name: str, figure: float) -> Pair:
    return Pair(
        name=name,
        unit="calls/s",
        ours=figure,
        bare=1.0,
        ratio=figure,
        low=figure,
        high=figure,
        goal=at_least(0.9),
    )


def test_the_pages_are_what_the_results_give() -> None:
    assert draw(write=False) == []


def test_the_weakest_row_is_drawn_first_and_in_red() -> None:
    chart = ratio_chart("Rows", "axis", [ratio("strong", 3), ratio("weak", 0.5)], ["one"], ["note"])
    assert chart.index("weak") < chart.index("strong")
    assert chart.count(MISS) == 3  # the label, the mark and its spread


@pytest.mark.parametrize("along", ["tools", ""])
def test_equal_results_draw_alike_and_well_formed(along: str) -> None:
    points = [Point("0", [3.0, 4.0]), Point("1000", [500.0, 600.0])]
    curve = Curve(name="a < b", along=along, unit="µs", placed="here", series={"one": points})
    chart = curve_chart(curve, ["note"])
    assert chart == curve_chart(curve, ["note"])
    assert ElementTree.fromstring(chart).tag.endswith("svg")


def test_a_page_tells_a_slower_row_first_with_versions_machine_and_command(tmp_path: Path) -> None:
    write("peers", Report(about=ABOUT, rows=[compared("b", 50.0), compared("a", 5.0)]), tmp_path)
    drawn = pages(tmp_path)
    page = drawn["README.md"]
    assert "slower than another in 1" in page
    assert page.index("| a | fast |") < page.index("| b | fast |")
    assert "**slower than other**" in page
    assert "Not offered by third: it does not speak it." in page
    for text in (page, drawn["peers-fast.svg"]):
        assert "python -m bench peers --quick" in text
        assert "mcp-gen 0.2.0" in text
        assert "A processor x 2" in text


def test_what_is_written_around_the_tables_stays(tmp_path: Path) -> None:
    write("peers", Report(about=ABOUT, rows=[compared("a", 5.0)]), tmp_path)
    (tmp_path / "README.md").write_text(f"before\n{pages(tmp_path)['README.md']}after\n")
    assert pages(tmp_path)["README.md"] == (tmp_path / "README.md").read_text()


def test_the_same_row_is_named_after_the_row_before() -> None:
    names = [one.name for one in named([pair("calls", 1), pair("the same, later", 1)])]
    assert names == ["calls", "calls, later"]


def test_rounds_are_one_row_with_its_median() -> None:
    (row,) = merged("http", [[pair("calls", figure)] for figure in (0.8, 1.2, 1.0)])
    assert (row.row.ratio, row.ratios, row.met) == (1.0, [0.8, 1.2, 1.0], True)


@pytest.mark.parametrize(
    ("name", "figure", "goal", "met"),
    [
        ("HTTP, 2026-07-28", 1.2, at_least(1.15), True),
        ("HTTP, 2026-07-28", 1.1, at_least(1.15), False),
        ("import mcp_gen", 1.3, at_most(1.4), True),
        # The limit is in the row itself.
        ("idle session / 3 KB", 1.1, at_most(1), False),
        ("of no contract", 0.95, at_least(0.9), True),
    ],
)
def test_a_row_has_the_goal_of_the_contract_or_its_own(
    name: str, figure: float, goal: Goal, met: bool
) -> None:
    (row,) = with_goals(merged("a group", [[pair(name, figure)]]))
    assert (row.row.goal, row.row.met, row.met) == (goal, met, met)


def test_the_contract_names_rows_that_are_measured() -> None:
    found = load("bare", Bare)
    assert found is not None, f"no results in {FOLDER}"
    assert [one.row for one in kept(found.rows) if not one.values] == []


def test_a_row_of_the_contract_that_misses_its_goal_comes_first() -> None:
    promise = CONTRACT[0]
    rounds = [[pair(name, figure) for name, figure in _figures().items()]]
    first, *others = kept(merged("http", rounds))
    assert first.row == promise.rows[0]
    assert first.margin < 1
    assert all(one.margin >= 1 for one in others if one.values)


def test_a_row_below_its_goal_says_why_with_its_best_figure(tmp_path: Path) -> None:
    rounds = [[pair(name, figure * by) for name, figure in _figures().items()] for by in (1, 1.01)]
    write("bare", Bare(about=ABOUT, rows=merged("http", rounds)), tmp_path)
    _, _, below = pages(tmp_path)["README.md"].partition("### Below the goal\n\n")
    name, best = CONTRACT[0].rows[0], CONTRACT[0].limit / 2 * 1.01
    assert below.splitlines()[0] == f"* {name} (best {best:.3g}): {CONTRACT[0].why}"


def test_every_row_that_was_measured_below_its_goal_has_a_reason() -> None:
    found = load("bare", Bare)
    assert found is not None, f"no results in {FOLDER}"
    below = [one for one in kept(found.rows) if one.values and one.margin < 1]
    assert [one.row for one in below if not one.promise.why] == []


def _figures() -> dict[str, float]:
    """Figures that meet every goal but the first."""
    met = {
        name: promise.limit * (1.1 if promise.higher_is_better else 0.9)
        for promise in CONTRACT
        for name in promise.rows
    }
    return {**met, CONTRACT[0].rows[0]: CONTRACT[0].limit / 2}

"""Verdicts of the comparison with other SDKs, and the order of its measurements."""

import msgspec
import pytest

from bench.about import About
from bench.peers.measuring import OURS, Better, Effort, Report, Row, in_rounds, status_of, timed

ABOUT = About(command="", python="", cpu="", cpus=1, system="", versions={})


def row(better: Better, ours: list[float], theirs: list[float]) -> Row:
    return Row(
        name="a row",
        unit="",
        better=better,
        setting="fast",
        placed="",
        values={OURS: ours, "other": theirs},
    )


@pytest.mark.parametrize(
    ("better", "ours", "theirs", "slower"),
    [
        ("more", [3.0, 2.0, 4.0], [1.0, 1.0, 5.0], []),
        ("more", [3.0, 1.0, 1.0], [1.0, 2.0, 2.0], ["other"]),
        ("less", [1.0, 1.0, 9.0], [2.0, 2.0, 2.0], []),
        ("less", [3.0, 3.0, 1.0], [2.0, 2.0, 2.0], ["other"]),
    ],
)
def test_the_median_of_the_rounds_says_who_is_slower(
    better: Better, ours: list[float], theirs: list[float], slower: list[str]
) -> None:
    assert row(better, ours, theirs).slower_than == slower


@pytest.mark.parametrize(("strict", "status"), [(True, 1), (False, 0)])
def test_a_row_slower_than_a_peer_fails_a_strict_run(strict: bool, status: int) -> None:
    faster, slower = row("more", [2.0], [1.0]), row("more", [1.0], [2.0])
    assert slower.verdict == "slower than other"
    assert status_of([faster, slower], strict=strict) == status
    assert status_of([faster], strict=strict) == 0


def test_a_row_without_a_peer_has_no_verdict() -> None:
    alone = msgspec.structs.replace(row("more", [1.0], [2.0]), values={OURS: [1.0]})
    assert alone.verdict == ""
    assert alone.slower_than == []


def test_each_round_begins_with_another_side() -> None:
    asked: list[str] = []

    def side(name: str) -> float:
        asked.append(name)
        return 1.0

    # The default binds the name; a type checker sees a parameter more.
    in_rounds({name: lambda name=name: side(name) for name in "abc"}, 3)  # type: ignore[misc]
    assert "".join(asked) == "abcbcacab"


def test_no_more_calls_are_made_than_allowed() -> None:
    made: list[int] = []

    def rate(calls: int) -> float:
        made.append(calls)
        return 1.0

    timed(rate, Effort(run_s=1.0, warm_s=0.0), least=2, most=5)()
    assert made[0] == 2
    assert 2 <= made[-1] <= 5


def test_a_report_is_read_as_it_was_written() -> None:
    report = Report(about=ABOUT, rows=[row("more", [2.0], [1.0])])
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report

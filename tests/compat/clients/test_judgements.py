"""Judgements that compare runs of one client: it goes on alike, or meets an error."""

from __future__ import annotations

import pytest

from mcp_gen.compat.checks.check import Judge
from mcp_gen.compat.checks.client_run import STRICT, ClientRun, Ended
from mcp_gen.compat.checks.found import Found, NotTested
from mcp_gen.compat.scenarios.judgements import goes_on_alike, rejects
from mcp_gen.compat.transcript import Transcript
from tests.support.frames import HANDSHAKE, Speaker

ALIKE = goes_on_alike("noise makes no difference")
REJECTS = rejects("noise is an error", "control", detects="other", tool="echo")


def ran(calls: int, exit_code: int | None) -> ClientRun:
    """Return a run in which a client called a tool so often, and how it ended."""
    transcript, speaker = Transcript(HANDSHAKE, "stdio"), Speaker(HANDSHAKE)
    for number in range(calls):
        transcript.add("client", "message", speaker.call(number, "echo"))
    return ClientRun("noise", HANDSHAKE, [transcript], Ended(exit_code=exit_code))


def judged(
    run: ClientRun, strict: ClientRun, judge: Judge = ALIKE, **others: ClientRun
) -> list[str]:
    """Return what comes out for a run, beside that of the strict server and others."""
    run.beside = strict.beside = {STRICT: strict, "noise": run, **others}
    found = Found()
    judge(run, found)
    assert found.has_seen
    return [one.came for one in found.findings]


def test_a_client_that_does_the_same_is_all_right() -> None:
    assert judged(ran(2, 0), ran(2, 0)) == []


@pytest.mark.parametrize(("calls", "times"), [(1, "1 times, else 2"), (3, "3 times, else 2")])
def test_a_client_that_ends_well_and_asks_for_more_or_less_is_told(calls: int, times: str) -> None:
    assert judged(ran(calls, 0), ran(2, 0)) == [
        f"the client asked for tools/call echo {times} times"
    ]


@pytest.mark.parametrize("exit_code", [1, None])
def test_a_client_that_does_not_end_well_is_told_once(exit_code: int | None) -> None:
    (came,) = judged(ran(1, exit_code), ran(2, 0))
    assert came.endswith("unlike with the strict server")


def test_a_client_that_fails_with_the_strict_server_too_is_not_judged() -> None:
    with pytest.raises(NotTested, match="with the strict server, too"):
        judged(ran(2, 1), ran(2, 1))


def rejected(noise: ClientRun, control: ClientRun, other: ClientRun) -> list[str]:
    return judged(noise, ran(1, 0), REJECTS, control=control, other=other)


def test_a_client_that_fails_meets_the_error() -> None:
    assert rejected(ran(1, 1), ran(1, 1), ran(1, 1)) == []


def test_a_client_that_ends_well_has_not_seen_the_error() -> None:
    (came,) = rejected(ran(1, 0), ran(1, 1), ran(1, 1))
    assert came == "the client ended well, as if all had been right"


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ((ran(0, 0), ran(1, 1), ran(1, 1)), "did not call the tool `echo`"),
        ((ran(1, 0), ran(1, 0), ran(1, 1)), "the exit code of the client does not tell of errors"),
        ((ran(1, 0), ran(1, 1), ran(1, 0)), "does not look at what other is about"),
        ((ran(1, None), ran(1, 1), ran(1, 1)), "did not end within"),
    ],
    ids=["no call", "swallows errors", "looks at nothing", "hangs"],
)
def test_a_client_that_cannot_be_compared_is_not_judged_by_an_error(
    runs: tuple[ClientRun, ClientRun, ClientRun], why: str
) -> None:
    with pytest.raises(NotTested, match=why):
        rejected(*runs)

"""Judging of transcripts: all rules of one side at one revision, each fault told once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import Check, checks
from mcp_gen.compat.checks.found import Found
from mcp_gen.compat.report.model import Outcome

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import FaultPlace
    from mcp_gen.compat.report.model import Side
    from mcp_gen.compat.transcript import Transcript, Transport

__all__ = ["CHECK_FAILED", "applicable", "failure_of", "judge", "outcome_of"]

CHECK_FAILED = "the check failed:"


def applicable(side: Side, revision: str, transport: Transport) -> list[Check]:
    """Return the checks of one side at a revision and over a transport, rules and probes."""
    return [
        check
        for check in checks().values()
        if check.side == side and check.applies(revision, transport)
    ]


def judge(
    rules: Iterable[Check], transcripts: Sequence[Transcript], told: Iterable[FaultPlace] = ()
) -> list[tuple[Check, Found]]:
    """Apply rules to transcripts, and return what each has found.

    A fault that one rule has found is not found again by the rules of the general form of frames,
    which know no more of it than that something is wrong.

    Args:
        rules: Checks that are rules.
        transcripts: The transcripts of one peer at one revision.
        told: Places of findings that there are already.
    """
    found: list[tuple[Check, Found]] = []
    told = list(told)
    for check in sorted(rules, key=lambda one: (one.is_general, one.is_last)):
        here = Found(told if check.is_general else ())
        for transcript in transcripts:
            assert check.rule is not None
            try:
                check.rule(transcript, here)
            except Exception as error:
                here.failure = failure_of(error)
        told += here.places
        found.append((check, here))
    return found


def failure_of(error: Exception) -> str:
    """Return why a check was not made that has failed itself: that is a fault of ours."""
    return f"{CHECK_FAILED} {type(error).__name__}: {error}"


def outcome_of(check: Check, found: Found, revision: str, why: str = "") -> Outcome:
    """Return the outcome of a check.

    Args:
        check: The check.
        found: What it has found.
        revision: The revision.
        why: Why nothing could be found out; empty if something could.
    """
    row = check.requirement
    failed, why = bool(found.findings), found.failure or why
    return Outcome(
        requirement=row.id,
        level=row.level,
        says=row.says,
        revision=revision,
        link=row.link(revision),
        verdict="failed" if failed else "not tested" if why else "passed",
        why="" if failed else why,
        findings=tuple(found.findings),
    )

"""One judged test: its conversations, its findings, and its row of the summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from msgspec import Struct

from mcp_gen.compat.plugin.conversation import SideOutcome, judged
from mcp_gen.compat.plugin.failure_text import failure_text
from mcp_gen.compat.report.model import Outcome
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.plugin.conversation import Conversation
    from mcp_gen.compat.report.model import Finding

__all__ = ["FailOn", "JudgedTest", "TestRow", "fail_on"]

FailOn: TypeAlias = Literal["must", "should", "never"]
FAILING: dict[FailOn, tuple[str, ...]] = {
    "must": ("must",),
    "should": ("must", "should"),
    "never": (),
}
"""Levels of requirements whose findings fail a test, by the setting `mcp_fail_on`."""

TestVerdict: TypeAlias = Literal["passed", "failed", "skipped", "xfailed", "error"]

UNCOUNTED: dict[str, TestVerdict] = {"skipped": "skipped", "xfailed": "xfailed"}


class TestRow(Struct, frozen=True, kw_only=True):
    """Everything that the summary tells of one test at one revision.

    Args:
        test: Id of the test, without the revision.
        revision: The revision.
        verdict: Outcome of the test, findings included.
        target: The peer under test; empty if there was no conversation.
        side: The side that the peer is.
        transport: What carried the messages.
        passed: Ids of the requirements that were kept, by side.
        broken: Outcomes of those that were broken, by side.
        took_s: Time of the test, in seconds.
    """

    __test__ = False

    test: str
    revision: str
    verdict: TestVerdict
    target: str = ""
    side: str = "server"
    transport: str = ""
    passed: dict[str, tuple[str, ...]] = {}
    broken: dict[str, tuple[Outcome, ...]] = {}
    took_s: float = 0.0

    def findings(self, level: str) -> int:
        """Return the number of requirements of one level that were broken."""
        return sum(one.level == level for each in self.broken.values() for one in each)


class JudgedTest:
    """A running test whose conversations are judged.

    Args:
        test: Id of the test, without the revision.
        revision: Its revision; empty as long as it is not known.
        fails_on: Findings that fail it.
    """

    def __init__(self, test: str, revision: str, fails_on: FailOn) -> None:
        self.test = test
        self.revision = revision
        self.sources: list[Callable[[], Iterable[Conversation]]] = []
        """Functions that return the conversations so far."""
        self._levels = FAILING[fails_on]
        self._verdict: TestVerdict = "passed"
        self._took_s = 0.0
        self._told: set[tuple[str, str, str, str]] = set()
        self._target = self._transport = ""
        self._side = "server"
        self._outcomes: dict[tuple[str, str], Outcome] = {}

    def judge(self) -> str:
        """Judge the conversations so far; return the text of failing findings that are new."""
        self._outcomes.clear()
        new: list[SideOutcome] = []
        for told in self._conversations():
            self._target, self._transport = told.target, told.transport
            self._side = told.sides[0]
            self.revision = told.transcript.revision
            for one in judged(told):
                self._keep(one)
                fresh = tuple(each for each in one.outcome.findings if self._is_new(one, each))
                if fresh and one.outcome.level in self._levels:
                    new.append(
                        SideOutcome(one.side, msgspec.structs.replace(one.outcome, findings=fresh))
                    )
        return failure_text(new, self._transport)

    def ended(self, phase: str | None, outcome: str, took_s: float) -> None:
        """Take the outcome of a phase of the test, in the words of pytest."""
        self._took_s += took_s
        if outcome in UNCOUNTED:
            self._verdict = UNCOUNTED[outcome]
        elif outcome == "failed" and self._verdict != "failed":
            self._verdict = "failed" if phase == "call" else "error"

    def row(self) -> bytes:
        """Return the row of the summary as JSON."""
        passed: dict[str, list[str]] = {}
        broken: dict[str, list[Outcome]] = {}
        for (side, id), outcome in self._outcomes.items():
            if outcome.verdict == "passed":
                passed.setdefault(side, []).append(id)
            elif outcome.verdict == "failed":
                broken.setdefault(side, []).append(outcome)
        return msgspec.json.encode(
            TestRow(
                test=self.test,
                revision=self.revision,
                verdict=self._verdict,
                target=self._target,
                side=self._side,
                transport=self._transport,
                passed={side: tuple(ids) for side, ids in passed.items()},
                broken={side: tuple(each) for side, each in broken.items()},
                took_s=self._took_s,
            )
        )

    def _conversations(self) -> Iterable[Conversation]:
        for source in self.sources:
            yield from source()

    def _keep(self, one: SideOutcome) -> None:
        """Keep an outcome, joined with that of the same rule for another peer of the test."""
        key = (one.side, one.outcome.requirement)
        before = self._outcomes.get(key)
        if before is None or before.verdict == "not tested":
            self._outcomes[key] = one.outcome
        elif one.outcome.verdict == "failed":
            joined = before.findings + one.outcome.findings
            self._outcomes[key] = msgspec.structs.replace(one.outcome, findings=joined)

    def _is_new(self, one: SideOutcome, finding: Finding) -> bool:
        last = finding.evidence[-1].text if finding.evidence else ""
        key = (one.outcome.requirement, finding.came, finding.where, last)
        if key in self._told:
            return False
        self._told.add(key)
        return True


def fail_on(text: str) -> FailOn:
    """Return the setting `mcp_fail_on`.

    Raises:
        UsageError: it is none of its values.
    """
    levels: dict[str, FailOn] = {"must": "must", "should": "should", "never": "never"}
    if text not in levels:
        raise UsageError(f"mcp_fail_on: expected must, should or never, got {text!r}")
    return levels[text]

"""Accounts of a storm: answers, documented errors, effects, and violations."""

from __future__ import annotations

import math
import re
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests.storm.plan import LIMIT_S

__all__ = ["Documented", "Fault", "Ledger", "Outcome", "documented", "marks_in"]

DOCUMENTED = Path(__file__).with_name("documented.toml")
KEPT = 200
GRACE_S = {"node": 7.0, "store": 4.0, "emptied": 4.0, "busy": 1.0}
"""Seconds that a fault is felt after its end: a lease of 5 s, a back-off of 2 s."""
_MARK = re.compile(rb"mark-[0-9a-f]{12}")


def marks_in(data: bytes) -> set[bytes]:
    """Return the marks of clients in a message."""
    return set(_MARK.findall(data))


class Outcome(NamedTuple):
    """End of a request without a result."""

    kind: str
    status: int = 0
    code: int = 0
    reason: str = ""
    says: str = ""


@dataclass(frozen=True)
class Documented:
    """Error that is allowed while something fails; see documented.toml."""

    name: str
    kind: str
    needs: tuple[str, ...]
    says: str
    status: int = 0
    code: int = 0
    reason: str = ""
    transport: str = ""
    since: str = "request"

    def fits(self, outcome: Outcome, transport: str) -> bool:
        """Return True if this row is about such an outcome."""
        return (
            outcome.kind == self.kind
            and self.status in (0, outcome.status)
            and self.code in (0, outcome.code)
            and self.reason in ("", outcome.reason)
            and self.transport in ("", transport)
        )


def documented() -> list[Documented]:
    """Return the documented errors."""
    rows = tomllib.loads(DOCUMENTED.read_text("utf-8"))["error"]
    return msgspec.convert(rows, list[Documented])


@dataclass
class Fault:
    """Something that the storm broke."""

    kind: str
    what: str
    began_s: float
    pid: int = 0
    ended_s: float | None = None


@dataclass
class Ledger:
    """Accounts, which are filled while the storm runs."""

    complain: Callable[[str], None] = lambda what: None
    answers: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Results, by what was asked and who asked."""
    errors: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Documented errors, by name and who met them."""
    checks: Counter[str] = field(default_factory=Counter[str])
    """Further checks that were made, by what they look at."""
    violations: Counter[str] = field(default_factory=Counter[str])
    """Violations by kind."""
    texts: list[str] = field(default_factory=list[str])
    faults: list[Fault] = field(default_factory=list[Fault])
    slowest_s: float = 0.0
    slowest: str = ""
    """Request that took so long."""
    effects: dict[str, bool] = field(default_factory=dict[str, bool])
    """Calls whose effect is counted; True if an answer said that it was made."""
    idempotent: set[str] = field(default_factory=set[str])
    excused: set[str] = field(default_factory=set[str])
    """Calls whose guarantee went with the store's data."""
    _rows: list[Documented] = field(default_factory=documented)
    _began_s: float = field(default_factory=time.monotonic)

    def now_s(self) -> float:
        """Return the seconds since the storm began."""
        return time.monotonic() - self._began_s

    # --- what fails ---

    def fault(self, kind: str, what: str, pid: int = 0) -> Fault:
        """Record that something fails from now on."""
        found = Fault(kind, what, self.now_s(), pid)
        self.faults.append(found)
        return found

    def failing(self, kind: str, since_s: float, *, pid: int = 0, grace_s: float = -1) -> bool:
        """Return True if a fault of this kind was felt between that time and now."""
        after_s = GRACE_S[kind] if grace_s < 0 else grace_s
        return any(
            one.kind == kind
            and (not pid or one.pid == pid)
            and (one.ended_s is None or one.ended_s + after_s >= since_s)
            for one in self.faults
        )

    def fell(self, pid: int, since_s: float, told_s: float) -> bool:
        """Return True if a node failed before it had told others what it had to.

        Args:
            pid: Process id of the node.
            since_s: Time from which on it had to.
            told_s: Time at which it has, where the store is there; else when it is back.
        """
        for one in sorted(self.faults, key=lambda fault: fault.began_s):
            is_there = one.kind in ("node", "busy") or one.began_s > told_s
            ended_s = math.inf if one.ended_s is None else one.ended_s + GRACE_S[one.kind]
            if not is_there and ended_s >= since_s:
                told_s = max(told_s, ended_s)
        return any(
            one.pid == pid
            and one.began_s <= told_s
            and (one.ended_s is None or one.ended_s >= since_s)
            for one in self.faults
            if one.kind == "node"
        )

    def quiet_since(self, since_s: float, *, even_busy: bool = False) -> bool:
        """Return True if nothing was broken since that time.

        Args:
            since_s: The time.
            even_busy: True does not mind a busy machine.
        """
        kinds = [kind for kind in GRACE_S if not (even_busy and kind == "busy")]
        return not any(self.failing(kind, since_s) for kind in kinds)

    # --- what came ---

    def settle(
        self, who: str, transport: str, outcome: Outcome, began_s: float, session_s: float
    ) -> None:
        """Record an error; it is a violation unless it is documented and something failed."""
        rows = [row for row in self._rows if row.fits(outcome, transport)]
        for row in rows:
            since_s = session_s if row.since == "session" else began_s
            if any(self.failing(kind, since_s) for kind in row.needs):
                self.errors[row.name, who] += 1
                return
        why = "without a reason" if rows else "not documented"
        self.blame(f"error {why}", f"{who}: {outcome}, {self.now_s() - began_s:.1f} s after")

    def took(self, who: str, what: str, began_s: float) -> None:
        """Record the duration of a request."""
        took_s = self.now_s() - began_s
        if took_s > self.slowest_s:
            self.slowest_s, self.slowest = took_s, f"{what[:40]} of {who}"
        if took_s > LIMIT_S + 1:
            self.blame("waited too long", f"{who}: {what} took {took_s:.1f} s")

    def blame(self, kind: str, what: str) -> None:
        """Record a violation."""
        self.violations[kind] += 1
        if len(self.texts) < KEPT:
            self.texts.append(f"{kind}: {what} (at {self.now_s():.1f} s)")
        self.complain(f"{kind}: {what}")

    def belongs(self, who: str, mark: str, data: bytes) -> None:
        """Check that a message has no mark but its client's own."""
        self.checks["messages at their client"] += 1
        foreign = marks_in(data) - {mark.encode()}
        if foreign:
            self.blame("at the wrong client", f"{who}: {foreign} in {data[:200]!r}")

    # --- effects ---

    def expect_effect(self, call: str, *, idempotent: bool = False) -> None:
        """Record that a call is made whose effect is counted."""
        self.effects[call] = False
        if idempotent:
            self.idempotent.add(call)

    def judge_effects(self, made: Iterable[str]) -> None:
        """Compare the effects that were made with the answers."""
        counted = Counter(made)
        for call, answered in self.effects.items():
            self.checks["effects"] += 1
            number = counted.pop(call, 0)
            once = call in self.idempotent or call in self.excused
            if number > 1 and not once:
                self.blame("effect twice", f"{call}: {number} times")
            if answered and not number:
                self.blame("effect missing", f"{call} was answered")
        for call in counted:
            self.blame("effect of nobody", call)

    def json(self) -> dict[str, Any]:
        """Return the accounts as JSON."""
        return {
            "answers": _told(self.answers),
            "errors": _told(self.errors),
            "checks": dict(self.checks),
            "faults": dict(Counter(one.what for one in self.faults)),
            "violations": dict(self.violations),
            "texts": self.texts,
            "slowest_s": round(self.slowest_s, 2),
            "slowest": self.slowest,
        }


def _told(counted: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (what, who), number in sorted(counted.items()):
        found.setdefault(what, {})[who] = number
    return found

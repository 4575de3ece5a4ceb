"""Checks: one per requirement that can be seen from outside, and what they find."""

from __future__ import annotations

import pkgutil
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct

from mcp_gen.compat.report.model import Side
from mcp_gen.compat.requirements.manifest import Requirement, requirements

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript

__all__ = ["Check", "Judge", "checks", "judged", "probe", "rule"]

Rule: TypeAlias = "Callable[[Transcript, Found], None]"
Probe: TypeAlias = "Callable[[ServerTrial], Awaitable[None]]"
Judge: TypeAlias = "Callable[[ClientRun, Found], None]"
R = TypeVar("R", bound=Rule)
P = TypeVar("P", bound=Probe)

ROOMS = (
    "mcp_gen.compat.checks.servers",
    "mcp_gen.compat.checks.clients",
    "mcp_gen.compat.scenarios.core",
    "mcp_gen.compat.scenarios.authorization",
    "mcp_gen.compat.scenarios.asking",
    "mcp_gen.compat.scenarios.tasks",
)


class Check(Struct, frozen=True):
    """The check of one requirement: a rule, a probe, or the judge of a scenario.

    Args:
        requirement: The row of the requirement.
        side: The side whose requirement it is.
        rule: Reads a transcript.
        probe: Asks the server.
        judge: Says whether a client kept the requirement in its scenario.
        at_opening: True for a check of a client that is made even if the client did not speak the
            revision: it says how that went wrong.
        unseen: Why a rule tested nothing if there was nothing to judge.
        is_general: True for a rule of the form of frames, which leaves faults to other rules.
        is_last: True for a general rule that leaves faults to the other general ones, too.
        needs_opening: False for a probe that is tried also if the server refuses the revision.
    """

    requirement: Requirement
    side: Side
    rule: Rule | None = None
    probe: Probe | None = None
    judge: Judge | None = None
    unseen: str = ""
    is_general: bool = False
    at_opening: bool = False
    is_last: bool = False
    needs_opening: bool = True

    def applies(self, revision: str, transport: str) -> bool:
        """Return True if the requirement holds at a revision and over a transport."""
        row = self.requirement
        return revision in row.revisions and row.transport in ("any", transport)


_checks: dict[str, Check] = {}


def rule(
    id: str,
    *,
    unseen: str,
    is_general: bool = False,
    is_last: bool = False,
    at_opening: bool = False,
) -> Callable[[R], R]:
    """Register a function that reads transcripts of a peer as the check of a requirement.

    It is called with each transcript, also with those of conversations that others have led: it
    calls `found.saw()` where there is something to judge, and `found.broken(...)` for each fault.

    Args:
        id: Id of the requirement.
        unseen: Why the requirement was not tested if nothing was to be judged, such as
            `no progress notification came`.
        is_general: True for a rule that leaves a fault to the rule that knows more of it.
        is_last: True for a general rule that leaves a fault to the other general ones, too.
        at_opening: True for a rule of clients that says why one does not speak the revision.
    """

    def register(function: R) -> R:
        check = Check(
            requirements()[id],
            _side(id),
            rule=function,
            unseen=unseen,
            is_general=is_general,
            is_last=is_last,
            at_opening=at_opening,
        )
        _register(check)
        return function

    return register


def probe(id: str, *, needs_opening: bool = True) -> Callable[[P], P]:
    """Register a function that asks a server as the check of a requirement.

    It calls `trial.broken(...)` for each fault, and raises NotTested if it cannot find out.

    Args:
        id: Id of the requirement.
        needs_opening: False for one that finds out something also about a server that refuses the
            revision: it opens its own connections.
    """

    def register(function: P) -> P:
        check = Check(requirements()[id], _side(id), probe=function, needs_opening=needs_opening)
        _register(check)
        return function

    return register


def judged(id: str, judge: Judge, *, at_opening: bool = False) -> None:
    """Register the judge of a scenario as the check of a requirement.

    Args:
        id: Id of the requirement, which is that of the scenario.
        judge: Called with the run of the scenario, and with what takes the findings. It raises
            NotTested if it cannot find out.
        at_opening: True for a scenario that says why a client does not speak the revision.
    """
    _register(Check(requirements()[id], _side(id), judge=judge, at_opening=at_opening))


def _side(id: str) -> Side:
    return "client" if requirements()[id].applies == "client" else "server"


def _register(check: Check) -> None:
    id = check.requirement.id
    if id in _checks:
        raise ValueError(f"requirement {id!r} has two checks")
    _checks[id] = check


@cache
def checks() -> dict[str, Check]:
    """Return every check by the id of its requirement, in the order of the manifest."""
    for room in ROOMS:
        for module in pkgutil.walk_packages(import_module(room).__path__, f"{room}."):
            import_module(module.name)
    return {id: _checks[id] for id in requirements() if id in _checks}

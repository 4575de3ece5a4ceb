"""Registry of scenarios: servers that each do one special thing, and what is to be seen then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from mcp_gen.compat.checks.check import Judge, checks, judged
from mcp_gen.compat.checks.client_run import STRICT
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.scenarios.staged import StagedServer

__all__ = [
    "Scenario",
    "control",
    "has_scenario",
    "scenario",
    "scenario_of",
    "scenarios",
    "stimulus",
]

S = TypeVar("S", bound="type[ReferenceServer] | type[ReferenceEndpoint]")


class Scenario(Struct, frozen=True):
    """One scenario: the server that a client meets in it.

    Args:
        id: Id of the requirement that it is for, or the name of a control.
        server: The server: of each connection one of its own, made with the revision.
        is_exact: True if the rules for clients read its transcripts: the server speaks its
            revision and no other.
        endpoint: Its endpoint over HTTP.
        needs_process: True if the server does something with its process.
    """

    id: str
    server: type[ReferenceServer]
    is_exact: bool = True
    endpoint: type[ReferenceEndpoint] = ReferenceEndpoint
    needs_process: bool = False

    def applies(self, revision: str, transport: str, *, with_processes: bool = True) -> bool:
        """Return True if the scenario is for a revision, a transport and a kind of stage."""
        if self.needs_process and not with_processes:
            return False
        row = requirements().get(self.id)
        if row is None:
            return True
        return revision in row.revisions and row.transport in ("any", transport)


_scenarios: dict[str, Scenario] = {STRICT: Scenario(STRICT, StagedServer)}


def scenario(
    id: str,
    judge: Judge,
    *,
    is_exact: bool = True,
    at_opening: bool = False,
    needs_process: bool = False,
) -> Callable[[S], S]:
    """Register the class of a server, or of its HTTP endpoint, as the scenario of a requirement.

    Its judge is the check.

    Args:
        id: Id of the requirement.
        judge: Says whether the client kept it; see `mcp_gen.compat.checks.check.judged`.
        is_exact: False if the server leaves its revision, so that no rule reads the transcript.
        at_opening: True if it says why a client does not speak the revision.
        needs_process: True if the server does something with its process: the scenario is run
            where the client starts a command alone.
    """

    def register(server: S) -> S:
        judged(id, judge, at_opening=at_opening)
        _add(_scenario(id, server, is_exact, needs_process))
        return server

    return register


def stimulus(id: str) -> Callable[[S], S]:
    """Register the class of a server, or of its endpoint, that gives a rule something to judge.

    Args:
        id: Id of the requirement of the rule.
    """

    def register(server: S) -> S:
        if id not in requirements():
            raise LookupError(f"no requirement {id!r}")
        _add(_scenario(id, server))
        return server

    return register


def control(name: str, server: type[ReferenceServer] | type[ReferenceEndpoint]) -> None:
    """Register a server whose runs are compared with those of scenarios.

    Args:
        name: Name of the control, such as `refuses:call_tool`.
        server: The class of the server, or of its endpoint.
    """
    _add(_scenario(name, server))


def scenarios(revision: str, transport: str, *, with_processes: bool = True) -> list[Scenario]:
    """Return the scenarios of a revision and a transport, the strict one first.

    Args:
        revision: The revision.
        transport: The transport.
        with_processes: False leaves out those whose server does something with its process.
    """
    checks()  # loads the rooms in which scenarios stand
    return [
        one
        for one in _scenarios.values()
        if one.applies(revision, transport, with_processes=with_processes)
    ]


def scenario_of(id: str) -> Scenario:
    """Return a scenario by its id.

    Raises:
        LookupError: there is none.
    """
    checks()
    found = _scenarios.get(id)
    if found is None:
        raise LookupError(f"no scenario {id!r}; there are: {', '.join(sorted(_scenarios))}")
    return found


def has_scenario(id: str) -> bool:
    """Return True if there is a scenario of an id."""
    return id in _scenarios


def _scenario(
    id: str,
    kind: type[ReferenceServer] | type[ReferenceEndpoint],
    is_exact: bool = True,
    needs_process: bool = False,
) -> Scenario:
    if issubclass(kind, ReferenceServer):
        return Scenario(id, kind, is_exact, needs_process=needs_process)
    return Scenario(id, StagedServer, is_exact, kind)


def _add(scenario: Scenario) -> None:
    if scenario.id in _scenarios:
        raise ValueError(f"two scenarios are called {scenario.id!r}")
    _scenarios[scenario.id] = scenario

"""Examination of one peer of the zoo at one revision."""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any
from zlib import crc32

from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.checks.judging import CHECK_FAILED
from mcp_gen.compat.checks.trial import ToolCall
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.transcript import Transport
from mcp_gen.compat.wire.openers import CommandOpener, HttpOpener, MemoryOpener
from mcp_gen.compat.zoo.zoo import zoo

__all__ = [
    "CALLS",
    "area_of",
    "areas_to_try",
    "examined",
    "is_in_turn",
    "revisions_to_try",
    "transport_of",
]

CALLS = (
    ToolCall("echo", {"text": "hello"}),
    ToolCall("count", {"steps": 3}),
    ToolCall("content", {}),
    ToolCall("structured", {}),
    ToolCall("fail", {}),
    ToolCall("ask_user", {}),
    ToolCall("ask_model", {}),
    ToolCall("ask_roots", {}),
    ToolCall("slow", {}),
    ToolCall("slow_failing", {"how": "tool"}),
    ToolCall("slow_failing", {"how": "protocol"}),
    ToolCall("slow_asking", {}),
)
"""Calls of the reference server's tools that end by themselves."""

HTTP_CALLS = tuple(one for one in CALLS if one.name in ("echo", "count", "ask_user", "ask_model"))
"""Calls that peers of the rules of HTTP need: each message costs a multiple of one in memory."""

TASK_CALLS = (ToolCall("slow", {}), ToolCall("slow_asking", {}))
"""Calls that peers of the rules of tasks over HTTP need, too."""

TIMEOUT_S = 1.0
"""Longest wait for an answer: in one process, where it is there at once, if it comes at all."""
STDIO_TIMEOUT_S = 2.0
"""Longest wait for an answer of a program that has started."""
HTTP_TIMEOUT_S = 2.0
"""Longest wait for an answer over loopback."""


def revisions_to_try(requirement: str, *, full: bool = False) -> tuple[str, ...]:
    """Return one revision of a requirement, another for each requirement; all of them if `full`."""
    revisions = requirements()[requirement].revisions
    if full:
        return tuple(revisions)
    return (revisions[crc32(requirement.encode()) % len(revisions)],)


ALWAYS = frozenset({"base", "lifecycle"})
"""Areas that each server is examined in."""
ONE_OF = 24
"""Of so many other areas, or scenarios of other areas, a peer is examined in one."""


def areas_to_try(requirement: str, *, full: bool = False) -> frozenset[str]:
    """Return the areas that the servers of a requirement are examined in; empty for all.

    These are its own, those that are about each message, those of its transport, and some of the
    others, which are others for each requirement. All of them if `full`.
    """
    if full:
        return frozenset()
    own = {area_of(requirement), *ALWAYS}
    if transport_of(requirement) != "memory":
        own |= {transport_of(requirement), "transports"}
    every = {area_of(check.requirement.id) for check in checks().values() if check.side == "server"}
    return frozenset(one for one in every if one in own or is_in_turn(requirement, one))


def is_in_turn(requirement: str, other: str) -> bool:
    """Return True for one of `ONE_OF` others, which are others for each requirement.

    Args:
        requirement: The requirement.
        other: The name of an area, or of a scenario.
    """
    return crc32(f"{requirement} {other}".encode()) % ONE_OF == 0


LONG_CALLS = {"cancellation": (ToolCall("wait", {}),)}
"""Calls that do not end by themselves, by the area of the requirements that need them."""


async def examined(
    peer: type[Any],
    revision: str,
    requirement: str = "",
    *,
    transport: Transport | None = None,
    areas: Collection[str] = (),
    slower: float = 1.0,
) -> Report:
    """Return the report on a server of the zoo.

    Args:
        peer: Class of the server, or of its HTTP endpoint.
        revision: The revision.
        requirement: Requirement that it breaks or keeps, which may need a transport or a long call.
        transport: The transport; None: that of the requirement. An endpoint is examined over HTTP.
        areas: Areas to examine; empty for all. As a program, it is that of the requirement alone.
        slower: Factor of every longest wait, for a machine that is busy.
    """
    over = transport or transport_of(requirement)
    if over == "stdio":
        report = await examined_over_stdio(peer, revision, requirement, slower)
    else:
        # Some peers keep the state of all their connections on the class.
        own: type[Any] = type(peer.__name__, (peer,), {})
        if over == "http" or issubclass(peer, ReferenceEndpoint):
            calls = HTTP_CALLS if requirement else CALLS
            calls += TASK_CALLS if area_of(requirement) == "tasks" else ()
            report = await examined_over_http(own, revision, calls, areas, slower)
        else:
            report = await examined_in_memory(own, revision, requirement, areas, slower)
    assert [one for one in report.outcomes if one.why.startswith(CHECK_FAILED)] == []
    return report


async def examined_in_memory(
    peer: type[Any],
    revision: str,
    requirement: str = "",
    areas: Collection[str] = (),
    slower: float = 1.0,
) -> Report:
    """Return the report on a server of the zoo in this process."""
    opens = MemoryOpener(lambda spoken: DuplexServing(peer(revision)))
    try:
        return await examine_server(
            opens,
            target=peer.__name__,
            transport="memory",
            revisions=(revision,),
            calls=(*CALLS, *long_calls(requirement)),
            timeout_s=TIMEOUT_S * slower,
            areas=areas,
        )
    finally:
        await opens.aclose()


async def examined_over_http(
    peer: type[Any],
    revision: str,
    calls: tuple[ToolCall, ...] = CALLS,
    areas: Collection[str] = (),
    slower: float = 1.0,
) -> Report:
    """Return the report on a server of the zoo over HTTP."""
    if issubclass(peer, ReferenceEndpoint):
        endpoint = peer(lambda: ReferenceServer(revision), revision)
    else:
        endpoint = ReferenceEndpoint(lambda: peer(revision), revision)
    async with endpoint.serving() as url:
        return await examine_server(
            HttpOpener(url),
            target=peer.__name__,
            transport="http",
            revisions=(revision,),
            calls=calls,
            timeout_s=HTTP_TIMEOUT_S * slower,
            areas=areas,
        )


async def examined_over_stdio(
    peer: type[Any], revision: str, requirement: str = "", slower: float = 1.0
) -> Report:
    """Return the report on a server of the zoo, or the reference server, as a program.

    Each connection is a process of its own: the area of the requirement alone is examined, beside
    that of stdio.

    Args:
        peer: Class of the server.
        revision: The revision.
        requirement: Requirement that it breaks or keeps.
        slower: Factor of every longest wait.
    """
    return await examine_server(
        CommandOpener([sys.executable, *program_of(peer), "--revision", revision], env="inherit"),
        target=peer.__name__,
        transport="stdio",
        revisions=(revision,),
        calls=(*CALLS[:2], *long_calls(requirement)),
        timeout_s=STDIO_TIMEOUT_S * slower,
        areas={"stdio", area_of(requirement)},
    )


def long_calls(requirement: str) -> tuple[ToolCall, ...]:
    """Return the calls that do not end by themselves, of which the peers of a requirement need."""
    return LONG_CALLS.get(area_of(requirement), ())


def area_of(requirement: str) -> str:
    """Return the area of a requirement, as the part before the first colon."""
    return requirement.partition(":")[0]


def program_of(peer: type[Any]) -> list[str]:
    """Return the words of the command line that run a server as a program."""
    for id, pair in zoo().items():
        for which, one in (("--breaks", pair.breaks), ("--keeps", pair.keeps)):
            if one is peer:
                return ["-m", "mcp_gen.compat.zoo", id, which]
    assert peer is ReferenceServer
    return ["-m", "mcp_gen.compat.scenarios.program"]


def transport_of(requirement: str) -> Transport:
    """Return the transport that the peers of a requirement are examined over."""
    row = requirements().get(requirement)
    return "memory" if row is None or row.transport == "any" else row.transport

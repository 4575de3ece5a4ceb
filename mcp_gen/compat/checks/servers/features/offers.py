"""Checks that hold for tools, prompts and resources alike."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import objects
from mcp_gen.compat.views.exchanges import LISTS, listings
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.compat.views.exchanges import ListWalk, RequestExchange

__all__ = [
    "answers_its_list",
    "fails_with_known_codes",
    "is_refused",
    "lists_alike_on_all_connections",
    "undeclared",
]


async def undeclared(trial: ServerTrial, capability: str, *names: str) -> None:
    """Report lists with items that a server gives without having declared that it has them."""
    client = await trial.main()
    if capability in client.server_capabilities:
        return
    for name in names:
        reply = await client.ask(name)
        if objects((reply.result or {}).get(LISTS[name][0])):
            trial.broken(
                f"a server that has {capability} declares `{capability}`",
                "it lists some, and does not declare it",
                *(client.opening.events if client.opening else ()),
                *reply.events,
                where="$.result",
            )


async def answers_its_list(trial: ServerTrial, capability: str, name: str) -> None:
    """Report a list that a server has declared and does not give."""
    client = await trial.having(capability)
    reply = await client.ask(name)
    if reply.result is None:
        error = reply.error or {}
        came = f"error {error.get('code')}: {error.get('message')}" if error else "no answer"
        trial.broken(f"a server that declares `{capability}` lists them", came, *reply.events)


async def lists_alike_on_all_connections(trial: ServerTrial, capability: str, name: str) -> None:
    """Report a list that depends on the connection, or on what was asked on it before.

    Each of two connections is asked twice: a list that has changed for all in between is none
    that depends on the connection.
    """
    used = await trial.having(capability)
    fresh = await trial.fresh()
    walks = [await _walk(one, name) for one in (used, fresh, used, fresh)]
    first, other, again, other_again = (sorted(walk.ids()) for walk in walks)
    if first == again and other == other_again and first != other:
        here, there = Counter(first), Counter(other)
        alone = sorted((here - there) + (there - here))
        trial.broken(
            "a list depends neither on the connection nor on what was asked before",
            f"{alone[0]!r} is listed on one connection alone",
            *walks[2].pages[0].events,
            *walks[3].pages[0].events,
        )


async def _walk(client: ReferenceClient, name: str) -> ListWalk:
    await client.list_all(name)
    walks = [walk for walk in listings(client.transcript, name) if walk.is_whole]
    if not walks:
        raise NotTested("the list was not answered")
    return walks[-1]


def is_refused(trial: ServerTrial, reply: ServerReply, expected: str, code: int) -> None:
    """Report a request that is not answered with an error of a code.

    Args:
        trial: The check.
        reply: The reply to the request.
        expected: What the rule demands, in one sentence.
        code: The code.

    Raises:
        NotTested: the server has not answered, or has asked for input first.
    """
    reply = trial.answered(reply)
    if reply.error is not None:
        if reply.code != code:
            came = f"error {reply.code}: {reply.error.get('message')}"
            trial.broken(expected, came, *reply.events, where="$.error.code")
        return
    if (reply.result or {}).get("resultType") == "input_required":
        raise NotTested("the server asks for input first")
    trial.broken(expected, "a result", *reply.events, where="$.result")


def fails_with_known_codes(
    transcript: Transcript, found: Found, exchange: RequestExchange, expected: str
) -> None:
    """Report an error whose code is none of the protocol.

    Args:
        transcript: The transcript.
        found: Takes the finding.
        exchange: A request for something that is there.
        expected: What the rule demands, in one sentence.
    """
    error = exchange.error
    if error is None:
        return
    found.saw()
    profile = profile_of(transcript.revision)
    code = error.get("code")
    if code not in (*asdict(profile.errors).values(), profile.resource_not_found_code):
        found.broken(
            expected,
            f"error {code}: {error.get('message')}",
            *exchange.events,
            where=f"{exchange.path}.error.code",
        )

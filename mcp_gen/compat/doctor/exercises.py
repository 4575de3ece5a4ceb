"""Exercises: ordinary use of a server, whose transcripts the rules judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.dialogue import Dialogue
from mcp_gen.compat.checks.trial import CalledTool
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.client import plain_capabilities

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import TriedServer

__all__ = ["EXERCISES"]

LISTS = ("list_tools", "list_prompts", "list_resources", "list_resource_templates")


async def list_everything(server: TriedServer) -> None:
    """List what the server declares, and read each resource."""
    client = await server.main()
    declared = client.server_capabilities
    for name, capability in (
        ("list_tools", "tools"),
        ("list_prompts", "prompts"),
        ("list_resources", "resources"),
        ("list_resource_templates", "resources"),
    ):
        if capability in declared:
            await client.list_all(name)


async def call_tools(server: TriedServer) -> None:
    """Call the tools that the user has named, and ask to hear of progress and to see the log."""
    client = await server.main()
    profile = client.profile
    if "logging" in client.server_capabilities and profile.log_level_key is None:
        await client.ask("set_level", {"level": "debug"})
    level = {profile.log_level_key: "debug"} if profile.log_level_key else {}
    for number, call in enumerate(server.calls):
        token = {profile.progress_token_key: f"progress-{number}"}
        start = len(client.transcript.events)
        reply = await client.call_through("call_tool", call.params, meta={**token, **level})
        dialogue = Dialogue(client.transcript)
        asked = [one.asked for one in dialogue.questions() if one.event.number >= start]
        kinds = frozenset(str(one.get("method")) for one in asked)
        rounds = sum(one.asked.event.number >= start for one in dialogue.by_client)
        server.called.append(CalledTool(call, reply, kinds, rounds))
        if reply.timed_out and profile.cancelled is not None:
            await client.tell(profile.cancelled, {"requestId": member(reply.asked.message, "id")})


async def call_tools_declaring_less(server: TriedServer) -> None:
    """Call the tools as a client that declares nothing, and as one that declares no parts."""
    ended = [one.call for one in server.called if not one.reply.timed_out]
    if not ended:
        return
    declared: list[Json] = [{}]
    if server.profile.declares_sampling_parts:
        declared.append(plain_capabilities(server.profile))
    for capabilities in declared:
        client = server.client(capabilities=capabilities)
        try:
            await client.open()
            for call in ended:
                await client.call_through("call_tool", call.params)
        finally:
            await client.aclose()


EXERCISES: tuple[Callable[[TriedServer], Awaitable[None]], ...] = (
    list_everything,
    call_tools,
    call_tools_declaring_less,
)

"""Exercises: ordinary use of a server, whose transcripts the rules judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.dialogue import Dialogue
from mcp_gen.compat.checks.trial import CalledTool
from mcp_gen.compat.doctor.task_exercise import follow_tasks
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
    for name, capability, kind in (
        ("list_tools", "tools", "tools"),
        ("list_prompts", "prompts", "prompts"),
        ("list_resources", "resources", "resources"),
        ("list_resource_templates", "resources", "resource templates"),
    ):
        if capability in declared:
            server.listed[kind] = await client.list_all(name)


async def ask_with_other_ids(server: TriedServer) -> None:
    """Ask for what every server answers, with ids that are texts and look like numbers."""
    client = await server.main()
    harmless = client.profile.ping or client.profile.discover
    assert harmless is not None
    for id in ("7001", "7002.0", 0):
        await client.ask(harmless, id=id)


async def call_tools(server: TriedServer) -> None:
    """Call the tools that the user has named, and ask to hear of progress and to see the log."""
    client = await server.main()
    profile = client.profile
    if "logging" in client.server_capabilities and profile.log_level_key is None:
        await client.ask("set_level", {"level": "debug"})
    level = {profile.log_level_key: "debug"} if profile.log_level_key else {}
    for number, call in enumerate(server.calls):
        server.waits.begin(f"call of {call.name}")
        token = {profile.progress_token_key: f"progress-{number}"}
        start = len(client.transcript.events)
        reply = await client.call_through("call_tool", call.params, meta={**token, **level})
        asked = Dialogue(client.transcript).questions()
        kinds = {str(one.asked.get("method")) for one in asked if one.event.number >= start}
        server.called.append(CalledTool(call, reply, frozenset(kinds)))
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
                server.waits.begin(f"call of {call.name}")
                await client.call_through("call_tool", call.params)
        finally:
            await client.aclose()


EXERCISES: tuple[Callable[[TriedServer], Awaitable[None]], ...] = (
    ask_with_other_ids,
    list_everything,
    call_tools,
    call_tools_declaring_less,
    follow_tasks,
)

"""Exercises: ordinary use of a server, whose transcripts the rules judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

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


async def ask_with_other_ids(server: TriedServer) -> None:
    """Ask for what every server answers, with ids that are texts and look like numbers."""
    client = await server.main()
    harmless = client.profile.ping or client.profile.discover
    assert harmless is not None
    for id in ("7001", "7002.0", 0):
        await client.ask(harmless, id=id)


async def call_tools(server: TriedServer) -> None:
    """Call the tools that the user has named, with a progress token."""
    client = await server.main()
    for number, call in enumerate(server.calls):
        token = {client.profile.progress_token_key: f"progress-{number}"}
        params: dict[str, Any] = {"name": call.name, "arguments": call.arguments}
        await client.ask("call_tool", params, meta=token)


async def call_tools_as_one_who_can_do_nothing(server: TriedServer) -> None:
    """Call the tools that the user has named, as a client that has declared nothing."""
    if not server.calls:
        return
    client = server.client(capabilities={})
    try:
        await client.open()
        for call in server.calls:
            await client.ask("call_tool", {"name": call.name, "arguments": call.arguments})
    finally:
        await client.aclose()


EXERCISES: tuple[Callable[[TriedServer], Awaitable[None]], ...] = (
    ask_with_other_ids,
    list_everything,
    call_tools,
    call_tools_as_one_who_can_do_nothing,
)

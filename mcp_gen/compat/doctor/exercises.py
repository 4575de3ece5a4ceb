"""Exercises: ordinary use of a server, whose transcripts the rules judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.doctor.task_exercise import follow_tasks

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
    """ReferenceCall the tools that the user has named, with a progress token."""
    client = await server.main()
    for number, call in enumerate(server.calls):
        token = {client.profile.progress_token_key: f"progress-{number}"}
        params: dict[str, Any] = {"name": call.name, "arguments": call.arguments}
        await client.ask("call_tool", params, meta=token)


EXERCISES: tuple[Callable[[TriedServer], Awaitable[None]], ...] = (
    list_everything,
    call_tools,
    follow_tasks,
)

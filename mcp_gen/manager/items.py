"""Tools, prompts and resources of a manager, and the status of its servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_gen.manager.managed_server import ManagedServer
    from mcp_gen.manager.supervisor import State
    from mcp_wire import latest

__all__ = [
    "ManagedPrompt",
    "ManagedResource",
    "ManagedResourceTemplate",
    "ManagedTool",
    "ServerStatus",
    "status_of",
]


class ManagedTool(NamedTuple):
    """Tool of one of the servers."""

    name: str
    """Qualified name: `mcp__server__tool`."""
    server: str
    """Name of the server, as it was given to the manager."""
    tool: latest.Tool
    """The tool as the server describes it."""


class ManagedPrompt(NamedTuple):
    """Prompt of one of the servers."""

    name: str
    """Qualified name: `mcp__server__prompt`."""
    server: str
    prompt: latest.Prompt


class ManagedResource(NamedTuple):
    """Resource of one of the servers; several servers may list the same URI."""

    server: str
    resource: latest.Resource


class ManagedResourceTemplate(NamedTuple):
    """Resource template of one of the servers."""

    server: str
    template: latest.ResourceTemplate


class ServerStatus(NamedTuple):
    """Status of one server."""

    name: str
    part: str
    """The server's part of qualified names: `mcp__part__tool`."""
    state: State
    """`connecting`, `connected`, `reconnecting`, `failed` (no further attempts) or `disabled`."""
    revision: str | None
    """The protocol revision of the last connection."""
    error: Exception | None
    """The error that keeps the server from being connected."""
    attempt: int
    """The number of the next or last attempt to reconnect; 0 if none was needed."""


def status_of(server: ManagedServer) -> ServerStatus:
    """Return the status of a server."""
    session = server.session
    return ServerStatus(
        server.name,
        server.part,
        server.state,
        None if session is None else session.revision,
        server.error,
        server.attempt,
    )

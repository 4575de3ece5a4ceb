"""What a manager gives: what its servers offer, and how it stands with them."""

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
    """A tool of one of the servers."""

    name: str
    """Its name among all: `mcp__server__tool`."""
    server: str
    """The server's name, as it was given to the manager."""
    tool: latest.Tool
    """The tool as its server has it."""


class ManagedPrompt(NamedTuple):
    """A prompt of one of the servers."""

    name: str
    """Its name among all: `mcp__server__prompt`."""
    server: str
    prompt: latest.Prompt


class ManagedResource(NamedTuple):
    """A resource of one of the servers; several may have resources of one URI."""

    server: str
    resource: latest.Resource


class ManagedResourceTemplate(NamedTuple):
    """A resource template of one of the servers."""

    server: str
    template: latest.ResourceTemplate


class ServerStatus(NamedTuple):
    """How it stands with one server."""

    name: str
    part: str
    """What stands for it in the names of its tools: `mcp__part__tool`."""
    state: State
    """`connecting`, `connected`, `reconnecting`, `failed` (it is not tried again by itself) or
    `disabled`."""
    revision: str | None
    """The protocol revision that was last spoken."""
    error: Exception | None
    """Why it is not connected."""
    attempt: int
    """Which attempt to reconnect comes next, or was the last; 0 if none was needed."""


def status_of(server: ManagedServer) -> ServerStatus:
    """How it stands with a server."""
    session = server.session
    return ServerStatus(
        server.name,
        server.part,
        server.state,
        None if session is None else session.revision,
        server.error,
        server.attempt,
    )

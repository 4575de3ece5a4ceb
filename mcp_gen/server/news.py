"""What has changed, told to every client that wants to know: sessions and listening requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.server import Server
    from mcp_gen.session.kernel import Kernel

__all__ = ["News", "NewsHandlers"]


class News:
    """Tells clients what has changed: `server.notify`."""

    def __init__(self, kernel: Kernel[Any]) -> None:
        self._kernel = kernel

    def tool_list_changed(self) -> None:
        """The list of tools is another one."""

    def prompt_list_changed(self) -> None:
        """The list of prompts is another one."""

    def resource_list_changed(self) -> None:
        """The list of resources is another one."""

    def resource_updated(self, uri: str) -> None:
        """A resource reads differently now: told to those who have subscribed to it."""

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """The user is done at a URL: told to the session that was asked, if its revision says so.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        from mcp_gen.server.asking import tell_complete

        await tell_complete(self._kernel, elicitation_id)


class NewsHandlers(ServerHandlers[Any]):
    """What a server answers to those who want to hear of changes."""

    server: Server

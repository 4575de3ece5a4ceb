"""Channel to a server for one request without a timeout, such as `subscriptions/listen`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from msgspec import Raw

    from mcp_gen.session.duplex.connection import DuplexConnection
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress

__all__ = ["ListenChannel"]

P = TypeVar("P")
R = TypeVar("R")


class ListenChannel:
    """Channel to the server for one request without a timeout.

    Args:
        connection: Connection for everything else.
        listen: Sends the request and waits for its result, given the method and the params.
    """

    def __init__(
        self,
        connection: DuplexConnection,
        listen: Callable[[Method[Any, Any], Any], Awaitable[Raw]],
    ) -> None:
        self._listen = listen
        self.notify = connection.notify
        self.drain = connection.drain
        self.answers = connection.answers
        self.task = connection.task

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        """Send the request; its timeout and progress are left out."""
        return await self._listen(method, params)

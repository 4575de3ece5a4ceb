"""A transport that writes every message to a log, around any other."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from mcp_gen.core.transport.protocols import Posts

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex, Lines, PostedRequest, Receiver
    from mcp_wire.profile import Profile

__all__ = ["logged"]

SHOWN_BYTES = 2_000


@overload
def logged(
    transport: Posts,
    log: logging.Logger | None = None,
    *,
    level: int = logging.DEBUG,
    shown_bytes: int = SHOWN_BYTES,
) -> Posts: ...


@overload
def logged(
    transport: Duplex,
    log: logging.Logger | None = None,
    *,
    level: int = logging.DEBUG,
    shown_bytes: int = SHOWN_BYTES,
) -> Duplex: ...


def logged(
    transport: Duplex | Posts,
    log: logging.Logger | None = None,
    *,
    level: int = logging.DEBUG,
    shown_bytes: int = SHOWN_BYTES,
) -> Duplex | Posts:
    """The same transport, which writes what it sends and receives to `log` (`mcp_gen.wire`).

    Of a long message the first `shown_bytes` are shown. Messages hold whatever the peers say to
    each other, which may be nobody else's business; HTTP headers are not shown.
    """
    log = log or logging.getLogger("mcp_gen.wire")
    if isinstance(transport, Posts):
        return _LoggedPosts(transport, log, level, shown_bytes)
    return _Logged(transport, log, level, shown_bytes)


class _Logged:
    def __init__(
        self, inner: Duplex | Posts, log: logging.Logger, level: int, shown_bytes: int
    ) -> None:
        self._duplex = inner
        self._log = log
        self._level = level
        self._shown_bytes = shown_bytes
        self._receiver: Receiver | None = None

    async def start(self, receiver: Receiver) -> None:
        """Start the inner transport."""
        self._receiver = receiver
        await self._duplex.start(self)

    @property
    def principal(self) -> Any:
        """Whom the inner transport speaks for."""
        return getattr(self._duplex, "principal", None)

    def send(self, message: bytes) -> None:
        """Write it down, and send it."""
        self._write("->", message)
        self._duplex.send(message)

    async def drain(self) -> None:
        """Wait for the inner transport."""
        await self._duplex.drain()

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._duplex.aclose()

    def receive(self, message: bytes) -> None:
        """Write it down, and hand it on."""
        self._write("<-", message)
        if self._receiver is not None:
            self._receiver.receive(message)

    def oversized(self, limit_bytes: int) -> None:
        """Write it down, and hand it on."""
        self._log.log(self._level, "<- a message of more than %d bytes", limit_bytes)
        if self._receiver is not None:
            self._receiver.oversized(limit_bytes)

    def closed(self, error: BaseException | None) -> None:
        """Write it down, and hand it on."""
        self._log.log(self._level, "closed: %s", error or "in order")
        if self._receiver is not None:
            self._receiver.closed(error)

    def _write(self, way: str, message: bytes) -> None:
        if not self._log.isEnabledFor(self._level):
            return
        shown = message[: self._shown_bytes].decode("utf-8", "replace")
        more = len(message) - self._shown_bytes
        rest = f" … and {more} bytes more" if more > 0 else ""
        self._log.log(self._level, "%s %s%s", way, shown, rest)


class _LoggedPosts(_Logged):
    def __init__(self, inner: Posts, log: logging.Logger, level: int, shown_bytes: int) -> None:
        super().__init__(inner, log, level, shown_bytes)
        self._posts = inner

    def use_revision(self, profile: Profile, *, agreed: bool) -> None:
        """Tell the inner transport."""
        self._posts.use_revision(profile, agreed=agreed)

    async def listen(self) -> None:
        """Let the inner transport listen."""
        await self._posts.listen()

    def post(self, message: bytes, headers: Lines, asked: PostedRequest) -> Callable[[], Any]:
        """Write it down, and send it."""
        self._write("->", message)
        return self._posts.post(message, headers, asked)

    def post_notification(self, message: bytes, headers: Lines) -> None:
        """Write it down, and send it."""
        self._write("->", message)
        self._posts.post_notification(message, headers)

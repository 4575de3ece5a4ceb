"""Wraps a transport and logs every message."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from mcp_gen.core.transport.protocols import Paced, Posts

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex, Lines, PostedRequest, Receiver
    from mcp_wire.profile import Profile

__all__ = ["logged"]

SHOWN_BYTES = 2_000
"""Default of the number of bytes of a message that are logged."""


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
    """Wrap a transport so that it logs every message that it sends and receives.

    Messages may contain private data of the peers. HTTP headers are not logged.

    Args:
        transport: The transport to wrap.
        log: The logger; None for the logger `mcp_gen.wire`.
        level: The log level of the messages.
        shown_bytes: Maximum number of bytes of a message that are logged.

    Returns:
        A transport of the same kind.
    """
    log = log or logging.getLogger("mcp_gen.wire")
    if isinstance(transport, Posts):
        return _LoggedPosts(transport, log, level, shown_bytes)
    return _Logged(transport, log, level, shown_bytes)


class _Logged:
    def __init__(
        self, inner: Duplex | Posts, log: logging.Logger, level: int, shown_bytes: int
    ) -> None:
        self._inner = inner
        self._log = log
        self._level = level
        self._shown_bytes = shown_bytes
        self._receiver: Receiver | None = None

    async def start(self, receiver: Receiver) -> None:
        """Start the inner transport."""
        self._receiver = receiver
        await self._inner.start(self)

    @property
    def principal(self) -> Any:
        """The principal of the inner transport; None if it has none."""
        return getattr(self._inner, "principal", None)

    def send(self, message: bytes) -> None:
        """Log and send a message."""
        self._log_message("->", message)
        self._inner.send(message)

    async def drain(self) -> None:
        """Wait until the inner transport has drained."""
        await self._inner.drain()

    @property
    def full(self) -> bool:
        """True if notifications should wait; see `Paced`."""
        return isinstance(self._inner, Paced) and self._inner.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when more can be sent; see `Paced`."""
        if isinstance(self._inner, Paced):
            self._inner.call_when_writable(act)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    def receive(self, message: bytes) -> None:
        """Log and deliver a message."""
        self._log_message("<-", message)
        if self._receiver is not None:
            self._receiver.receive(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool | None:
        """Log and report an oversized message."""
        if beginning or not end:
            self._log.log(self._level, "<- a message of more than %d bytes", limit_bytes)
        receiver = self._receiver
        return None if receiver is None else receiver.oversized(limit_bytes, beginning, end)

    def closed(self, error: BaseException | None) -> None:
        """Log and report the end of the connection."""
        self._log.log(self._level, "closed: %s", error or "in order")
        if self._receiver is not None:
            self._receiver.closed(error)

    def _log_message(self, arrow: str, message: bytes) -> None:
        if not self._log.isEnabledFor(self._level):
            return
        shown = message[: self._shown_bytes].decode("utf-8", "replace")
        more = len(message) - self._shown_bytes
        remainder = f" … and {more} bytes more" if more > 0 else ""
        self._log.log(self._level, "%s %s%s", arrow, shown, remainder)


class _LoggedPosts(_Logged):
    def __init__(self, inner: Posts, log: logging.Logger, level: int, shown_bytes: int) -> None:
        super().__init__(inner, log, level, shown_bytes)
        self._posts = inner

    def use_revision(self, profile: Profile, *, agreed: bool) -> None:
        """Set the revision of the inner transport."""
        self._posts.use_revision(profile, agreed=agreed)

    async def listen(self) -> None:
        """Open the notification stream of the inner transport."""
        await self._posts.listen()

    def post(self, message: bytes, headers: Lines, asked: PostedRequest) -> Callable[[], Any]:
        """Log and send a request."""
        self._log_message("->", message)
        return self._posts.post(message, headers, asked)

    def post_notification(self, message: bytes, headers: Lines) -> None:
        """Log and send a notification."""
        self._log_message("->", message)
        self._posts.post_notification(message, headers)

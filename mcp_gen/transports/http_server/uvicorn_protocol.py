"""Protocol classes for uvicorn that limit request heads: pass one as `http=`.

uvicorn offers no limit for httptools, and none on time. What is used beyond the interface of
`asyncio.Protocol` is the `cycle` and the `transport` of its classes; `tests/hostile/work` pins it.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import h11
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_gen.transports.http_server.connection_limits import ConnectionLimits, ConnectionWatch

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.server import ServerState
else:
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:  # httptools is not installed
        HttpToolsProtocol = asyncio.Protocol

__all__ = ["DefaultProtocol", "limited_protocol"]

LINGER_S = 1.0
"""Seconds in which what a refused client still sends is read: else it might miss the refusal."""
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_RESPONSE = (
    b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b"
)
_TOO_LARGE = b"431 Request Header Fields Too Large"
_TOO_LATE = b"408 Request Timeout"

_watches: WeakKeyDictionary[ServerState, ConnectionWatch] = WeakKeyDictionary()
"""Watch over the connections of each running server."""


class _LimitedHead(asyncio.Protocol, ABC):
    """Mixin for the protocol classes of uvicorn: limits the heads of requests.

    A head is a request line with its headers.
    """

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    max_bytes: ClassVar[int] = limits.max_header_bytes

    if TYPE_CHECKING:  # attributes of uvicorn's classes
        transport: asyncio.Transport
        loop: asyncio.AbstractEventLoop
        server_state: ServerState
        cycle: Any

    _head_bytes = 0
    """Bytes of an incomplete head."""
    _last_bytes = b""
    """The last bytes of an incomplete head, where its end may begin."""
    _awaits_head = True
    """True if the watch waits for the end of a head."""
    _refused = False

    @abstractmethod
    def _is_at_head(self) -> bool:
        """Return True if the next byte belongs to the head of a request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection."""
        super().connection_made(transport)
        self._watch.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._watch.closed(self)
        super().connection_lost(exc)

    @property
    def _watch(self) -> ConnectionWatch:
        watch = _watches.get(self.server_state)
        if watch is None:
            watch = _watches[self.server_state] = ConnectionWatch(self.limits, self.loop)
        return watch

    def data_received(self, data: bytes) -> None:
        """Handle bytes of the client, unless a head would be too long."""
        if not self._is_at_head():
            self._receive_body(data)
            return
        size_bytes = self._head_bytes + len(data)
        if size_bytes > self.max_bytes and not self._ends_in_time(data):
            self._refuse(_TOO_LARGE)
            return
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._head_bytes = 0
            if self._awaits_head:
                self._awaits_head = False
                self._last_bytes = b""
                self._watch.head_ended(self)
        elif not self._refused:
            self._head_bytes = size_bytes
            self._last_bytes = (self._last_bytes + data)[-3:]
            if not self._awaits_head:
                self._awaits_head = True
                self._watch.await_head(self)

    def _receive_body(self, data: bytes) -> None:
        if not self._refused:
            super().data_received(data)

    def _ends_in_time(self, data: bytes) -> bool:
        """Return True if the head ends within its limit."""
        if self._refused:
            return False
        known = len(self._last_bytes)
        room = self.limits.max_header_bytes - self._head_bytes
        return _END_OF_HEAD.search((self._last_bytes + data)[: known + room]) is not None

    def _refuse(self, status: bytes) -> None:
        if self._refused:
            return
        self._refused = True
        self._head_bytes = self.limits.max_header_bytes  # all that follows is too much
        self._watch.head_ended(self)
        if not self.is_idle or self.transport.is_closing():
            # Another response is on its way: nothing can be said.
            self.transport.abort()
            return
        text = status[4:]
        self.transport.write(_RESPONSE % (status, len(text), text))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(LINGER_S, self.transport.close)

    # --- for the watch ---

    @property
    def is_idle(self) -> bool:
        """True if no request is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    @property
    def unsent_bytes(self) -> int | None:
        """Bytes that are left to send on a connection that is closing; None if it is open."""
        return self.transport.get_write_buffer_size() if self.transport.is_closing() else None

    def refuse_late(self) -> None:
        """Close the connection, with 408 if a head has begun."""
        if self._has_become_websocket():
            return
        if self._head_bytes:
            self._refuse(_TOO_LATE)
        else:
            self.transport.close()

    def drop(self) -> None:
        """Close the connection at once."""
        if not self._has_become_websocket():
            self.transport.abort()

    def _has_become_websocket(self) -> bool:
        return self.transport.get_protocol() is not self


class _LimitedH11(_LimitedHead, H11Protocol):
    """h11, which limits chunks and trailers itself."""

    def _is_at_head(self) -> bool:
        return self.conn.their_state is h11.IDLE


class _LimitedHttpTools(_LimitedHead, HttpToolsProtocol):
    """httptools, which limits nothing itself."""

    _at_head = True
    _added_bytes = 0
    """Bytes that a body has beside its content, less those that it may have."""

    def _is_at_head(self) -> bool:
        return self._at_head

    def _receive_body(self, data: bytes) -> None:
        self._added_bytes += len(data)
        super()._receive_body(data)
        if self._added_bytes > self.limits.max_header_bytes and not self._at_head:
            self._refuse(_TOO_LARGE)

    # --- called by the parser, often: `super()` would cost more ---

    def on_headers_complete(self) -> None:
        self._at_head = False
        self._added_bytes = 0
        HttpToolsProtocol.on_headers_complete(self)

    def on_body(self, body: bytes) -> None:
        self._added_bytes -= 2 * len(body)
        HttpToolsProtocol.on_body(self, body)

    def on_message_complete(self) -> None:
        self._at_head = True
        HttpToolsProtocol.on_message_complete(self)


def limited_protocol(
    limits: ConnectionLimits, parser: Literal["auto", "h11", "httptools"] = "auto"
) -> type[asyncio.Protocol]:
    """Return a protocol class for `uvicorn.Config(http=...)` that limits request heads.

        limits = ConnectionLimits()
        uvicorn.run(app, http=limited_protocol(limits), timeout_keep_alive=5)

    Args:
        limits: The limits. `idle_timeout_s` is uvicorn's own `timeout_keep_alive`.
        parser: The HTTP parser; `"auto"` is httptools where it is installed, else h11.
    """
    is_h11 = issubclass(AutoHTTPProtocol, H11Protocol) if parser == "auto" else parser == "h11"
    kind: type[_LimitedHead] = _LimitedH11 if is_h11 else _LimitedHttpTools
    made: Any = type(
        kind.__name__.strip("_"), (kind,), {"limits": limits, "max_bytes": limits.max_header_bytes}
    )
    limited: type[asyncio.Protocol] = made
    return limited


DefaultProtocol = limited_protocol(ConnectionLimits())
"""Protocol class with the default limits, for `uvicorn.Config(http="module:DefaultProtocol")`."""

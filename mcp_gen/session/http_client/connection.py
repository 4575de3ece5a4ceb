"""The client's side of HTTP: each request goes its own way, and a session can begin anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import UNSET

from mcp_gen.core import envelope
from mcp_gen.core.errors import McpError, SessionExpired
from mcp_gen.session.duplex.client import ClientConnection
from mcp_gen.session.http_client.headers import MirroredHeaders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import Raw

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.errors import McpGenError
    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_gen.core.transport.protocols import Duplex, Lines, Posts
    from mcp_gen.session.duplex.connection import MessageSender, Waiter
    from mcp_wire.method import Method, Route
    from mcp_wire.profile import Profile

__all__ = ["HttpClientConnection"]

P = TypeVar("P")
R = TypeVar("R")

_settling: ContextVar[bool] = ContextVar("settling", default=False)
"""Whether this is part of beginning anew: a server that ends that session, too, is given up."""

_log = logging.getLogger("mcp_gen.client")

MAX_PAGES = 100
"""How many pages of tools are read to find what one of them wants."""


class HttpClientConnection(ClientConnection):
    """Drives the conversation with one HTTP server."""

    tells_calls_apart = True

    def __init__(self, transport: Posts, *given: Any, **named: Any) -> None:
        # It is a duplex, and more.
        super().__init__(cast("Duplex", transport), *given, **named)
        self._http = cast("Posts", self._transport)
        self._mirror: MirroredHeaders | None = None
        self._beginning = asyncio.Lock()
        self._begun = 0

    def attempt(self, profile: Profile) -> None:
        """What is sent until something is agreed on is of this revision."""
        self._http.use_revision(profile, agreed=False)
        self._mirror = MirroredHeaders(profile)

    def agree(
        self,
        profile: Profile,
        routes: Callable[[], Mapping[str, Route[Any]]],
        extensions: Extensions | None = None,
    ) -> None:
        """Settle the revision; see `ClientLink.agree`."""
        super().agree(profile, routes, extensions)
        self._http.use_revision(profile, agreed=True)
        self._mirror = MirroredHeaders(
            profile, extensions.name_params(profile) if extensions else {}
        )

    async def opened(self, session: Any) -> None:
        """The session is open: hear what the server has to say."""
        await self._http.listen()
        await super().opened(session)

    async def request(self, method: Method[P, R], params: P, **options: Any) -> Raw:
        """Send a request and return its result undecoded; see `Link.request`.

        A session that the server has ended begins anew: a request that it refuses for that has not
        been looked at, so it is sent again.
        """
        begun = self._begun
        try:
            result = await super().request(method, params, **options)
        except SessionExpired as lost:
            await self._begin_again(begun, lost)
            result = await super().request(method, params, **options)
        except McpError as error:
            mirror = self._mirror
            if mirror is None or not mirror.mismatched(error.code, params):
                raise
            # The tool wants more headers than is known here: its schema says which.
            await self._learn_tools(mirror, params)
            result = await super().request(method, params, **options)
        return result if self._mirror is None else self._mirror.listed(method, result)

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification."""
        headers: Lines = () if self._mirror is None else self._mirror.headers(method.name, params)
        self._http.post_notification(envelope.notification(method.name, params), headers)

    def _message_sender(self, method: Method[Any, Any], params: Any) -> MessageSender:
        headers: Lines = () if self._mirror is None else self._mirror.headers(method.name, params)
        return _Posting(self._http, headers)

    def _send_request(
        self, way: MessageSender, id: RequestId, waiter: Waiter, message: bytes
    ) -> None:
        if isinstance(way, _Posting):
            way.begin(message, waiter, lambda: self._connection.forget_request(id))
        else:
            super()._send_request(way, id, waiter, message)

    async def _send_cancelled(
        self, method: Method[Any, Any], id: RequestId, way: MessageSender, asked: Any
    ) -> None:
        if isinstance(way, _Posting):
            way.drop()
        if self.profile is not None and self.profile.stream_drop_cancels:
            return
        await super()._send_cancelled(method, id, self._http, asked)

    async def _begin_again(self, begun: int, lost: SessionExpired) -> None:
        if self.begin_again is None or _settling.get():
            raise lost
        async with self._beginning:
            # Several requests may find out at once.
            if begun != self._begun:
                return
            settle_in = await self.begin_again()
            self._begun += 1
            # What comes on that stream belongs to no request, this one included.
            await self.loop.create_task(self._http.listen(), context=Context())
        token = _settling.set(True)
        try:
            await settle_in()
        except McpError as error:
            _log.warning("the new session is not as the one before: %s", error)
        finally:
            _settling.reset(token)

    async def _learn_tools(self, mirror: MirroredHeaders, params: Any) -> None:
        method = mirror.lists
        if method is None:
            return
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            asks = method.params(cursor=cursor, meta=params.meta)
            result = await super().request(method, asks)
            page = method.decode_result(mirror.listed(method, result))
            cursor = page.next_cursor
            if cursor is None:
                return


class _Posting:
    """One request on its way: whoever waits for it, and what drops it."""

    __slots__ = ("_drop", "_forget", "_headers", "_http", "_waiter")

    def __init__(self, http: Posts, headers: Lines) -> None:
        self._http = http
        self._headers = headers
        self._waiter: Waiter | None = None
        self._forget: Callable[[], None] | None = None
        self._drop: Callable[[], Any] | None = None

    def begin(self, message: bytes, waiter: Waiter, forget: Callable[[], None]) -> None:
        self._waiter = waiter
        self._forget = forget
        self._drop = self._http.post(message, self._headers, self)

    def send(self, message: bytes) -> None:
        self._http.send(message)

    def drop(self) -> None:
        if self._drop is not None:
            self._drop()

    @property
    def finished(self) -> bool:
        return self._waiter is None or self._waiter.done()

    def fail(self, error: McpGenError) -> None:
        if self._waiter is not None and not self._waiter.done():
            if self._forget is not None:
                self._forget()
            self._waiter.set_exception(error)

"""The server's side of HTTP: a message and its headers in, a status and a body or a stream out.

At a revision with a request lifecycle nothing outlives the exchange; at one with a handshake the
session does, under the id that the answer to the handshake carries. Only such sessions are told of
to hooks; what a client tells is, with and without a session.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import UNSET, Raw

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.errors import InvalidRequest, McpError, ParseError, ProtocolError
from mcp_gen.core.stores.events import EventStore, MemoryEventStore
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.duplex.server import GRACE_S
from mcp_gen.session.http_server.per_request import HeaderParams, PerRequestExchange
from mcp_gen.session.http_server.persistence import SessionPersistence
from mcp_gen.session.http_server.session import HttpSession
from mcp_gen.session.http_server.sessions import SessionLimits, Sessions
from mcp_gen.session.http_server.stateless import StatelessExchange
from mcp_gen.session.messages.gather import wait_or_cancel

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable

    from mcp_gen.core.envelope import Envelope, RequestId
    from mcp_gen.core.stores.sessions import SessionStore
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.kernel.binding import RevisionBinding
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["HttpExchange", "SessionServers"]

C = TypeVar("C")

LAST_EVENT_ID = b"last-event-id"
RETRY_AFTER_S = 60
_ONLY_POSTS = Answer(405, headers={"Allow": "POST"})
_BATCH = b"["


class UnknownSession(Exception):
    """There is no such session for this client, or none at all at this address."""


def refusal(status: int, id: RequestId | None, error: McpError | ProtocolError) -> Answer:
    """An answer that is an error."""
    if id is None and isinstance(error, InvalidRequest | ParseError):
        id = error.request_id
    return Answer(status, envelope.failure(id, envelope.error_object(error)))


def refusal_of(
    error: McpError | ProtocolError | UnknownSession, id: RequestId | None = None
) -> Answer:
    """Return the answer that refuses a message for this error."""
    if isinstance(error, UnknownSession):
        return refusal(404, id, InvalidRequest(str(error)))
    return refusal(400, id, error)


class SessionServers(Protocol):
    """Gives each session a server of its own."""

    async def open(self) -> Kernel[Any]:
        """A server for one more session."""
        ...

    async def aclose(self, kernel: Kernel[Any]) -> None:
        """The session of that server has ended, or has not begun."""
        ...


class HttpExchange(Generic[C]):
    """Answers for one server, at every revision that speaks HTTP this way.

    `stateless` serves revisions with a handshake without sessions: every request stands alone,
    clients can be asked nothing, and there are no streams but those of requests. `header_params`
    says which arguments of a request its headers repeat. With `servers` each session has its own.
    """

    def __init__(
        self,
        kernel: Kernel[C],
        *,
        stateless: bool = False,
        event_store: EventStore | None = None,
        session_store: SessionStore | None = None,
        limits: SessionLimits = SessionLimits(),  # noqa: B008
        header_params: HeaderParams | None = None,
        servers: SessionServers | None = None,
    ) -> None:
        self._kernel = kernel
        self._events = event_store or MemoryEventStore()
        self._keeper = SessionPersistence(session_store) if session_store is not None else None
        self._sessions = Sessions(limits)
        self._notices = kernel.notification_receiver()
        """What belongs to no session: what is told outside of one, and the ends of them all."""
        self._requests = PerRequestExchange(kernel, self._notices, header_params)
        self._without_sessions = StatelessExchange(kernel, self._notices) if stateless else None
        self._servers = servers
        self._closing = False
        profiles = [mcp_wire.profile(revision) for revision in kernel.revisions]
        self._version_headers = _lower(p.version_header for p in profiles)
        # A body that names another than these headers is told so, wherever it is read.
        self._profile_by_header: dict[bytes | None, str] = {
            one.encode(): one for one in kernel.per_request
        }
        self._agreed = {one.encode() for one in kernel.handshakes}
        self._session_headers = _lower(p.session_header for p in profiles)
        has_sessions = bool(self._session_headers) and not stateless
        self.http_methods = ("GET", "POST", "DELETE") if has_sessions else ("POST",)

    # --- the three HTTP methods ---

    def answer(self, message: bytes, headers: Headers, reply: Reply) -> Awaitable[Answer | None]:
        """Answer one message. Nothing is raised but cancellation.

        A notification is accepted before its hooks run. A request that its client cancels, in its
        session, is answered with nothing: 202, like a message that asks for no answer.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
        """
        # Not async itself: one coroutine less for most requests to go through.
        stated = _first(headers, self._version_headers)
        named = self._profile_by_header.get(stated)
        if named is None or message.startswith(_BATCH):
            return self._answer(message, headers, reply)
        try:
            frame = envelope.read(message)
        except ProtocolError as error:
            return _at_once(refusal(400, None, error))
        return self._requests.answer(self._kernel.binding(named), frame, headers, reply)

    async def _answer(self, message: bytes, headers: Headers, reply: Reply) -> Answer | None:
        id: RequestId | None = None
        try:
            if self._keeper is not None:
                await self._resume_session(self._keeper, headers, reply)
            if not message.startswith(b"{") and message.lstrip().startswith(_BATCH):
                return await self._answer_batch(message, headers, reply)
            frame = envelope.read(message)
            # An answer that is refused has not been a request: the error has no id.
            if frame.method is not UNSET and isinstance(frame.id, int | str):
                id = frame.id
            binding = self._binding(headers, frame.params)
            if binding.profile.handshake is None:
                answering = self._requests.answer(binding, frame, headers, reply)
                # What is open for long is not to keep its message.
                del message, frame
                return await answering
            if self._without_sessions is not None:
                return await self._without_sessions.answer(binding, frame, headers, reply)
            return await self._in_session(binding.profile, frame, headers, reply)
        except (McpError, ProtocolError, UnknownSession) as error:
            return refusal_of(error, id)

    async def _answer_batch(self, message: bytes, headers: Headers, reply: Reply) -> Answer | None:
        """Answer an array: one has a place in sessions alone.

        Raises:
            McpError, InvalidRequest: it has none here.
            NotHere: the headers name one that there is not.
        """
        if self._binding(headers, envelope.NOTHING).profile.handshake is not None:
            session = self._session(headers, reply)
            if session is not None:
                return await session.answer(session.events(message), headers, reply)
        raise InvalidRequest("expected one message, got an array")

    async def listen(self, headers: Headers, reply: Reply) -> Answer | None:
        """Send what belongs to no request, or go on where a stream broke off."""
        try:
            session = await self._required_session(headers, reply)
            if session is None:
                return _ONLY_POSTS
            if self._closing:
                return busy("the server is about to end")
            last = headers.raw.get(LAST_EVENT_ID, b"").decode("latin-1").strip()
            if not await session.listen_on(reply, last):
                raise InvalidRequest("the header `Last-Event-ID` names no event that is known here")
        except (McpError, ProtocolError, UnknownSession) as error:
            return refusal_of(error)
        return None

    async def end_session(self, headers: Headers, reply: Reply) -> Answer:
        """End the session that the headers name; what is open in it goes on to its answer."""
        try:
            session = await self._required_session(headers, reply)
        except (McpError, ProtocolError, UnknownSession) as error:
            return refusal_of(error)
        if session is None:
            return _ONLY_POSTS
        session.end()
        return Answer(204)

    # --- the end ---

    async def drain(self) -> None:
        """End what would go on for ever: streams for what belongs to no request."""
        self._closing = True
        for session in self._sessions.all():
            session.streams.end_listening()
        self._requests.end_open_streams()

    async def aclose(self) -> None:
        """End all sessions; what is being answered gets a moment."""
        await self.drain()
        sessions = self._sessions.all()

        def requests() -> list[asyncio.Task[Any]]:
            return [task for session in sessions for task in session.requests()]

        await wait_or_cancel(requests, GRACE_S)
        for session in sessions:
            session.end(goes_on=self._keeper is not None)
        await wait_or_cancel(self._notices.tasks, GRACE_S)
        self._closing = False

    # --- sessions ---

    async def _in_session(
        self, profile: Profile, frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer | None:
        session = self._session(headers, reply)
        if session is None:
            if profile.session_header is None:
                # A client that finds nothing here tries the older transport.
                raise UnknownSession(f"{profile.revision} is not spoken at this address")
            handshake = profile.handshake
            if handshake is None or frame.method != handshake.name or frame.id is UNSET:
                raise self._session_missing()
            if self._closing or not self._sessions.has_room():
                id = frame.id if isinstance(frame.id, int | str) else None
                return busy("there are too many sessions; try again later", id)
            session = await self._new_session(reply.principal)
            reply.headers = {str(profile.session_header): session.id}
            try:
                return await session.answer((session.event(frame),), headers, reply)
            finally:
                if session.caller is None:
                    await self._dispose(session)
        return await session.answer((session.event(frame),), headers, reply)

    async def _resume_session(
        self, keeper: SessionPersistence, headers: Headers, reply: Reply
    ) -> None:
        """Open the session that the headers name, if it is kept and not open here."""
        name = _first(headers, self._session_headers)
        id = name.decode("latin-1").strip() if name is not None else ""
        if not id or id in self._sessions or self._closing:
            return
        stored = await keeper.load(id)
        if stored is None or stored.principal != reply.principal:
            return
        if time.time() - stored.began_at >= self._sessions.limits.lifetime_s:
            await keeper.forget(id)
            return
        session = await self._new_session(stored.principal, id)
        # Another request may have opened it meanwhile.
        fits = id not in self._sessions and self._sessions.has_room()
        if not (fits and session.restore(stored)):
            await self._dispose(session)

    async def _new_session(self, principal: str | None, id: str | None = None) -> HttpSession:
        servers = self._servers
        kernel = self._kernel if servers is None else await servers.open()
        begun, end, keeper = self._session_opened, self._end, self._keeper
        return HttpSession(kernel, self._events, principal, begun, end, keeper, id)

    async def _dispose(self, session: HttpSession) -> None:
        """Close the server that a session has for itself."""
        if self._servers is not None:
            await self._servers.aclose(session.kernel)

    def _session_opened(self, session: HttpSession) -> None:
        """A session has been agreed on."""
        self._sessions.add(session)
        session.kernel.sessions.add(session)
        if session.kernel.hooks.opened:
            session.listen(session.kernel.hooks.tell_opened(session))

    def _end(self, session: HttpSession) -> None:
        """A session has ended."""
        self._sessions.remove(session)
        if not session.resumed:
            self._events.forget(session.id)
        self._notices.run(self._session_closed(session))

    async def _session_closed(self, session: HttpSession) -> None:
        session.kernel.sessions.discard(session)
        if self._keeper is not None and not session.resumed:
            await self._keeper.forget(session.id)
        # What else hooks were told of the session comes before its end.
        await wait_or_cancel(session.hooks, GRACE_S)
        await session.kernel.hooks.tell_closed(session)
        session.release()
        await self._dispose(session)

    async def _required_session(self, headers: Headers, reply: Reply) -> HttpSession | None:
        """Return the session of a GET or DELETE; None where the revision has no sessions.

        Raises:
            McpError, InvalidRequest: the headers name none.
            NotHere: there is none of that id, for this client.
        """
        if self._binding(headers, envelope.NOTHING).profile.handshake is None:
            return None
        if self._keeper is not None:
            await self._resume_session(self._keeper, headers, reply)
        session = self._session(headers, reply)
        if session is None:
            raise self._session_missing()
        return session

    def _session(self, headers: Headers, reply: Reply) -> HttpSession | None:
        """The session that the headers name; None if they name none.

        Raises:
            NotHere: there is none of that id, for this client.
        """
        id = _first(headers, self._session_headers)
        if id is None:
            return None
        session = self._sessions.find(id.decode("latin-1").strip(), reply.principal)
        if session is None:
            raise UnknownSession("no such session: it has ended, or never was")
        return session

    def _session_missing(self) -> InvalidRequest:
        name = next(filter(None, map(_session_header, reversed(self._kernel.handshakes))), None)
        return InvalidRequest(f"expected the header `{name}`")

    # --- the revision ---

    def _binding(self, headers: Headers, params: Raw) -> RevisionBinding[C]:
        """This server at the revision of a message: one that it names itself, or with a handshake.

        Raises:
            McpError: the headers name one that is not offered.
        """
        stated = _first(headers, self._version_headers)
        named = self._profile_by_header.get(stated)
        if named is not None:
            return self._kernel.binding(named)
        binding = self._kernel.binding_for_request(None, params)
        if stated is None or stated in self._agreed or binding.profile.handshake is None:
            return binding
        return self._kernel.binding_for_header(stated.decode("latin-1").strip())


async def _at_once(answer: Answer) -> Answer:
    return answer


def busy(why: str, id: RequestId | None = None) -> Answer:
    """The answer of a server that could do it at another time."""
    error = envelope.ErrorObject(ProtocolError.code, why)
    return Answer(503, envelope.failure(id, error), {"Retry-After": str(RETRY_AFTER_S)})


def _session_header(revision: str) -> str | None:
    return mcp_wire.profile(revision).session_header


def _first(headers: Headers, names: tuple[bytes, ...]) -> bytes | None:
    raw = headers.raw
    for name in names:
        found = raw.get(name)
        if found is not None:
            return found
    return None


def _lower(names: Any) -> tuple[bytes, ...]:
    return tuple({name.lower().encode(): None for name in names if name})

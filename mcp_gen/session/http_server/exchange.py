"""HTTP server end: routes each POST, GET and DELETE to the lifecycle of its revision.

Without a handshake nothing outlives the exchange. With one the session does, under the id in the
response to `initialize`. Session hooks run for such sessions only; notification hooks always run.
"""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import UNSET, Raw

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.envelope import TooComplex
from mcp_gen.core.errors import InvalidRequest, McpError, ProtocolError
from mcp_gen.core.loose_json import NOTHING
from mcp_gen.core.stores.events import EventStore, MemoryEventStore
from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.duplex.server import GRACE_S
from mcp_gen.session.http_server.first_steps import FirstSteps
from mcp_gen.session.http_server.header_check import first_header, header_names
from mcp_gen.session.http_server.per_request import HeaderParams, PerRequestExchange
from mcp_gen.session.http_server.persistence import SessionPersistence
from mcp_gen.session.http_server.refusals import (
    ENDING,
    ENDS,
    ENDS_S,
    UnknownSession,
    busy,
    refusal_of,
    request_id_of,
)
from mcp_gen.session.http_server.session import HttpSession
from mcp_gen.session.http_server.sessions import SessionLimits, Sessions, key_thumbprint_of
from mcp_gen.session.http_server.stateless import StatelessExchange
from mcp_gen.session.kernel.errors import cut_off
from mcp_gen.session.messages.gather import wait_or_cancel

if TYPE_CHECKING:
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
SHARED_HOOKS = 10
"""Clients without a session, all together, may have as many hooks running as so many clients."""
MAX_SESSION_ID = 256
"""Characters of a session id that is looked up in the session store; ours have far less."""
REOPEN_MS = (500, 1500)
"""Range of the milliseconds after which clients open their streams again when this process ends.

Each stream gets its own number, so that all clients do not come at once.
"""
_ONLY_POSTS = Answer(405, headers={"Allow": "POST"})
_BATCH = b"["


class SessionServers(Protocol):
    """Opens a server for each session."""

    async def open(self) -> Kernel[Any]:
        """Return a server for a new session."""
        ...

    async def aclose(self, kernel: Kernel[Any]) -> None:
        """Close the server of a session that has ended, or that was not opened."""
        ...


class HttpExchange(Generic[C]):
    """HTTP endpoint of one server, at all revisions with Streamable HTTP.

    Args:
        kernel: Server that answers the requests.
        stateless: True serves revisions with a handshake without sessions: each request stands
            alone, no requests can be sent to clients, and only POSTs have SSE streams.
        event_store: Store of sent events, for resumable streams; None keeps them in memory.
        session_store: Store from which another process can continue a session; None keeps none.
        limits: Limits on the number and the duration of sessions.
        header_params: Returns the tool arguments that HTTP headers repeat.
        servers: Opens a server for each session; None serves all sessions with `kernel`.
    """

    def __init__(
        self,
        kernel: Kernel[C],
        *,
        stateless: bool = False,
        event_store: EventStore | None = None,
        session_store: SessionStore | None = None,
        limits: SessionLimits = SessionLimits(),
        header_params: HeaderParams | None = None,
        servers: SessionServers | None = None,
    ) -> None:
        self._kernel = kernel
        self._max_values = kernel.limits.peer.max_values
        self._events = event_store or MemoryEventStore()
        self._persistence = SessionPersistence(session_store) if session_store is not None else None
        self._finds_sessions = session_store is not None
        """True if a session that is not open here may be found in a store."""
        self._sessions = Sessions(limits)
        self._notifications = kernel.notification_receiver(SHARED_HOOKS)
        """Receiver of notifications without a session; it also runs the end of each session."""
        self._per_request = PerRequestExchange(kernel, self._notifications, header_params)
        self._stateless = StatelessExchange(kernel, self._notifications) if stateless else None
        self._servers = servers
        self._first_steps: FirstSteps | None = None
        self._closing = False
        profiles = [mcp_wire.profile(revision) for revision in kernel.revisions]
        self._version_headers = header_names(p.version_header for p in profiles)
        # A body that names another revision than the header is refused when it is decoded.
        self._profile_by_header: dict[bytes | None, str] = {
            one.encode(): one for one in kernel.per_request
        }
        self._handshakes = {None, *(one.encode() for one in kernel.handshakes)}
        """Values of the version header at revisions with a handshake; None without the header."""
        self._session_headers = header_names(p.session_header for p in profiles)
        has_sessions = bool(self._session_headers) and not stateless
        self.http_methods = ("GET", "POST", "DELETE") if has_sessions else ("POST",)

    # --- the three HTTP methods ---

    def answer(self, message: bytes, headers: Headers, reply: Reply) -> Awaitable[Answer | None]:
        """Answer one POST. Nothing is raised but a cancellation after the client disconnected.

        A notification is accepted (202) before its hooks run. A request that its client cancels in
        its session gets 202 without a body. A request whose task is cancelled while its client
        waits, as by an HTTP server that ends, is answered with an error.

        Args:
            message: Body of the POST: a JSON-RPC message, or a batch if the revision allows it.
            headers: HTTP headers of the POST.
            reply: HTTP response, for messages that are sent before the answer.

        Returns:
            The answer; None if an SSE stream on `reply` has carried it.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
        """
        # Not async, and `first_header` inlined: most requests save a coroutine and a call.
        stated: bytes | None = None
        for header in self._version_headers:
            stated = headers.raw.get(header)
            if stated is not None:
                break
        named = self._profile_by_header.get(stated)
        if named is None or message.startswith(_BATCH):
            return self._answer(message, stated, headers, reply)
        try:
            frame = envelope.read(message, self._max_values)
        except ProtocolError as error:
            return _completed(refusal_of(error))
        return self._per_request.answer(self._kernel.bindings[named], frame, headers, reply, named)

    async def _answer(
        self, message: bytes, stated: bytes | None, headers: Headers, reply: Reply
    ) -> Answer | None:
        id: RequestId | None = None
        try:
            if self._finds_sessions:
                try:
                    await self._find_stored(headers, reply)
                except StoreDown:
                    id = request_id_of(message)
                    raise
            if not message.startswith(b"{") and message.lstrip().startswith(_BATCH):
                return await self._answer_batch(message, stated, headers, reply)
            frame = envelope.read(message, self._max_values)
            # Only the error for a request has an id, not that for a response.
            if frame.method is not UNSET and isinstance(frame.id, int | str):
                id = frame.id
            if stated in self._handshakes and not self._kernel.names_revision(frame.params):
                # The session's own revision holds, as in most requests with a session.
                for header in self._session_headers:
                    name = headers.raw.get(header)
                    if name and id is not None:
                        # All requests of this turn are read before one is handled.
                        await asyncio.sleep(0)
                    session = self._sessions.find(name, reply) if name else None
                    if session is not None:
                        return await session.answer(frame, headers, reply, self._first_steps)
            binding = self._binding_for(stated, frame.params)
            if binding.profile.handshake is None:
                answering = self._per_request.answer(binding, frame, headers, reply, None)
                # A request that stays open must not keep its message in memory.
                del message, frame
                return await answering
            if self._stateless is not None:
                return await self._stateless.answer(binding, frame, headers, reply)
            return await self._answer_in_session(binding.profile, frame, headers, reply)
        except TooComplex as error:
            if error.frame.method is UNSET:
                self._fail_request_to_client(error, headers, reply)
            return refusal_of(error)
        except (McpError, ProtocolError, UnknownSession) as error:
            return refusal_of(error, id)
        except StoreDown as error:
            return self._store_down(error, id)
        except asyncio.CancelledError:
            if reply.over:
                raise
            # The client is still there, so it is the server that ends.
            return ENDING if id is None else Answer(200, cut_off(id))

    def _store_down(self, error: StoreDown, id: RequestId | None) -> Answer:
        """Return the answer to a message that needs a store which cannot be reached."""
        raise error

    def _fail_request_to_client(self, error: TooComplex, headers: Headers, reply: Reply) -> None:
        """Fail the request that a response that is too complex belongs to."""
        name = first_header(headers, self._session_headers)
        session = self._sessions.find(name, reply) if name else None
        if session is not None:
            session.refuse_response(error)

    async def _answer_batch(
        self, message: bytes, stated: bytes | None, headers: Headers, reply: Reply
    ) -> Answer | None:
        """Answer a JSON-RPC batch; only revisions with a handshake have them.

        Raises:
            McpError, InvalidRequest: batches are not allowed here.
            UnknownSession: the headers name a session that does not exist.
        """
        if self._binding_for(stated, NOTHING).profile.handshake is not None:
            if self._stateless is not None:
                return await self._stateless.answer_batch(message, self._max_values, headers, reply)
            session = self._session(headers, reply)
            if session is not None:
                return await session.answer(message, headers, reply)
        raise InvalidRequest("expected one message, got an array")

    async def listen(self, headers: Headers, reply: Reply) -> Answer | None:
        """Answer a GET: open an SSE stream for server messages, or resume one (`Last-Event-ID`)."""
        try:
            session = await self._required_session(headers, reply)
            if session is None:
                return _ONLY_POSTS
            if self._closing:
                return ENDING
            last = headers.raw.get(LAST_EVENT_ID, b"").decode("latin-1").strip()
            if not await session.listen_on(reply, last):
                raise InvalidRequest("the header `Last-Event-ID` names no event that is known here")
        except (McpError, ProtocolError, UnknownSession) as error:
            return refusal_of(error)
        return None

    async def end_session(self, headers: Headers, reply: Reply) -> Answer:
        """Answer a DELETE: end the session; its requests in flight are still answered."""
        try:
            session = await self._required_session(headers, reply)
        except (McpError, ProtocolError, UnknownSession) as error:
            return refusal_of(error)
        if session is None:
            return _ONLY_POSTS
        await self._end(session)
        return Answer(204)

    async def _end(self, session: HttpSession) -> None:
        session.end()

    # --- shutdown ---

    async def drain(self) -> None:
        """End the streams that have no end of their own, and refuse new ones and new sessions."""
        self._closing = self._per_request.closing = True
        for session in self._sessions.all():
            session.streams.end_listening(random.randint(*REOPEN_MS))
        self._per_request.end_open_streams()

    async def aclose(self) -> None:
        """End all sessions; requests in flight get a grace period of 5 seconds.

        Those left are answered with an error. Requests that their POST's own task runs, and a
        disconnect cancels, are the caller's to end.
        """
        await self.drain()
        sessions = self._sessions.all()

        def requests() -> list[asyncio.Task[Any]]:
            tasks = [task for session in sessions for task in session.requests()]
            return tasks if self._stateless is None else [*tasks, *self._stateless.tasks]

        await wait_or_cancel(requests, GRACE_S)
        for session in sessions:
            session.end(goes_on=self._persistence is not None)
        await wait_or_cancel(self._notifications.tasks, GRACE_S)
        if self._first_steps is not None:
            self._first_steps.close()
            self._first_steps = None
        self._closing = self._per_request.closing = False

    # --- sessions ---

    async def _answer_in_session(
        self, profile: Profile, frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer | None:
        session = self._session(headers, reply)
        if session is None:
            if profile.session_header is None:
                # After a 404 a client tries the older transport (HTTP+SSE).
                raise UnknownSession(f"{profile.revision} is not spoken at this address")
            handshake = profile.handshake
            if handshake is None or frame.method != handshake.name or frame.id is UNSET:
                raise self._session_missing()
            # Taken before anything is awaited: many may come at once.
            id = frame.id if isinstance(frame.id, int | str) else None
            if self._closing:
                return busy(ENDS, id, ENDS_S)
            place = self._sessions.take_place()
            if place is None:
                return busy("there are too many sessions; try again later", id)
            try:
                return await self._begin_session(place, profile, frame, headers, reply)
            finally:
                self._sessions.give_back(place)
        return await session.answer(frame, headers, reply)

    async def _begin_session(
        self, place: object, profile: Profile, frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer | None:
        """Answer the handshake of a new session."""
        session = await self._new_session(reply.principal, place)
        key = key_thumbprint_of(reply)
        if key is not None:
            session.key_thumbprint = key
        reply.headers = {str(profile.session_header): session.id}
        try:
            return await self._answer_handshake(session, frame, headers, reply)
        finally:
            if session.origin is None:
                await self._drop(session)

    async def _answer_handshake(
        self, session: HttpSession, frame: Envelope, headers: Headers, reply: Reply
    ) -> Answer | None:
        return await session.answer(frame, headers, reply)

    def _named_session(self, headers: Headers) -> str:
        """Return the session id that the headers name; empty for none that can exist."""
        name = first_header(headers, self._session_headers)
        id = name.decode("latin-1").strip() if name is not None else ""
        return id if len(id) <= MAX_SESSION_ID else ""

    async def _find_stored(self, headers: Headers, reply: Reply) -> None:
        """Open the session that the headers name from the session store, if it is not open here."""
        id, persistence = self._named_session(headers), self._persistence
        if persistence is None or not id or id in self._sessions or self._closing:
            return
        stored = await persistence.load(id)
        if stored is None or stored.principal != reply.principal:
            return
        if stored.key_thumbprint not in (None, key_thumbprint_of(reply)):
            return
        if time.time() - stored.began_at >= self._sessions.limits.lifetime_s:
            await persistence.forget(id)
            return
        place = self._sessions.take_place()
        if place is None:
            return
        try:
            session = await self._new_session(stored.principal, place, id)
            # Another request may have opened it in the meantime.
            if id in self._sessions or not session.restore(stored):
                await self._dispose(session)
        finally:
            self._sessions.give_back(place)

    async def _new_session(
        self, principal: str | None, place: object, id: str | None = None
    ) -> HttpSession:
        servers = self._servers
        kernel = self._kernel if servers is None else await servers.open()
        opened, ended = partial(self._on_opened, place), self._on_ended
        persistence = self._persistence
        return HttpSession(kernel, self._events, principal, opened, ended, persistence, id)

    async def _drop(self, session: HttpSession) -> None:
        """Close the server of a session that was not opened, after hooks that still run there."""

        async def later() -> None:
            await wait_or_cancel(session.hooks, GRACE_S)
            await self._dispose(session)

        if session.hooks():
            self._notifications.run(later())
        else:
            await self._dispose(session)

    async def _dispose(self, session: HttpSession) -> None:
        """Close the server of a session, if the session has its own."""
        if self._servers is not None:
            await self._servers.aclose(session.kernel)

    def _on_opened(self, place: object, session: HttpSession) -> None:
        """Register a session after its handshake and start its hooks."""
        if self._first_steps is None or self._first_steps.loop is not session.loop:
            self._first_steps = FirstSteps(session.loop)
        self._sessions.add(session, place)
        session.kernel.sessions.add(session)
        if session.kernel.hooks.opened:
            session.listen(session.kernel.hooks.tell_opened(session))

    def _on_ended(self, session: HttpSession) -> None:
        """Unregister a session that has ended."""
        self._sessions.remove(session)
        if not session.resumed:
            self._forget_events(session)
        self._sessions.ending += 1
        self._notifications.run(self._session_closed(session))

    def _forget_events(self, session: HttpSession) -> None:
        self._events.forget(session.id)

    async def _session_closed(self, session: HttpSession) -> None:
        session.kernel.sessions.discard(session)
        try:
            if not session.resumed:
                await session.forget_stored()
            # Other hooks of the session run before those for its end.
            await wait_or_cancel(session.hooks, GRACE_S)
            await session.kernel.hooks.tell_closed(session)
            session.release()
            await self._dispose(session)
        finally:
            self._sessions.ending -= 1

    async def _required_session(self, headers: Headers, reply: Reply) -> HttpSession | None:
        """Return the session of a GET or DELETE; None if the revision has no sessions.

        Raises:
            McpError, InvalidRequest: the headers name no session.
            UnknownSession: the session does not exist or is another client's.
        """
        stated = first_header(headers, self._version_headers)
        if self._binding_for(stated, NOTHING).profile.handshake is None:
            return None
        if self._finds_sessions:
            await self._find_stored(headers, reply)
        session = self._session(headers, reply)
        if session is None:
            raise self._session_missing()
        return session

    def _session(self, headers: Headers, reply: Reply) -> HttpSession | None:
        """Return the session that the headers name; None if they name none.

        Raises:
            UnknownSession: the session does not exist or is another client's.
        """
        id = first_header(headers, self._session_headers)
        if id is None:
            return None
        session = self._sessions.find(id, reply)
        if session is None:
            raise UnknownSession("no such session: it has ended, or never was")
        return session

    def _session_missing(self) -> InvalidRequest:
        name = next(filter(None, map(_session_header, reversed(self._kernel.handshakes))), None)
        return InvalidRequest(f"expected the header `{name}`")

    # --- the revision ---

    def _binding_for(self, stated: bytes | None, params: Raw) -> RevisionBinding[C]:
        """Return the binding for a message: at a revision it names, or at one with a handshake.

        Args:
            stated: Value of the version header; None without the header.
            params: Params of the message.

        Raises:
            McpError: the headers name a revision that is not offered.
        """
        named = self._profile_by_header.get(stated)
        if named is not None:
            return self._kernel.bindings[named]
        binding = self._kernel.binding_for_request(None, params)
        if stated is None or stated in self._handshakes or binding.profile.handshake is None:
            return binding
        return self._kernel.binding_for_header(stated.decode("latin-1").strip())


async def _completed(answer: Answer) -> Answer:
    return answer


def _session_header(revision: str) -> str | None:
    return mcp_wire.profile(revision).session_header

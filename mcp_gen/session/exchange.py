"""The server's side of an HTTP exchange: a message and its headers in, a status and a body out.

At a revision with a request lifecycle nothing outlives the exchange; at one with a handshake the
session does, under the id that the answer to the handshake carries. Only such sessions are told of
to hooks; what a client tells is, with and without a session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import UNSET, Raw

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.connection import Noticed, still_open
from mcp_gen.core.errors import InvalidRequest, McpError, MethodNotFound, ProtocolError
from mcp_gen.core.revisions import listed
from mcp_gen.core.transport import Answer
from mcp_gen.session.http_session import HttpSession
from mcp_gen.session.kernel import settle
from mcp_gen.session.lifecycle import Caller, header_mismatch
from mcp_gen.session.outlet import ANSWER_ONLY, AnswerOnly
from mcp_gen.session.server import GRACE_S

if TYPE_CHECKING:
    from mcp_gen.core.envelope import Envelope, RequestId
    from mcp_gen.session.kernel import Binding, Call, Kernel
    from mcp_wire.profile import Profile

__all__ = ["HttpExchange"]

C = TypeVar("C")

MAX_SESSIONS = 10_000


class HttpExchange(Generic[C]):
    """Answers POSTs for one server, at every revision that speaks HTTP this way."""

    def __init__(self, kernel: Kernel[C]) -> None:
        self._kernel = kernel
        self._sessions: dict[str, HttpSession] = {}
        self._notices = kernel.notices()
        """What belongs to no session: what is told outside of one, and the ends of them all."""
        profiles = [mcp_wire.profile(revision) for revision in kernel.revisions]
        self._version_headers = {p.version_header.lower() for p in profiles if p.version_header}
        self._session_headers = {p.session_header.lower() for p in profiles if p.session_header}

    async def answer(self, message: bytes, headers: Mapping[str, str]) -> Answer:
        """Answer one message; header names are lower case. Nothing is raised but cancellation.

        A notification is accepted before its hooks run. A request that its client cancels, in its
        session, is answered with nothing: 202, like a message that asks for no answer.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
        """
        id: RequestId | None = None
        binding: Binding[C] | None = None
        try:
            frame = envelope.read(message)
            binding = self._binding(headers, frame.params)
            if frame.method is UNSET or frame.id is UNSET or not isinstance(frame.id, int | str):
                return self._take(binding, headers, frame)
            id = frame.id
            session = self._session(binding, headers, frame)
            call = self._prepare(binding, session, frame, id, headers)
        except (McpError, ProtocolError) as error:
            return self._refuse(id, error, binding)
        except LookupError as error:
            missing = InvalidRequest(str(error.args[0]))
            return Answer(404, envelope.failure(id, envelope.error_object(missing)))
        if session is None:
            return Answer(200, await self._kernel.run(call))
        body = await session.run(self._kernel, call)
        if body is None:
            # A cancelled request gets no answer: its POST ends as if it had asked for none.
            return Answer(202)
        begun = call.route.method is binding.profile.handshake and session.caller
        return Answer(200, body, self._keep(session, binding.profile) if begun else {})

    def _take(self, binding: Binding[C], headers: Mapping[str, str], frame: Envelope) -> Answer:
        """Take a notification or an answer: there is nothing to say, if it has a place here."""
        session = self._session(binding, headers, frame)
        if frame.method is not UNSET:
            noticed = Noticed(frame.method, frame.params)
            context = partial(self._hook_context, session, headers)
            if session is None:
                self._notices.take(noticed, binding.profile, context)
            else:
                cancelled = (binding.profile.cancelled, session.cancel)
                ready = (binding.profile.ready, session.ready)
                session.notices.take(noticed, binding.profile, context, cancelled, ready)
        return Answer(202)

    def _hook_context(
        self, session: HttpSession | None, headers: Mapping[str, str], profile: Profile
    ) -> C:
        return self._kernel.context(None, _caller(profile, session, headers), None)

    async def end_session(self, headers: Mapping[str, str]) -> Answer:
        """End the session that the headers name; what is open in it goes on to its answer."""
        found = self._sessions.pop(self._session_id(headers) or "", None)
        if found is None:
            return Answer(404)
        self._notices.listen(self._ended(found))
        return Answer(204)

    async def _ended(self, session: HttpSession) -> None:
        self._kernel.sessions.discard(session)
        # What else hooks were told of the session comes before its end.
        await settle(session.notices.tasks, GRACE_S)
        await self._kernel.hooks.tell_closed(session)

    # --- who asks, and at which revision ---

    def _binding(self, headers: Mapping[str, str], params: Raw) -> Binding[C]:
        binding = self._kernel.choose(None, params)
        if binding.profile.handshake is None:
            return binding
        stated = _first(headers, self._version_headers)
        if stated is not None and listed(stated, self._kernel.handshakes) is None:
            return self._kernel.stated(stated)
        session = self._sessions.get(self._session_id(headers) or "")
        if session and session.caller:
            return self._kernel.binding(session.caller.profile.revision)
        return binding

    def _session(
        self, binding: Binding[C], headers: Mapping[str, str], frame: Envelope
    ) -> HttpSession | None:
        profile = binding.profile
        if profile.handshake is None:
            return None
        id = self._session_id(headers)
        if id is None:
            if frame.method == profile.handshake.name:
                return HttpSession(self._kernel, self._kernel.notices())
            raise InvalidRequest(f"expected the header `{profile.session_header}`")
        if id not in self._sessions:
            raise LookupError("no such session: it has ended, or never was")
        return self._sessions[id]

    def _session_id(self, headers: Mapping[str, str]) -> str | None:
        return _first(headers, self._session_headers)

    def _prepare(
        self,
        binding: Binding[C],
        session: HttpSession | None,
        frame: Envelope,
        id: RequestId,
        headers: Mapping[str, str],
    ) -> Call[C]:
        if session:
            if id in session.in_flight:
                raise still_open(id)
            self._kernel.limits.make_room(len(session.in_flight))
        method = str(frame.method)
        caller = _caller(binding.profile, session, headers)
        if session is None:
            caller.stated_revision = self._stated(binding.profile, headers, method)
        call = self._kernel.prepare(binding, id, method, frame.params, caller)
        if session is None:
            self._agree_on_name(binding.profile, headers, call.params)
        return call

    # --- the headers repeat what the body says, so that others can route by them ---

    def _stated(self, profile: Profile, headers: Mapping[str, str], method: str) -> str | None:
        """The revision that the headers name; they must name the method too."""
        if profile.version_header is None:
            return None
        stated = headers.get(profile.version_header.lower())
        if stated is None:
            raise header_mismatch(
                profile,
                f"expected the header `{profile.version_header}`",
                {"supported": list(self._kernel.per_request)},
            )
        if profile.method_header and headers.get(profile.method_header.lower()) != method:
            raise header_mismatch(
                profile, f"expected the header `{profile.method_header}: {method}`"
            )
        return stated

    def _agree_on_name(self, profile: Profile, headers: Mapping[str, str], params: Any) -> None:
        wanted = getattr(params, "name", None) or getattr(params, "uri", None)
        if profile.name_header and wanted and headers.get(profile.name_header.lower()) != wanted:
            raise header_mismatch(profile, f"expected the header `{profile.name_header}: {wanted}`")

    # --- answers ---

    def _keep(self, session: HttpSession, profile: Profile) -> dict[str, str]:
        """Keep a session that has just begun, and tell its id."""
        if len(self._sessions) >= MAX_SESSIONS:
            # The oldest goes: dicts keep the order of insertion.
            oldest = self._sessions.pop(next(iter(self._sessions)))
            self._notices.listen(self._ended(oldest))
        self._sessions[session.id] = session
        self._kernel.sessions.add(session)
        if self._kernel.hooks.opened:
            session.notices.listen(self._kernel.hooks.tell_opened(session))
        return {profile.session_header or "": session.id}

    def _refuse(
        self,
        id: RequestId | None,
        error: McpError | ProtocolError,
        binding: Binding[C] | None,
    ) -> Answer:
        if id is None and isinstance(error, InvalidRequest):
            id = error.request_id
        body = envelope.failure(id, envelope.error_object(error))
        if binding is None:
            return Answer(400, body)
        if isinstance(error, MethodNotFound):
            return Answer(binding.profile.unknown_method_status, body)
        return Answer(400, body)


def _first(headers: Mapping[str, str], names: set[str]) -> str | None:
    return next((headers[name] for name in names if name in headers), None)


def _caller(profile: Profile, session: HttpSession | None, headers: Mapping[str, str]) -> Caller:
    """Who sent a message with these headers."""
    known = session.caller if session else None
    if known:
        caller = known.in_another_request()
    else:
        # What a request asks of its client ends its task; a session outlives its first one.
        outlet = ANSWER_ONLY if session else AnswerOnly(asyncio.current_task())
        caller = Caller(profile, outlet, session)
    caller.headers = headers
    return caller

"""The server's side of an HTTP exchange: a message and its headers in, a status and a body out.

At a revision with a request lifecycle nothing outlives the exchange; at one with a handshake the
session does, under the id that the answer to the handshake carries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import UNSET, Raw

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.errors import InvalidRequest, McpError, MethodNotFound, ProtocolError
from mcp_gen.core.revisions import listed
from mcp_gen.core.transport import Answer
from mcp_gen.session.lifecycle import Caller, header_mismatch
from mcp_gen.session.outlet import AnswerOnly
from mcp_gen.session.peer import Session

if TYPE_CHECKING:
    from mcp_gen.core.envelope import Envelope, RequestId
    from mcp_gen.session.kernel import Binding, Call, Kernel
    from mcp_wire.profile import Profile

__all__ = ["HttpExchange"]

C = TypeVar("C")

MAX_SESSIONS = 10_000
_ANSWER_ONLY = AnswerOnly()


class _Session(Session):
    """A client that has shaken hands over HTTP. It is the `session` of its callers."""

    @property
    def outlet(self) -> AnswerOnly:
        """There is no stream to the client yet."""
        return _ANSWER_ONLY

    def end(self) -> None:
        """Nothing is kept open for it."""


class HttpExchange(Generic[C]):
    """Answers POSTs for one server, at every revision that speaks HTTP this way."""

    def __init__(self, kernel: Kernel[C]) -> None:
        self._kernel = kernel
        self._sessions: dict[str, _Session] = {}
        profiles = [mcp_wire.profile(revision) for revision in kernel.revisions]
        self._version_headers = {p.version_header.lower() for p in profiles if p.version_header}
        self._session_headers = {p.session_header.lower() for p in profiles if p.session_header}

    async def answer(self, message: bytes, headers: Mapping[str, str]) -> Answer:
        """Answer one message; header names are lower case. Nothing is raised but cancellation."""
        id: RequestId | None = None
        binding: Binding[C] | None = None
        try:
            frame = envelope.read(message)
            if frame.method is UNSET or frame.id is UNSET or not isinstance(frame.id, int | str):
                return self._take(headers)
            id = frame.id
            binding = self._binding(headers, frame.params)
            session = self._session(binding, headers, frame)
            call = self._prepare(binding, session, frame, id, headers)
        except (McpError, ProtocolError) as error:
            return self._refuse(id, error, binding)
        except LookupError as error:
            missing = InvalidRequest(str(error.args[0]))
            return Answer(404, envelope.failure(id, envelope.error_object(missing)))
        body = await self._kernel.run(call)
        return Answer(200, body, self._kept(binding, session))

    def _take(self, headers: Mapping[str, str]) -> Answer:
        """Take a notification or an answer: there is nothing to say, unless its session is gone."""
        id = self._session_id(headers)
        gone = id is not None and id not in self._sessions
        stated = _first(headers, self._version_headers)
        # Where there are no sessions, their header means nothing.
        return Answer(404 if gone and listed(stated, self._kernel.per_request) is None else 202)

    async def end_session(self, headers: Mapping[str, str]) -> Answer:
        """End the session that the headers name."""
        found = self._sessions.pop(self._session_id(headers) or "", None)
        return Answer(204 if found else 404)

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
    ) -> _Session | None:
        profile = binding.profile
        if profile.handshake is None:
            return None
        id = self._session_id(headers)
        if id is None:
            if frame.method == profile.handshake.name:
                return _Session(self._kernel)
            raise InvalidRequest(f"expected the header `{profile.session_header}`")
        if id not in self._sessions:
            raise LookupError("no such session: it has ended, or never was")
        return self._sessions[id]

    def _session_id(self, headers: Mapping[str, str]) -> str | None:
        return _first(headers, self._session_headers)

    def _prepare(
        self,
        binding: Binding[C],
        session: _Session | None,
        frame: Envelope,
        id: RequestId,
        headers: Mapping[str, str],
    ) -> Call[C]:
        method = str(frame.method)
        known = session.caller if session else None
        if known:
            caller = known.in_another_request()
        else:
            # What a request asks of its client ends its task; a session outlives its first one.
            outlet = _ANSWER_ONLY if session else AnswerOnly(asyncio.current_task())
            caller = Caller(binding.profile, outlet, session)
        caller.headers = headers
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

    def _kept(self, binding: Binding[C], session: _Session | None) -> dict[str, str]:
        """Keep a session that has just begun, and tell its id."""
        if session is None or session.caller is None or session.id in self._sessions:
            return {}
        if len(self._sessions) >= MAX_SESSIONS:
            # The oldest goes: dicts keep the order of insertion.
            self._sessions.pop(next(iter(self._sessions)))
        self._sessions[session.id] = session
        return {binding.profile.session_header or "": session.id}

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

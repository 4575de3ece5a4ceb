"""Streamable HTTP client: each message is a POST, each response is JSON or an SSE stream.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import (
    HttpError,
    McpGenError,
    ProtocolError,
    SessionExpired,
)
from mcp_gen.core.revisions import with_handshake
from mcp_gen.transports.http_client.endpoint import (
    HeadersFrom,
    media_type,
    read_whole,
)
from mcp_gen.transports.http_client.listening import EVENTS, EventListener, is_response
from mcp_gen.transports.http_client.posting import PostingTransport
from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Lines, PostedRequest, Receiver
    from mcp_gen.transports.http_client.pool import Response
    from mcp_wire.profile import Profile

__all__ = ["HttpTransport"]

JSON = "application/json"
BOTH: Lines = (
    (b"accept", f"{JSON}, {EVENTS}".encode()),
    (b"content-type", JSON.encode()),
)
LISTEN_WAIT_S = 1.0
"""Seconds to wait for the notification stream: some servers open it with the first event."""
_log = logging.getLogger("mcp_gen.client")
_VISIBLE = re.compile(r"[\x21-\x7e]+")


class HttpTransport(PostingTransport):
    """Streamable HTTP client for one server URL, at every revision that has this transport.

    Requests are never sent to another origin, even if the server redirects.

    Args:
        url: The server's URL, http or https. User and password in it are sent as Basic auth.
        headers: Headers of every request: a mapping, or a function, sync or async, that is called
            before each request and returns one.
        bearer_token: A constant bearer token; None for none.
        client: An AsyncClient of httpx2 or httpx that sends all requests; None for a connection
            pool of the transport's own.
        max_message_bytes: Maximum size of a received message, in bytes.
        connect_timeout_s: Seconds to wait for a connection. Not used with `client`.
        auth: Gives each request its credentials, such as `mcp_gen.auth.OAuth`; None for none.

    Raises:
        UsageError: The URL is no http or https URL, a header is invalid, or there are credentials
            beside those of `auth`.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: HeadersFrom | None = None,
        bearer_token: str | None = None,
        client: Any = None,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        connect_timeout_s: float = 30.0,
        auth: RequestAuthorizer | None = None,
    ) -> None:
        super().__init__(
            url,
            headers=headers,
            bearer_token=bearer_token,
            client=client,
            max_message_bytes=max_message_bytes,
            connect_timeout_s=connect_timeout_s,
            auth=auth,
        )
        self._profile: Profile | None = None
        self._session_header = ""
        self._session: Lines = ()
        self._expired = False
        self._post_headers: list[tuple[bytes, bytes]] = list(BOTH)
        self._listening = EventListener(
            self._endpoint,
            max_message_bytes,
            self._deliver,
            lambda: self._get_headers,
            self._outbox.wait_for_room,
        )
        self._get_headers: Lines = ()
        self._listener: asyncio.Task[None] | None = None

    @property
    def session_id(self) -> str | None:
        """The session id that the server has assigned; None if there is no session."""
        return self._session[0][1].decode() if self._session else None

    # --- the Posts Protocol ---

    async def start(self, receiver: Receiver) -> None:
        """Set the receiver. No request is sent yet."""
        self._receiver = receiver

    def use_revision(self, profile: Profile, *, agreed: bool) -> None:
        """Send all further messages at this revision; see `core.transport.protocols.Posts`."""
        self._profile = profile
        # The `initialize` request has no version header: the revision is not negotiated yet.
        header = profile.version_header if agreed or profile.handshake is None else None
        self._version = ((header.lower().encode(), profile.revision.encode()),) if header else ()
        if not agreed:
            self._session_header = _session_header(profile).lower()
            self._session = ()
            self._expired = False
        self._rebuild_headers()

    def send(self, message: bytes) -> None:
        """Send at once a message that has no response, unless its session was lost."""
        if self._expired:
            # The next session may count the ids of its requests from the beginning.
            _log.debug("dropped an answer: its session was lost")
        else:
            super().send(message)

    async def listen(self) -> None:
        """Open the GET stream of server-to-client notifications, at revisions that have one."""
        if self._profile is None or not self._profile.get_stream or self._closed:
            return
        self._stop_listening()
        # Wait for the stream: many servers drop notifications while there is none.
        opened = asyncio.Event()
        self._listener = self._outbox.begin(self._listening.listen(opened))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTEN_WAIT_S):
                await opened.wait()

    async def aclose(self) -> None:
        """Send the queued messages, end the session with DELETE, then close all connections."""
        self._stop_listening()
        await super().aclose()

    # --- requests ---

    async def _exchange(self, message: bytes, headers: Lines, asked: PostedRequest) -> None:
        if self._expired:
            raise SessionExpired("the server has ended the session")
        session, lost_sessions = self._session, self._listening.lost_sessions
        response = await self._endpoint.send(
            "POST", [*self._post_headers, *headers], message, limit=asked
        )
        try:
            if response.status != 200:
                raise await self._error_for(response, session, asked)
            if self._session_header and not self._session:
                self._store_session_id(response)
            kind = response.headers.get("content-type", "")
            if kind != JSON:
                kind = media_type(response)
            if kind == EVENTS:
                assert self._profile is not None
                resumes = self._profile.resumes_streams
                await self._listening.follow(
                    response, asked, resumes=resumes, lost_sessions=lost_sessions
                )
                return
            if kind != JSON:
                raise ProtocolError(
                    f"expected {JSON} or {EVENTS}, got {kind or 'no content type'}; "
                    "is this the URL of an MCP server?"
                )
            body = await read_whole(response, self._max)
        finally:
            await response.aclose()
        if lost_sessions == self._listening.lost_sessions or is_response(body):
            receiver = self._receiver
            if receiver is not None:
                receiver.receive(body)
        if not asked.finished:
            raise ProtocolError("the server's answer does not answer the request")

    async def _error_for(
        self, response: Response, session: Lines, asked: PostedRequest
    ) -> McpGenError:
        """Return the error for an error status, and deliver a JSON-RPC message in the body."""
        if 200 <= response.status < 300:
            return ProtocolError(f"expected an answer, got HTTP status {response.status}")
        error, body = await self._endpoint.refusal(response, "the request was refused")
        if response.status == 404 and session and not self._is_method_not_found(error):
            self._expire(session)
            return SessionExpired("the server does not know the session any more")
        if body:
            # A message with the request's id is its response.
            self._deliver(body)
        return error

    def _is_method_not_found(self, error: HttpError) -> bool:
        profile = self._profile
        return (
            error.error is not None
            and profile is not None
            and error.error.code == profile.errors.method_not_found
        )

    # --- messages without a response ---

    async def _post_notification(self, message: bytes, headers: Lines) -> None:
        session = self._session
        response = await self._endpoint.send("POST", [*self._post_headers, *headers], message)
        try:
            if response.status == 404 and session:
                self._expire(session)
            if response.status >= 300:
                raise (await self._endpoint.refusal(response, "it was refused"))[0]
        finally:
            await response.aclose()

    async def _end_session(self) -> None:
        if not self._session:
            return
        headers = self._get_headers
        with contextlib.suppress(Exception):
            # Servers may refuse DELETE, so its outcome is ignored.
            response = await self._endpoint.send("DELETE", headers)
            await response.aclose()

    # --- the session ---

    def _store_session_id(self, response: Response) -> None:
        name = self._session_header
        id = response.headers.get(name)
        if not id:
            return
        if not _VISIBLE.fullmatch(id):
            raise ProtocolError("expected a session id of visible ASCII, got something else")
        self._session = ((name.encode(), id.encode()),)
        self._rebuild_headers()

    def _expire(self, session: Lines) -> None:
        if session is self._session:
            self._session = ()
            self._expired = True
            self._rebuild_headers()
            self._stop_listening()
            self._listening.lost_sessions += 1
            if dropped := self._outbox.drop_unsent():
                _log.debug("dropped %d answers: their session was lost", dropped)

    def _rebuild_headers(self) -> None:
        self._get_headers = (*self._version, *self._session)
        self._post_headers = [*BOTH, *self._get_headers]

    def _deliver(self, message: bytes) -> None:
        if self._receiver is not None:
            self._receiver.receive(message)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            self._listener = None


def _session_header(profile: Profile) -> str:
    """Return the name of the session id header; empty if the revision has no sessions."""
    if profile.http_transport == "sse_pair":
        # This revision predates Streamable HTTP. Servers that combine both use the session header
        # of later revisions.
        profile = mcp_wire.profile(with_handshake()[-1])
    return profile.session_header or ""

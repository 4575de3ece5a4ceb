"""Relays a remote server's requests and notifications to the caller of a forwarded request."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from mcp_gen.core.errors import (
    InvalidRequest,
    McpError,
    McpGenError,
    ProtocolError,
)
from mcp_gen.core.projection.project import restate
from mcp_gen.server.context.context import input_params_of, origin_of
from mcp_gen.server.input_requests.capabilities import declared, require_capability
from mcp_gen.server.input_requests.rounds import InputKind, InputRequest
from mcp_gen.server.input_requests.run import current_rounds
from mcp_gen.server.relaying.suspended_calls import call_ended_error
from mcp_wire import latest
from mcp_wire.base import OpenWire

if TYPE_CHECKING:
    from collections.abc import Coroutine, Hashable

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.relaying.suspended_calls import SuspendedCall
    from mcp_gen.session.peer.session import Session

__all__ = ["CallerRelay", "accepts_input_requests"]

MAX_QUEUED = 1_000
"""Progress and log messages of one call that wait until its client has read those before."""
_INPUT_CAPABILITIES = ("elicitation", "roots", "sampling")
"""Client capabilities of input requests."""

_capability_cache: WeakKeyDictionary[Session, dict[str, dict[str, Any]]] = WeakKeyDictionary()
"""Input request capabilities of the clients of sessions, by revision."""

_log = logging.getLogger("mcp_gen.server")


def accepts_input_requests(ctx: Context) -> bool:
    """Return True if the client of a request declared elicitation, roots or sampling."""
    if not origin_of(ctx).capabilities:
        return False
    return any(declared(ctx, name) for name in _INPUT_CAPABILITIES)


class CallerRelay:
    """Caller of a forwarded request: a client of the outer server.

    Implements `RelayRequestHandler`.

    Args:
        ctx: The request at the outer server.
    """

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.held: SuspendedCall | None = None
        """Collects input requests for the result, where they are not sent as server requests."""
        self._queued: deque[Coroutine[Any, Any, None]] = deque()
        self._notifying: asyncio.Task[None] | None = None

    @property
    def client(self) -> Hashable:
        """Identity of the client: its session, or its principal, or the channel of the request."""
        origin = origin_of(self.ctx)
        if origin.session is None and origin.principal is not None:
            return origin.principal
        return id(origin.session or origin.channel)

    @property
    def is_ready(self) -> bool:
        """True if the request allows input requests to the client."""
        return self.held is not None or input_params_of(self.ctx) is not None

    def capabilities(self, revision: str) -> dict[str, Any]:
        """Return the input request capabilities of the client at a revision, as plain JSON."""
        session = self.ctx.session
        if session is None:
            return _declared_requests(self.ctx, revision)
        # Cached: the client of a session declares its capabilities once.
        known = _capability_cache.setdefault(session, {})
        found = known.get(revision)
        if found is None:
            found = known[revision] = _declared_requests(self.ctx, revision)
        return found

    def log_level(self) -> str | None:
        """Return the log level that the client has set; None if it wants no log messages."""
        ctx = self.ctx
        if ctx.session is not None:
            return ctx.session.log_level
        level: str | None = (ctx.meta or {}).get(ctx.profile.log_level_key or "")
        return level

    # --- notifications of the remote server ---

    @property
    def wants_progress(self) -> bool:
        """True if the request has a progress token."""
        return self.ctx.profile.progress_token_key in (self.ctx.meta or {})

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Forward a progress notification."""
        self._notify(self.ctx.report_progress(progress, total, message))

    def log(self, level: latest.LoggingLevel, data: Any, logger: str | None) -> None:
        """Forward a log message."""
        self._notify(self.ctx.log(level, data, logger=logger))

    def _notify(self, call: Coroutine[Any, Any, None]) -> None:
        if len(self._queued) >= MAX_QUEUED:
            call.close()
            _log.debug("dropped a message of a remote server: the client does not read")
            return
        self._queued.append(call)
        if self._notifying is None:
            self._notifying = asyncio.get_running_loop().create_task(self._notify_all())

    async def _notify_all(self) -> None:
        # One after the other, to keep their order.
        try:
            while self._queued:
                try:
                    await self._queued.popleft()
                except McpGenError as error:
                    _log.debug("could not be passed on: %s", error)
        finally:
            self._notifying = None

    async def flush(self) -> None:
        """Wait until all notifications are sent: none may follow the response."""
        while self._notifying is not None:
            await asyncio.wait([self._notifying])

    def stop_notifying(self) -> None:
        """Drop the notifications that are not sent yet."""
        if self._notifying is not None:
            self._notifying.cancel()
        for unsent in self._queued:
            unsent.close()
        self._queued.clear()

    # --- input requests of the remote server ---

    async def request(self, role: Any, params: Any, elicitation_id: str | None = None) -> Any:
        """Send an input request of the remote server to the client, and return its result.

        Args:
            role: The value of an `InputKind`.
            params: Params of the newest revision's types; None if there are none.
            elicitation_id: Id of a URL elicitation, if the remote server gave one.

        Raises:
            McpError: The client answered with an error, gave no response, or did not declare the
                capability.
            InvalidRequest: This request allows no input requests.
        """
        request = InputRequest(InputKind(role), params, elicitation_id)
        ctx = self.ctx
        require_capability(ctx, request)
        if not self.is_ready:
            raise InvalidRequest("the client cannot be asked anything in this request")
        if self.held is not None:
            return await self.held.ask(request)
        try:
            return await current_rounds(ctx).request_input(request, None, _unchanged, None)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # cancelled by the remote server
            raise call_ended_error() from None
        except (McpError, ProtocolError):
            raise
        except McpGenError as error:
            # Such as a disconnect or a timeout.
            raise McpError(ProtocolError.code, str(error)) from error


def _declared_requests(ctx: Context, revision: str) -> dict[str, Any]:
    declared = origin_of(ctx).capabilities
    if isinstance(declared, OpenWire):
        # Only what its own revision names: it can be asked for nothing else.
        named: OpenWire = restate(declared, ctx.revision).value.with_extra({})
        declared = msgspec.to_builtins(restate(named, revision).value)
    found = {key: declared[key] for key in _INPUT_CAPABILITIES if declared and key in declared}
    if found.get("roots"):
        found["roots"] = {}  # roots/list_changed is not forwarded
    return found


def _unchanged(result: Any) -> Any:
    return result

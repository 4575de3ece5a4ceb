"""The caller of a request that is passed on: told what its server tells, asked what it asks."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from mcp_gen.core.errors import (
    InvalidRequest,
    McpError,
    McpGenError,
    ProtocolError,
)
from mcp_gen.core.projection.project import project
from mcp_gen.server.context.context import input_params_of, origin_of
from mcp_gen.server.input_requests.capabilities import declared, require_capability
from mcp_gen.server.input_requests.rounds import InputKind, InputRequest
from mcp_gen.server.input_requests.run import current_rounds
from mcp_gen.server.mounting.suspended_calls import over
from mcp_wire import Wire, latest

if TYPE_CHECKING:
    from collections.abc import Coroutine, Hashable

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.suspended_calls import SuspendedCall
    from mcp_gen.session.peer.session import Session

__all__ = ["CallerRelay", "can_be_asked"]

_ASKED = ("elicitation", "roots", "sampling")
"""The capabilities that say what a client can be asked."""

_declared: WeakKeyDictionary[Session, dict[str, dict[str, Any]]] = WeakKeyDictionary()
"""What the clients of sessions can be asked, by revision."""

_log = logging.getLogger("mcp_gen.server")


def can_be_asked(ctx: Context) -> bool:
    """Whether the client of a request has declared that it can be asked anything."""
    return any(declared(ctx, name) for name in _ASKED)


class CallerRelay:
    """One request of a client of the outer server, while it is being passed on."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.held: SuspendedCall | None = None
        """Where questions go that end a round of the request, where they are not sent at once."""
        self._queued: list[Coroutine[Any, Any, None]] = []
        self._notifying: asyncio.Task[None] | None = None

    @property
    def client(self) -> Hashable:
        """Who this is: a session, a principal without one, or whoever the answer goes to."""
        caller = origin_of(self.ctx)
        if caller.session is None and caller.principal is not None:
            return caller.principal
        return id(caller.session or caller.channel)

    @property
    def is_ready(self) -> bool:
        """Whether the request is one in which the client can be asked at all."""
        return self.held is not None or input_params_of(self.ctx) is not None

    def capabilities(self, revision: str) -> dict[str, Any]:
        """What the client can be asked, as ClientCapabilities of a revision in plain JSON."""
        session = self.ctx.session
        if session is None:
            return _declared_requests(origin_of(self.ctx).capabilities, revision)
        # They were declared once, for all requests.
        known = _declared.setdefault(session, {})
        found = known.get(revision)
        if found is None:
            found = known[revision] = _declared_requests(origin_of(self.ctx).capabilities, revision)
        return found

    def log_level(self) -> str | None:
        """How severe log messages must be for the client to hear of them; None: of none."""
        ctx = self.ctx
        if ctx.session is not None:
            return ctx.session.log_level
        level: str | None = (ctx.meta or {}).get(ctx.profile.log_level_key or "")
        return level

    # --- what the server tells ---

    @property
    def wants_progress(self) -> bool:
        """Whether the client wants to know how far the request has come."""
        return self.ctx.profile.progress_token_key in (self.ctx.meta or {})

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on how far the request has come."""
        self._notify(self.ctx.report_progress(progress, total, message))

    def log(self, level: latest.LoggingLevel, data: Any, logger: str | None) -> None:
        """Pass on a log message."""
        self._notify(self.ctx.log(level, data, logger=logger))

    def _notify(self, what: Coroutine[Any, Any, None]) -> None:
        self._queued.append(what)
        if self._notifying is None:
            self._notifying = asyncio.get_running_loop().create_task(self._notify_all())

    async def _notify_all(self) -> None:
        # One after the other: they arrive in the order in which they came.
        try:
            while self._queued:
                try:
                    await self._queued.pop(0)
                except McpGenError as error:
                    _log.debug("could not be passed on: %s", error)
        finally:
            self._notifying = None

    async def flush(self) -> None:
        """Wait until everything has been passed on: nothing may follow the answer."""
        while self._notifying is not None:
            await asyncio.wait([self._notifying])

    def stop_notifying(self) -> None:
        """Pass on nothing more."""
        if self._notifying is not None:
            self._notifying.cancel()
        for left in self._queued:
            left.close()
        self._queued.clear()

    # --- what the server asks ---

    async def request(self, role: Any, params: Any, elicitation_id: str | None = None) -> Any:
        """The client's answer to a question.

        Raises:
            McpError: the client said no, did not answer, or has not declared that it can be asked.
        """
        question = InputRequest(InputKind(role), params, elicitation_id)
        ctx = self.ctx
        require_capability(ctx, question)
        if not self.is_ready:
            raise InvalidRequest("the client cannot be asked anything in this request")
        if self.held is not None:
            return await self.held.ask(question)
        try:
            return await current_rounds(ctx).ask(question, None, _as_it_is, None)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise  # the server has taken it back
            raise over() from None
        except (McpError, ProtocolError):
            raise
        except McpGenError as error:
            # Such as a client that has gone, or is silent.
            raise McpError(ProtocolError.code, str(error)) from error


def _declared_requests(declared: Any, revision: str) -> dict[str, Any]:
    if isinstance(declared, Wire):
        declared = msgspec.to_builtins(project(declared, revision).value)
    found = {key: declared[key] for key in _ASKED if declared and key in declared}
    if found.get("roots"):
        found["roots"] = {}  # nobody tells the server when they are others
    return found


def _as_it_is(result: Any) -> Any:
    return result

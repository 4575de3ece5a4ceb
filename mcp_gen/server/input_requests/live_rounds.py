"""Input requests as server requests, sent while the client's request is open (until 2025-11-25)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import (
    InvalidResult,
    McpError,
    ProtocolError,
    UrlElicitation,
    UrlElicitationRequired,
)
from mcp_gen.core.projection.project import restate
from mcp_gen.server.context.context import (
    origin_of,
    outer_layers,
    runtime_of,
    set_input_params,
)
from mcp_gen.server.input_requests.capabilities import require_capability, require_url_elicitation
from mcp_gen.server.input_requests.rounds import InputKind, InputRequest, Rounds, input_requests_in
from mcp_gen.server.input_requests.validation import check_url_elicitation
from mcp_gen.session.kernel.errors import ClientMcpError
from mcp_gen.session.messages.gather import gather_all
from mcp_gen.session.peer.session import SessionClient, sender_for
from mcp_wire.latest import ElicitRequestURLParams, InputRequiredResult

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import Handler

__all__ = ["ServerRequestRounds"]

T = TypeVar("T")

ANSWER_TIMEOUT_S = 600.0
"""Default timeout of elicitation and sampling requests, in seconds; a person has to answer."""
MAX_ELICITATIONS = 1000
"""Limit of open URL elicitations per session; beyond it the oldest is forgotten."""


class ServerRequestRounds(Rounds):
    """Sends input requests over the channel of the request.

    If the handler returns an `InputRequiredResult`, its input requests are sent and the handler is
    run again with the responses.
    """

    def __init__(self, ctx: Context, params: Any) -> None:
        super().__init__(ctx, params)
        self._answers: dict[str, Any] = {}
        self._unanswered: set[asyncio.Future[Any]] = set()

    async def request_input(
        self,
        request: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """Send the request, unless this key has a response already.

        Raises:
            InvalidResult: The response does not fit the request.
            RequestTimeout, SessionLost, McpError: No response, or an error response.
        """
        # Roots may have changed. The session caches them for as long as they are valid.
        fresh = key is None and request.kind is InputKind.LIST_ROOTS
        key = self.key_for(request, key)
        if fresh or key not in self._answers:
            self._answers[key] = await self._send(request, timeout_s)
        try:
            return read(self._answers[key])
        except InvalidResult:
            del self._answers[key]
            raise

    async def _send(self, request: InputRequest, timeout_s: float | None) -> Any:
        ctx, params = self.ctx, request.params
        newest, kernel = mcp_wire.profile(mcp_wire.LATEST), runtime_of(ctx).kernel
        sender = sender_for(newest, origin_of(ctx).channel, kernel, ctx, outer_layers(ctx))
        if isinstance(params, ElicitRequestURLParams):
            elicitation = UrlElicitation(params.message, params.url, request.elicitation_id)
            fields: dict[str, Any] = {"params": self._elicit_url(elicitation)}
        elif request.kind is InputKind.ELICIT:
            fields = {"params": params}
        else:
            names: tuple[str, ...] = params.__struct_fields__ if params is not None else ()
            fields = {name: getattr(params, name) for name in names}
        if timeout_s is None and request.kind is not InputKind.LIST_ROOTS:
            timeout_s = ANSWER_TIMEOUT_S
        if request.as_task:
            sent = self._as_task(request, fields, timeout_s)
        else:
            client = SessionClient(ctx.profile, sender, kernel.extensions)
            call = getattr(client, request.kind)
            sent = asyncio.ensure_future(call(**fields, timeout_s=timeout_s))
        self._unanswered.add(sent)
        try:
            return await sent
        except McpError as error:
            if error.code == ctx.profile.errors.url_elicitation_required:
                # As an error of this server it would promise pages that there are not.
                what = f"the client answered with {error.code}, a server's error"
                raise InvalidResult(what) from None
            if error.code == ProtocolError.code:
                raise ClientMcpError(error.code, error.message, error.data) from None
            raise
        finally:
            self._unanswered.discard(sent)

    def _as_task(
        self, request: InputRequest, fields: dict[str, Any], timeout_s: float | None
    ) -> asyncio.Task[Any]:
        """Send a task-augmented request if the client supports it, else a plain one."""
        # Imported here, because few servers send task-augmented requests.
        from mcp_gen.server.input_requests.task_requests import request_as_task, supports_tasks

        async def ask(client: SessionClient, more: dict[str, Any], timeout_s: float | None) -> Any:
            given = {**fields, **more}
            if "params" in fields:
                params = restate(fields["params"], self.ctx.revision).value
                given = {"params": replace(params, **more)}
            return await getattr(client, request.kind)(**given, timeout_s=timeout_s)

        if not supports_tasks(self.ctx, request):
            plain = request._replace(as_task=False)
            return asyncio.create_task(self._send(plain, timeout_s))
        limit_s = ANSWER_TIMEOUT_S if timeout_s is None else timeout_s
        return asyncio.create_task(request_as_task(self.ctx, request, ask, limit_s))

    def _elicit_url(self, elicitation: UrlElicitation) -> Any:
        """Return URL elicitation params at the revision; the session remembers their id."""
        id = elicitation.elicitation_id or secrets.token_urlsafe(16)
        session = self.ctx.session
        if session is not None:
            session.elicitations[id] = None
            if len(session.elicitations) > MAX_ELICITATIONS:
                del session.elicitations[next(iter(session.elicitations))]
        kind: Any = mcp_wire.types(self.ctx.revision).ElicitRequestURLParams
        return kind(message=elicitation.message, url=elicitation.url, elicitation_id=id)

    async def end(
        self, handler: Handler[Any, Any], result: Any, failure: BaseException | None
    ) -> Any:
        """Return the handler's result.

        While it returns input requests, these are sent and the handler is run again.

        Raises:
            McpError: The error of the revision for a `UrlElicitationRequired` of the handler.
        """
        while failure is None and type(result) is InputRequiredResult:
            self.next_round()
            self.responses = await self._ask_all(input_requests_in(result))
            self.user_state = result.request_state
            self.restart()
            set_input_params(self.ctx, self.params)
            try:
                result = await handler(self.ctx, self.params)
            except UrlElicitationRequired as error:
                failure = error
            finally:
                set_input_params(self.ctx, None)
        if self._unanswered:
            await self._cancel_unanswered()
        if isinstance(failure, UrlElicitationRequired):
            raise self._url_elicitation_error(failure) from failure
        if failure is not None:
            raise failure
        return result

    async def _cancel_unanswered(self) -> None:
        """Cancel the open requests: the handler has ended, and its response is about to be sent."""
        for sent in self._unanswered:
            sent.cancel()
        await asyncio.wait(list(self._unanswered))

    async def _ask_all(self, requests: dict[str, InputRequest]) -> dict[str, Any]:
        for request in requests.values():
            require_capability(self.ctx, request)
        sent = (self._send(request, None) for request in requests.values())
        return dict(zip(requests, await gather_all(*sent), strict=True))

    def _url_elicitation_error(self, error: UrlElicitationRequired) -> McpError:
        """Return the error of the revision that carries the URL elicitations.

        Raises:
            MissingCapability: The client did not declare URL elicitation.
        """
        require_url_elicitation(self.ctx)
        for elicitation in error.elicitations:
            check_url_elicitation(elicitation.url)
        code = self.ctx.profile.errors.url_elicitation_required
        elicitations = [
            msgspec.to_builtins(self._elicit_url(elicitation)) for elicitation in error.elicitations
        ]
        return McpError(
            error.code if code is None else code, error.message, {"elicitations": elicitations}
        )

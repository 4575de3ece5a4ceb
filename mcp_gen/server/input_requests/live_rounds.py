"""Questions that are requests of their own, sent while the client's request is open."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import InvalidParams, McpError, UrlElicitation, UrlElicitationRequired
from mcp_gen.core.projection.project import project
from mcp_gen.server.context.context import origin_of, runtime_of, set_input_params
from mcp_gen.server.input_requests.capabilities import require_capability, require_url_elicitation
from mcp_gen.server.input_requests.rounds import InputKind, InputRequest, Rounds, input_requests_in
from mcp_gen.server.input_requests.validation import check_url_elicitation
from mcp_gen.session.messages.gather import gather_all
from mcp_gen.session.messages.sender import RequestSender
from mcp_gen.session.peer.session import SessionClient
from mcp_wire.latest import ElicitRequestURLParams, InputRequiredResult

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import Handler

__all__ = ["ServerRequestRounds"]

T = TypeVar("T")

ANSWER_TIMEOUT_S = 600.0
"""How long an answer may take: there is a person at the other end, or a model and a person."""
MAX_ELICITATIONS = 1000
"""How many pages of one session may be open before the oldest is forgotten."""


class ServerRequestRounds(Rounds):
    """Asks over the outlet of the request.

    A handler that returns its questions is run again once they are answered, here and now.
    """

    def __init__(self, ctx: Context, params: Any) -> None:
        super().__init__(ctx, params)
        self._answers: dict[str, Any] = {}
        self._sent: set[asyncio.Future[Any]] = set()
        """What the client has not answered yet."""

    async def ask(
        self,
        question: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """Send the question, unless it has been answered under this key.

        Raises:
            InvalidParams: the client's answer is none to this question.
            RequestTimeout, SessionLost, McpError: there is no answer.
        """
        # Roots may have changed since: the session knows for how long they are good.
        fresh = key is None and question.kind is InputKind.LIST_ROOTS
        key = self.key_for(question, key)
        if fresh or key not in self._answers:
            self._answers[key] = await self._send(question, timeout_s)
        try:
            return read(self._answers[key])
        except InvalidParams:
            del self._answers[key]
            raise

    async def _send(self, question: InputRequest, timeout_s: float | None) -> Any:
        ctx, params = self.ctx, question.params
        newest = mcp_wire.profile(mcp_wire.LATEST)
        asking = RequestSender(
            origin_of(ctx).channel, newest, ctx.server.hooks.outbound, ctx, peer="client"
        )
        if isinstance(params, ElicitRequestURLParams):
            page = UrlElicitation(params.message, params.url, question.elicitation_id)
            fields: dict[str, Any] = {"params": self._elicit_url(page)}
        elif question.kind is InputKind.ELICIT:
            fields = {"params": params}
        else:
            names: tuple[str, ...] = params.__struct_fields__ if params is not None else ()
            fields = {name: getattr(params, name) for name in names}
        if timeout_s is None and question.kind is not InputKind.LIST_ROOTS:
            timeout_s = ANSWER_TIMEOUT_S
        if question.as_task:
            sent = self._as_task(question, fields, timeout_s)
        else:
            client = SessionClient(ctx.profile, asking, runtime_of(ctx).kernel.extensions)
            call = getattr(client, question.kind)
            sent = asyncio.ensure_future(call(**fields, timeout_s=timeout_s))
        self._sent.add(sent)
        try:
            return await sent
        finally:
            self._sent.discard(sent)

    def _as_task(
        self, question: InputRequest, fields: dict[str, Any], timeout_s: float | None
    ) -> asyncio.Task[Any]:
        """Send a question that may be answered as a task, if the client does that."""
        # Imported here: few servers ask so.
        from mcp_gen.server.input_requests.task_requests import ask_as_task, takes_tasks

        async def ask(client: SessionClient, more: dict[str, Any], timeout_s: float | None) -> Any:
            given = {**fields, **more}
            if "params" in fields:
                params = project(fields["params"], self.ctx.revision).value
                given = {"params": replace(params, **more)}
            return await getattr(client, question.kind)(**given, timeout_s=timeout_s)

        if not takes_tasks(self.ctx, question):
            plain = question._replace(as_task=False)
            return asyncio.create_task(self._send(plain, timeout_s))
        limit_s = ANSWER_TIMEOUT_S if timeout_s is None else timeout_s
        return asyncio.create_task(ask_as_task(self.ctx, question, ask, limit_s))

    def _elicit_url(self, page: UrlElicitation) -> Any:
        """A page in the type of the request's revision, under an id that the session knows."""
        id = page.elicitation_id or secrets.token_urlsafe(16)
        session = self.ctx.session
        if session is not None:
            session.elicitations[id] = None
            if len(session.elicitations) > MAX_ELICITATIONS:
                del session.elicitations[next(iter(session.elicitations))]
        kind: Any = mcp_wire.types(self.ctx.revision).ElicitRequestURLParams
        return kind(message=page.message, url=page.url, elicitation_id=id)

    async def end(
        self, handler: Handler[Any, Any], result: Any, failure: BaseException | None
    ) -> Any:
        """The handler's result; the questions it returned are asked, until it returns another."""
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
        if self._sent:
            await self._cancel_unanswered()
        if isinstance(failure, UrlElicitationRequired):
            raise self._url_elicitation_error(failure) from failure
        if failure is not None:
            raise failure
        return result

    async def _cancel_unanswered(self) -> None:
        """Nobody waits for what is still open, and the client is about to hear the end of it."""
        for sent in self._sent:
            sent.cancel()
        await asyncio.wait(list(self._sent))

    async def _ask_all(self, questions: dict[str, InputRequest]) -> dict[str, Any]:
        for question in questions.values():
            require_capability(self.ctx, question)
        sent = (self._send(question, None) for question in questions.values())
        return dict(zip(questions, await gather_all(*sent), strict=True))

    def _url_elicitation_error(self, error: UrlElicitationRequired) -> McpError:
        """The error of the revision for this; raises MissingCapability where it has none."""
        require_url_elicitation(self.ctx)
        for page in error.elicitations:
            check_url_elicitation(page.url)
        code = self.ctx.profile.errors.url_elicitation_required
        pages = [msgspec.to_builtins(self._elicit_url(page)) for page in error.elicitations]
        return McpError(
            error.code if code is None else code, error.message, {"elicitations": pages}
        )

"""Questions of a task, which its client finds where it looks how the task stands."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from mcp_gen.core.errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    RequestTimeout,
    UrlElicitationRequired,
)
from mcp_gen.core.projection.project import project
from mcp_gen.server.context.context import set_input_params
from mcp_gen.server.input_requests.capabilities import require_capability
from mcp_gen.server.input_requests.live_rounds import ANSWER_TIMEOUT_S
from mcp_gen.server.input_requests.replayed_rounds import InputRequiredRounds, result_of
from mcp_gen.server.input_requests.rounds import InputKind, InputRequest, Rounds, input_requests_in
from mcp_gen.session.messages.gather import gather_all
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import Handler
    from mcp_gen.server.tasks.running import RunningTask

__all__ = ["TaskInputRequests"]

T = TypeVar("T")


class _OpenInputRequest(NamedTuple):
    role: InputKind
    answer: asyncio.Future[Any]


class TaskInputRequests(Rounds):
    """Asks in how a task stands: the handler goes on where it was when the answer has come.

    Before there is a task, questions that the handler returns are the result of its request, and
    with their answers it is run anew.
    """

    def __init__(self, ctx: Context, params: Any, task: RunningTask) -> None:
        """Raises InvalidParams for a state that this server has not given for this request."""
        super().__init__(ctx, params)
        self._task = task
        self._answers: dict[str, Any] = {}
        self._open: dict[str, _OpenInputRequest] = {}
        self._used: set[str] = set()
        self._before: InputRequiredRounds | None = None
        if params.request_state is not None or params.input_responses is not None:
            before = self._before = InputRequiredRounds(ctx, params)
            self.number, self.values = before.number, before.values
            self.responses, self.user_state = before.responses, before.user_state

    # --- while the handler runs ---

    async def ask(
        self,
        question: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """Ask, unless there is an answer under this key; what is no answer is asked again.

        Raises:
            RequestTimeout: there is no answer.
        """
        # Roots may have changed since.
        fresh = key is None and question.kind is InputKind.LIST_ROOTS
        key = self.key_for(question, key)
        while True:
            if fresh or key not in self._answers:
                self._answers[key] = await self._put(key, question, timeout_s)
            try:
                return read(self._answers[key])
            except InvalidParams:
                del self._answers[key]

    async def _put(self, key: str, question: InputRequest, timeout_s: float | None) -> Any:
        """The answer to a question that is put where the client looks."""
        task, key = self._task, self._unused(key)
        asked = project(question.kind.request_type(params=question.params), self.ctx.revision)
        if timeout_s is None:
            timeout_s = ANSWER_TIMEOUT_S
        limit = asyncio.timeout(None if math.isinf(timeout_s) else timeout_s)
        found = self._open[key] = _OpenInputRequest(question.kind, task.loop.create_future())
        task.questions[key] = Raw(encode(asked.value))
        task.decide()
        try:
            async with limit:
                await task.change()
                return await found.answer
        except TimeoutError:
            if not limit.expired():
                raise
            raise RequestTimeout(f"{question.kind}: no answer within {timeout_s:g} s") from None
        finally:
            self._open.pop(key, None)
            if task.questions.pop(key, None) is not None:
                await task.change()

    def _unused(self, key: str) -> str:
        """A key that no other question of the task has had, or will have."""
        number, found = 1, key
        while found in self._used:
            number += 1
            found = f"{key}-{number}"
        self._used.add(found)
        return found

    async def answered(self, responses: Mapping[str, Any]) -> None:
        """Take answers of the client; those to nothing that is open are ignored.

        Raises:
            InvalidParams: one is no result of what was asked: then none is taken.
        """
        taken: dict[str, Any] = {}
        for key, given in responses.items():
            if key not in self._open:
                continue
            try:
                taken[key] = result_of(self._open[key].role, Raw(encode(given)))
            except msgspec.ValidationError as error:
                raise InvalidParams(f"{error} - at `$.inputResponses.{key}`") from None
        for key, answer in taken.items():
            waiting = self._open.pop(key).answer
            self._task.questions.pop(key, None)
            if not waiting.done():
                waiting.set_result(answer)
        if taken:
            await self._task.change()

    # --- when it has ended ---

    async def end(
        self, handler: Handler[Any, Any], result: Any, failure: BaseException | None
    ) -> Any:
        """The handler's result; the questions it returned are asked, until it returns another."""
        while failure is None or isinstance(failure, UrlElicitationRequired):
            if failure is None and type(result) is not latest.InputRequiredResult:
                return result
            if not self._task.is_answer:
                before = self._before or InputRequiredRounds(self.ctx, self.params)
                return await before.end(handler, result, failure)
            self.next_round()
            if failure is None:
                self.responses = await self._ask_all(input_requests_in(result))
                self.user_state = result.request_state
            else:
                await self._elicit_url(failure)
            result, failure = await self._again(handler)
        raise failure

    async def _again(self, handler: Handler[Any, Any]) -> tuple[Any, BaseException | None]:
        self.restart()
        set_input_params(self.ctx, self.params)
        try:
            return await handler(self.ctx, self.params), None
        except UrlElicitationRequired as error:
            return None, error
        finally:
            set_input_params(self.ctx, None)

    async def _ask_all(self, questions: dict[str, InputRequest]) -> dict[str, Any]:
        for question in questions.values():
            require_capability(self.ctx, question)
        put = (self._put(key, question, None) for key, question in questions.items())
        return dict(zip(questions, await gather_all(*put), strict=True))

    async def _elicit_url(self, error: UrlElicitationRequired) -> None:
        """Ask for the pages that the handler insists on.

        Raises:
            McpError: the user has said no to one.
            MissingCapability: the client cannot send its user there.
        """
        pages = [
            InputRequest(
                InputKind.ELICIT, latest.ElicitRequestURLParams(message=one.message, url=one.url)
            )
            for one in error.elicitations
        ]
        answers = await self._ask_all({self.key_for(page, None): page for page in pages})
        if any(answer.action != "accept" for answer in answers.values()):
            raise McpError(InvalidRequest.code, f"{error.message}; the user has refused")

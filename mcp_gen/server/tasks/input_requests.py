"""Input requests of a task, which the client polls with `tasks/get`."""

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
    InvalidResult,
    McpError,
    RequestTimeout,
    UrlElicitationRequired,
)
from mcp_gen.core.projection.project import restate
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
    kind: InputKind
    answer: asyncio.Future[Any]


class TaskInputRequests(Rounds):
    """Publishes input requests in the status of a task; its handler waits for the responses.

    Before the request is answered with the task, an `InputRequiredResult` of the handler is the
    result of the request, and the handler is run again with the responses.
    """

    def __init__(self, ctx: Context, params: Any, task: RunningTask) -> None:
        """Open the `requestState` of the request, if there is one.

        Raises:
            InvalidParams: This server did not issue the state for this request, or it has expired.
        """
        super().__init__(ctx, params)
        self._task = task
        self._answers: dict[str, Any] = {}
        self._open: dict[str, _OpenInputRequest] = {}
        self._used_keys: set[str] = set()
        self._replayed: InputRequiredRounds | None = None
        if params.request_state is not None or params.input_responses is not None:
            replayed = self._replayed = InputRequiredRounds(ctx, params)
            self.number, self._values = replayed.number, replayed.values
            self.responses, self.user_state = replayed.responses, replayed.user_state

    # --- while the handler runs ---

    async def request_input(
        self,
        request: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """Publish the request, unless this key has a response; repeat it if `read` rejects that.

        Raises:
            RequestTimeout: No response within `timeout_s` seconds, 600 by default.
        """
        # Roots may have changed.
        fresh = key is None and request.kind is InputKind.LIST_ROOTS
        key = self.key_for(request, key)
        while True:
            if fresh or key not in self._answers:
                self._answers[key] = await self._publish(key, request, timeout_s)
            try:
                return read(self._answers[key])
            except InvalidResult:
                del self._answers[key]

    async def _publish(self, key: str, request: InputRequest, timeout_s: float | None) -> Any:
        """Publish a request in the status of the task and wait for its response."""
        task, key = self._task, self._unused_key(key)
        projected = restate(request.kind.request_type(params=request.params), self.ctx.revision)
        if timeout_s is None:
            timeout_s = ANSWER_TIMEOUT_S
        limit = asyncio.timeout(None if math.isinf(timeout_s) else timeout_s)
        entry = self._open[key] = _OpenInputRequest(request.kind, task.loop.create_future())
        task.questions[key] = Raw(encode(projected.value))
        task.end_grace()
        try:
            async with limit:
                await task.change()
                return await entry.answer
        except TimeoutError:
            if not limit.expired():
                raise
            raise RequestTimeout(f"{request.kind}: no answer within {timeout_s:g} s") from None
        finally:
            self._open.pop(key, None)
            if task.questions.pop(key, None) is not None:
                await task.change()

    def _unused_key(self, key: str) -> str:
        """Return a key that no other input request of the task has had."""
        number, found = 1, key
        while found in self._used_keys:
            number += 1
            found = f"{key}-{number}"
        self._used_keys.add(found)
        return found

    async def accept_responses(self, responses: Mapping[str, Any]) -> None:
        """Accept responses of the client, by key; keys that are not open are ignored.

        Raises:
            InvalidParams: A response does not fit its request. Then none is accepted.
        """
        accepted: dict[str, Any] = {}
        for key, response in responses.items():
            if key not in self._open:
                continue
            try:
                accepted[key] = result_of(self._open[key].kind, Raw(encode(response)))
            except msgspec.ValidationError as error:
                raise InvalidParams(f"{error} - at `$.inputResponses.{key}`") from None
        for key, answer in accepted.items():
            future = self._open.pop(key).answer
            self._task.questions.pop(key, None)
            if not future.done():
                future.set_result(answer)
        if accepted:
            await self._task.change()

    # --- when it has ended ---

    async def end(
        self, handler: Handler[Any, Any], result: Any, failure: BaseException | None
    ) -> Any:
        """Return the handler's result.

        While it returns input requests, these are published and the handler is run again.
        """
        while failure is None or isinstance(failure, UrlElicitationRequired):
            if failure is None and type(result) is not latest.InputRequiredResult:
                return result
            if not self._task.is_answer:
                replayed = self._replayed or InputRequiredRounds(self.ctx, self.params)
                return await replayed.end(handler, result, failure)
            self.next_round()
            if failure is None:
                self.responses = await self._ask_all(input_requests_in(result))
                self.user_state = result.request_state
            else:
                await self._elicit_url(failure)
            result, failure = await self._run_again(handler)
        raise failure

    async def _run_again(self, handler: Handler[Any, Any]) -> tuple[Any, BaseException | None]:
        self.restart()
        set_input_params(self.ctx, self.params)
        try:
            return await handler(self.ctx, self.params), None
        except UrlElicitationRequired as error:
            return None, error
        finally:
            set_input_params(self.ctx, None)

    async def _ask_all(self, requests: dict[str, InputRequest]) -> dict[str, Any]:
        for request in requests.values():
            require_capability(self.ctx, request)
        responses = (self._publish(key, request, None) for key, request in requests.items())
        return dict(zip(requests, await gather_all(*responses), strict=True))

    async def _elicit_url(self, error: UrlElicitationRequired) -> None:
        """Publish the URL elicitations of an error and wait for their responses.

        Raises:
            McpError: The user declined or cancelled one.
            MissingCapability: The client did not declare URL elicitation.
        """
        requests = [
            InputRequest(
                InputKind.ELICIT,
                latest.ElicitRequestURLParams(message=elicitation.message, url=elicitation.url),
            )
            for elicitation in error.elicitations
        ]
        answers = await self._ask_all(
            {self.key_for(request, None): request for request in requests}
        )
        if any(answer.action != "accept" for answer in answers.values()):
            raise McpError(InvalidRequest.code, f"{error.message}; the user has refused")

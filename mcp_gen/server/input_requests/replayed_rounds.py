"""Questions that end their request: its result has them, and the next request has the answers.

The handler is then run again from its beginning, and finds the answers by the keys of its
questions. While it has questions open, whatever it returns or raises is not its answer.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Raw

import mcp_wire
from mcp_gen.core.errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    MissingCapability,
    UrlElicitationRequired,
)
from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.server.input_requests.capabilities import require_capability
from mcp_gen.server.input_requests.request_state import RequestState
from mcp_gen.server.input_requests.rounds import InputKind, InputRequest, Rounds, input_requests_in
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import Handler

__all__ = ["CLEANUP_S", "InputRequiredRounds", "result_of"]

T = TypeVar("T")

CLEANUP_S = 5.0
"""How long a handler has for its `finally` blocks before it is cancelled once more."""

_TURNS = 8
"""How many turns of the loop other tasks of the handler have to ask, or fail, in the same round."""
_LATE = 8
"""How often a handler that will not end is let off at once, before it has to wait."""


class InputRequiredRounds(Rounds):
    """Asks in the result of the request.

    A question without an answer cancels the handler's task: of all ways to end a handler it is the
    one that its own code is least able to take for something else. What it makes of that does not
    count, as long as a question is open. An outside cancellation still does.
    """

    def __init__(self, ctx: Context, params: Any) -> None:
        """Raises InvalidParams for a state that this server has not given for this request."""
        super().__init__(ctx, params)
        self._once_store_id: str | None = None
        self._answers: dict[str, Raw] = {}
        self._open: dict[str, InputRequest] = {}
        self._waiting: list[asyncio.Future[Any]] = []
        self._askers: set[asyncio.Task[Any]] = set()
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.Handle | None = None
        self._cancels = 0
        self._late = 0
        self._bound_to = _binding(ctx, params)
        self._continue(params.request_state, params.input_responses)

    def _continue(self, sealed: str | None, responses: Mapping[str, Any] | None) -> None:
        """Go on where the last round ended."""
        came = {key: Raw(encode(response)) for key, response in (responses or {}).items()}
        if sealed is None:
            # What was asked is not known, but an answer speaks for itself.
            self.number += responses is not None
            self._answers = came
            self.responses = responses
            return
        runtime = runtime_of(self.ctx)
        state = runtime.request_states.open(sealed, self._bound_to)
        self.number = state.round
        self.user_state = state.state
        self._once_store_id = state.once_store_id
        self.values = runtime.once_store.get(state.once_store_id)
        came = {key: came[key] for key in state.asked if key in came}
        if state.returned:
            self._answers = state.answers
            self.responses = _responses(came)
        else:
            self._answers = {**state.answers, **came}
            self.responses = None if state.responses is None else _responses(state.responses)

    # --- while the handler runs ---

    async def ask(
        self,
        question: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """The answer, if the client has sent one; otherwise this never returns."""
        key = self.key_for(question, key)
        if key in self._answers:
            try:
                return read(result_of(question.kind, self._answers[key]))
            except (InvalidParams, msgspec.ValidationError):
                # No answer to this question: it is asked again.
                del self._answers[key]
        nothing: T = await self._no_answer(key, question)
        return nothing

    async def _no_answer(self, key: str, question: InputRequest) -> Any:
        loop = asyncio.get_running_loop()
        if self.closed:
            # Asked by code that only runs because the round ends: nobody is to be bothered with it.
            self._late += 1
            await asyncio.sleep(0 if self._late < _LATE else CLEANUP_S)
            raise asyncio.CancelledError
        self._open[key] = question
        asker = asyncio.current_task()
        if self._task is None:
            self._task = origin_of(self.ctx).channel.task(self.ctx.request_id) or asker
            self._timer = loop.call_soon(self._stop_in, _TURNS - 1)
        if asker is not None and asker is not self._task:
            self._askers.add(asker)
        waiting: asyncio.Future[Any] = loop.create_future()
        self._waiting.append(waiting)
        return await waiting

    def _stop_in(self, turns: int) -> None:
        if turns:
            self._timer = asyncio.get_running_loop().call_soon(self._stop_in, turns - 1)
        else:
            self._stop()

    def _stop(self) -> None:
        """End the handler; again, if it has not ended after a while."""
        assert self._task is not None
        self.closed = True
        self._cancels += 1
        self._task.cancel()
        if self._cancels > 1:
            self._release()
        self._timer = asyncio.get_running_loop().call_later(CLEANUP_S, self._stop)

    def _release(self) -> None:
        for waiting in self._waiting:
            waiting.cancel()

    # --- when it has ended ---

    async def end(
        self, handler: Handler[Any, Any], result: Any, failure: BaseException | None
    ) -> Any:
        """The handler's result, or its questions.

        Raises:
            CancelledError: the request was cancelled meanwhile, from outside.
        """
        if self._open:
            await self._wind_up()
        self.closed = True
        # What the client cannot answer it cannot answer in the next round either.
        if self._open and not isinstance(failure, MissingCapability):
            return self._required()
        if isinstance(failure, UrlElicitationRequired):
            self._require_url_elicitations(failure)
            return self._required()
        if failure is not None:
            raise failure
        if type(result) is latest.InputRequiredResult:
            return self._returned(result)
        return result

    async def _wind_up(self) -> None:
        """Take back what was done to end the handler, and end what it has left behind."""
        self.closed = True
        task = self._task
        assert task is not None
        if self._timer:
            self._timer.cancel()
        if not origin_of(self.ctx).channel.answers(self.ctx.request_id):
            # Cancelled from outside. The task's own count says less: a task group that failed on
            # Python 3.11 leaves one too many.
            self._release()
            raise asyncio.CancelledError
        while task.cancelling():
            task.uncancel()
        self._release()
        left = [asker for asker in self._askers if not asker.done()]
        if left:
            await asyncio.wait(left, timeout=CLEANUP_S)

    def _required(self) -> latest.InputRequiredResult:
        asked = {
            key: question.kind.request_type(params=question.params)
            for key, question in self._open.items()
        }
        responses = None
        if self.responses is not None:
            responses = {key: Raw(encode(one)) for key, one in self.responses.items()}
        return latest.InputRequiredResult(
            input_requests=asked,
            request_state=self._sealed(list(asked), responses=responses, state=self.user_state),
        )

    def _returned(self, result: latest.InputRequiredResult) -> latest.InputRequiredResult:
        """The handler's own questions, its state protected like ours."""
        questions = input_requests_in(result)
        for question in questions.values():
            require_capability(self.ctx, question)
        sealed = self._sealed(list(questions), returned=True, state=result.request_state)
        return msgspec.structs.replace(result, request_state=sealed)

    def _require_url_elicitations(self, error: UrlElicitationRequired) -> None:
        """Make the pages that the handler insists on questions.

        Raises:
            McpError: the user has said no to one.
            MissingCapability: the client cannot send its user there.
        """
        for page in error.elicitations:
            params = latest.ElicitRequestURLParams(message=page.message, url=page.url)
            question = InputRequest(InputKind.ELICIT, params)
            require_capability(self.ctx, question)
            key = self.key_for(question, None)
            given = self._answers.pop(key, None)
            if given is not None and _refused(given):
                raise McpError(InvalidRequest.code, f"{error.message}; the user has refused")
            self._open[key] = question

    def _sealed(self, asked: list[str], **more: Any) -> str:
        self.next_round()
        runtime = runtime_of(self.ctx)
        if self.values:
            self._once_store_id = runtime.once_store.put(self._once_store_id, self.values)
        state = RequestState(
            round=self.number,
            expires=runtime.request_states.expiry(),
            asked=asked,
            answers=self._answers,
            once_store_id=self._once_store_id,
            **more,
        )
        return runtime.request_states.seal(state, self._bound_to)


def _binding(ctx: Context, params: Any) -> bytes:
    """What a state is good for: this request, by this client, at this server."""
    plain = msgspec.structs.replace(params, meta={}, input_responses=None, request_state=None)
    asked: dict[str, Any] = msgspec.json.decode(encode(plain))
    if not asked.get("arguments"):
        # No arguments, none at all, and null: clients need not write the same twice.
        asked.pop("arguments", None)
    kind = type(params).__name__.removeprefix("Raw")
    what = [ctx.server.name, kind, asked, origin_of(ctx).principal]
    return hashlib.sha256(msgspec.json.encode(what, order="sorted")).digest()


def result_of(role: InputKind, given: Raw) -> Any:
    """What the client sent as the answer to a question; ValidationError if it is none."""
    method: Any = getattr(mcp_wire.profile(mcp_wire.LATEST), role)
    return method.decode_result(given)


def _refused(given: Raw) -> bool:
    try:
        return bool(result_of(InputKind.ELICIT, given).action != "accept")
    except msgspec.ValidationError:
        return False


def _responses(given: Mapping[str, Raw]) -> dict[str, Any]:
    kind: Any = latest.InputResponses
    read: dict[str, Any] = mcp_wire.decode(kind, encode(given))
    return read

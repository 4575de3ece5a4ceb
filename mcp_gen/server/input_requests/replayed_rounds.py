"""Multi round-trip requests (`input_required`, 2026-07-28): input requests in the result.

The client sends the request again with the responses. The handler is then run again from its
beginning and finds the responses by key. While input requests are open, the value it returns or
raises is discarded.
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
    InvalidResult,
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
"""Seconds that a cancelled handler has for cleanup before it is cancelled once more."""

_TURNS = 8
"""Event loop turns that other tasks of the handler have to join the round, or to fail."""
_MAX_LATE = 8
"""Requests during the cleanup of a handler, from which on each waits `CLEANUP_S` first."""


class InputRequiredRounds(Rounds):
    """Collects input requests and returns them as the `InputRequiredResult` of the request.

    An input request without a response cancels the task of the handler: handler code rarely
    mistakes a cancellation for an error of its own. While input requests are open, the outcome of
    the handler is discarded. A cancellation from outside still cancels the request.
    """

    def __init__(self, ctx: Context, params: Any) -> None:
        """Open the `requestState`, if there is one.

        Raises:
            InvalidParams: This server did not issue the state for this request, or it has expired.
        """
        super().__init__(ctx, params)
        self._once_store_id: str | None = None
        self._answers: dict[str, Raw] = {}
        self._open: dict[str, InputRequest] = {}
        self._futures: list[asyncio.Future[Any]] = []
        self._askers: set[asyncio.Task[Any]] = set()
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.Handle | None = None
        self._cancel_count = 0
        self._late_requests = 0
        self._asked_before: list[str] = []
        """Keys of the questions of the last round; one that is asked again has no answer yet."""
        self._bound_to = _binding(ctx, params)
        self._restore(params.request_state, params.input_responses)

    def _restore(self, sealed: str | None, responses: Mapping[str, Any] | None) -> None:
        """Restore the state of the last round and merge the new responses."""
        received = {key: Raw(encode(response)) for key, response in (responses or {}).items()}
        if sealed is None:
            # Without a state the open keys are unknown: take every response.
            self.number += responses is not None
            self._answers = received
            self.responses = responses
            return
        runtime = runtime_of(self.ctx)
        state = runtime.request_states.open(sealed, self._bound_to)
        self.number = state.round
        self.in_vain = state.in_vain
        self.user_state = state.state
        self._once_store_id = state.once_store_id
        received = {key: received[key] for key in state.asked if key in received}
        if state.returned:
            self._answers = state.answers
            self.responses = _responses(received)
        else:
            self._asked_before = state.asked
            self._answers = {**state.answers, **received}
            self.responses = None if state.responses is None else _responses(state.responses)

    async def load_values(self) -> None:
        """Load the values of `once` that earlier rounds have made."""
        if self._once_store_id is not None:
            store = runtime_of(self.ctx).once_store
            self._values = await store.get(self._once_store_id, origin_of(self.ctx).principal)

    # --- while the handler runs ---

    async def request_input(
        self,
        request: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """Return the response if the client has sent one; otherwise wait for cancellation."""
        key = self.key_for(request, key)
        if key in self._answers:
            try:
                return read(result_of(request.kind, self._answers[key]))
            except (InvalidResult, msgspec.ValidationError):
                # The response does not fit the request: request it again.
                del self._answers[key]
        nothing: T = await self._wait_unanswered(key, request)
        return nothing

    async def _wait_unanswered(self, key: str, request: InputRequest) -> Any:
        loop = asyncio.get_running_loop()
        if self.closed:
            # Cleanup code of a handler that is being cancelled: its requests are not sent.
            self._late_requests += 1
            await asyncio.sleep(0 if self._late_requests < _MAX_LATE else CLEANUP_S)
            raise asyncio.CancelledError
        self._open[key] = request
        asker = asyncio.current_task()
        if self._task is None:
            self._task = origin_of(self.ctx).channel.task(self.ctx.request_id) or asker
            self._timer = loop.call_soon(self._stop_in, _TURNS - 1)
        if asker is not None and asker is not self._task:
            self._askers.add(asker)
        future: asyncio.Future[Any] = loop.create_future()
        self._futures.append(future)
        return await future

    def _stop_in(self, turns: int) -> None:
        if turns:
            self._timer = asyncio.get_running_loop().call_soon(self._stop_in, turns - 1)
        else:
            self._stop()

    def _stop(self) -> None:
        """Cancel the handler, and again every `CLEANUP_S` seconds until it has ended."""
        assert self._task is not None
        self.closed = True
        self._cancel_count += 1
        self._task.cancel()
        if self._cancel_count > 1:
            self._release()
        self._timer = asyncio.get_running_loop().call_later(CLEANUP_S, self._stop)

    def _release(self) -> None:
        for future in self._futures:
            future.cancel()

    # --- when it has ended ---

    async def end(
        self, handler: Handler[Any, Any], result: Any, failure: BaseException | None
    ) -> Any:
        """Return the handler's result, or an `InputRequiredResult` with its input requests.

        Raises:
            CancelledError: The request was cancelled from outside.
        """
        if self._open:
            await self._clean_up()
        self.closed = True
        # A capability that is missing now will be missing in the next round too.
        if self._open and not isinstance(failure, MissingCapability):
            return await self._input_required()
        if isinstance(failure, UrlElicitationRequired):
            self._require_url_elicitations(failure)
            return await self._input_required()
        if failure is not None:
            raise failure
        if type(result) is latest.InputRequiredResult:
            return await self._seal_returned(result)
        return result

    async def _clean_up(self) -> None:
        """Undo the cancellation of the handler's task, and wait for its subtasks to end."""
        self.closed = True
        task = self._task
        assert task is not None
        if self._timer:
            self._timer.cancel()
        if not origin_of(self.ctx).channel.answers(self.ctx.request_id):
            # Cancelled from outside. `task.cancelling()` cannot tell: on Python 3.11 a failed task
            # group leaves one cancellation too many.
            self._release()
            raise asyncio.CancelledError
        while task.cancelling():
            task.uncancel()
        self._release()
        unfinished = [asker for asker in self._askers if not asker.done()]
        if unfinished:
            await asyncio.wait(unfinished, timeout=CLEANUP_S)

    async def _input_required(self) -> latest.InputRequiredResult:
        requests = {
            key: request.kind.request_type(params=request.params)
            for key, request in self._open.items()
        }
        responses = None
        if self.responses is not None:
            responses = {key: Raw(encode(one)) for key, one in self.responses.items()}
        return latest.InputRequiredResult(
            input_requests=requests,
            request_state=await self._seal_state(
                list(requests), responses=responses, state=self.user_state
            ),
        )

    async def _seal_returned(
        self, result: latest.InputRequiredResult
    ) -> latest.InputRequiredResult:
        """Return the handler's own result with its state sealed."""
        requests = input_requests_in(result)
        for request in requests.values():
            require_capability(self.ctx, request)
        sealed = await self._seal_state(list(requests), returned=True, state=result.request_state)
        return msgspec.structs.replace(result, request_state=sealed)

    def _require_url_elicitations(self, error: UrlElicitationRequired) -> None:
        """Turn the URL elicitations of an error into input requests.

        Raises:
            McpError: The user declined or cancelled one.
            MissingCapability: The client did not declare URL elicitation.
        """
        for elicitation in error.elicitations:
            params = latest.ElicitRequestURLParams(message=elicitation.message, url=elicitation.url)
            request = InputRequest(InputKind.ELICIT, params)
            require_capability(self.ctx, request)
            key = self.key_for(request, None)
            raw = self._answers.pop(key, None)
            if raw is not None and _is_declined(raw):
                raise McpError(InvalidRequest.code, f"{error.message}; the user has refused")
            self._open[key] = request

    async def _seal_state(self, keys: list[str], **fields: Any) -> str:
        self.next_round(asked_again=any(key in self._asked_before for key in keys))
        runtime = runtime_of(self.ctx)
        if self.values:
            self._once_store_id = await runtime.once_store.put(
                self._once_store_id, self.values, origin_of(self.ctx).principal
            )
        state = RequestState(
            round=self.number,
            expires=runtime.request_states.expiry(),
            asked=keys,
            answers=self._answers,
            once_store_id=self._once_store_id,
            in_vain=self.in_vain,
            **fields,
        )
        return runtime.request_states.seal(state, self._bound_to)


def _binding(ctx: Context, params: Any) -> bytes:
    """Return a digest of server, method, params and principal, which a state is bound to."""
    plain = msgspec.structs.replace(params, meta={}, input_responses=None, request_state=None)
    try:
        request: dict[str, Any] = msgspec.json.decode(encode(plain))
    except (msgspec.DecodeError, RecursionError) as error:
        # Arguments are not decoded before: they may hold a number that nothing can hold.
        raise InvalidParams(f"the params cannot be read: {error}") from None
    if not request.get("arguments"):
        # Absent, null and empty arguments are the same: clients may send either.
        request.pop("arguments", None)
    kind = type(params).__name__.removeprefix("Raw")
    parts = [ctx.server.name, kind, request, origin_of(ctx).principal]
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).digest()


def result_of(kind: InputKind, raw: Raw) -> Any:
    """Decode a response as the result type of its kind; raise DecodeError if it is none."""
    method: Any = getattr(mcp_wire.profile(mcp_wire.LATEST), kind)
    return method.decode_result(raw)


def _is_declined(raw: Raw) -> bool:
    try:
        return bool(result_of(InputKind.ELICIT, raw).action != "accept")
    except msgspec.DecodeError:
        return False


def _responses(raw: Mapping[str, Raw]) -> dict[str, Any]:
    kind: Any = latest.InputResponses
    read: dict[str, Any] = mcp_wire.decode(kind, encode(raw))
    return read

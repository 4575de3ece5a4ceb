"""Sends the requests of a session: multi round-trip requests, caching, conformance checks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import mcp_wire
from mcp_gen.core.errors import (
    InvalidParams,
    InvalidResult,
    McpError,
    ProtocolError,
    UrlElicitationRequired,
    UsageError,
)
from mcp_gen.core.projection.closed import violations
from mcp_gen.core.projection.project import restate
from mcp_gen.core.revisions import select
from mcp_gen.session.messages.gather import gather_all
from mcp_gen.session.messages.sender import RequestSender

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_gen.client.requests.cache import ResponseCache
    from mcp_gen.client.requests.settings import SessionOptions
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["ClientRequestSender"]

P = TypeVar("P")
R = TypeVar("R")

BACK_OFF_S = 0.1
MAX_BACK_OFF_S = 2.0
"""Limit of the back-off before a request is retried for a server that requested no input."""


class ClientRequestSender(RequestSender):
    """Sends the requests of a session until each has its final answer.

    Args:
        connection: The connection to send on.
        spoken: Profile of the negotiated revision.
        results_at: Revision of the results. They are decoded with its types if it is at least as
            new as the negotiated one, and projected to it if it is older.
        session: Context of hooks and callbacks.
        options: Options of the session.
        cache: Response cache of the session.
        channel: Channel to send on instead of the connection.
        await_task_call: Waits for the task that a call was answered with, given the tool's name,
            the task and a timeout in seconds. None: the task itself is the result.
    """

    def __init__(
        self,
        connection: ClientConnection,
        spoken: Profile,
        results_at: str,
        session: Any,
        options: SessionOptions,
        cache: ResponseCache,
        channel: Channel | None = None,
        *,
        await_task_call: Callable[[str, Any, float | None], Awaitable[Any]] | None = None,
    ) -> None:
        read_at = select([spoken.revision, results_at])[-1]
        reader = mcp_wire.profile(read_at)
        rows = options.extensions.rows(spoken, reader)
        super().__init__(
            channel or connection,
            reader,
            connection.hooks.outbound,
            session,
            middleware=connection.middleware.outgoing,
            rows=rows,
        )
        self._extensions = options.extensions
        self._connection = connection
        self._spoken = spoken
        self._options = options
        self._validation = options.settings.validation
        if self._validation != "lenient":
            self._check_result = self._check_conformance
        self._cache = cache
        self._restated = None if mcp_wire.profile(results_at) is reader else results_at
        self._input_required_type: Any = None
        """Result type of multi round-trip requests; None at revisions with server requests."""
        if spoken.asks_client == "input_required":
            self._input_required_type = mcp_wire.types(read_at).InputRequiredResult
        self.on_task_created: Any = getattr(
            mcp_wire.types(spoken.revision), "CreateTaskResult", None
        )
        """Result type that starts a task; None if the revision has none."""
        self.server_may_start_tasks = spoken.tasks == "extension" and options.declares_tasks
        """True if the server may start a task unrequested (tasks extension)."""
        if self.server_may_start_tasks:
            # Loaded only where the extension is declared.
            from mcp_wire.extensions.tasks import CreateTaskResult

            self.on_task_created = CreateTaskResult
        self._await_task_call = await_task_call

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> R:
        """Send a request and return its result; answer the server's input requests on the way.

        Args:
            method: The method.
            params: Its params.
            timeout_s: Seconds that each round trip may take.
            progress: Called with each progress notification.

        Raises:
            UsageError: The params cannot be encoded; nothing was sent.
            InvalidResult: The result does not fit the method; the message ends in the path.
            InputRefused: The client's user refused an input request.
            ProtocolError: An unexpected result type, an undeclared input request, or more than
                `max_rounds` round trips.
            UrlElicitationRequired: The user must visit a page first, and did not.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
        """
        # Fast path for the common case: no hooks, no middleware and not cacheable.
        name = method.name
        plain = not (
            self._outbound.points.get(name) or self._middleware or name in self._cache.cached_fields
        )
        for round_number in range(self._options.settings.max_rounds + 1):
            try:
                if plain:
                    raw = await self._channel.request(
                        method, params, timeout_s=timeout_s, progress=progress
                    )
                    result = self._read(method, raw)
                else:
                    result = await super().request(
                        method, params, timeout_s=timeout_s, progress=progress
                    )
            except McpError as error:
                if "task_id" in getattr(method.params, "__struct_fields__", ()):
                    raise  # the outcome of a task is final: a retry cannot change it
                await self.complete_url_elicitation(error)
                continue
            except NotImplementedError as error:
                # The encoder of wire types raises it for an object that JSON has nothing for.
                raise _not_sent(method, params) or error from None
            if type(result) is self.on_task_created:
                return await self._task_result(method, params, result, timeout_s)
            if type(result) is not self._input_required_type:
                return result if self._restated is None else self._restate(method, result)
            params = await self._next_params(method, params, result, round_number)
        max_rounds = self._options.settings.max_rounds
        raise ProtocolError(f"{method.name}: the server asked {max_rounds} times and is not done")

    async def _exchange(
        self,
        method: Method[P, R],
        params: P,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> R:
        slot = self._cache.slot(method, params)
        if slot is None:
            return await super()._exchange(method, params, timeout_s, progress)
        cached: R | None = self._cache.get(slot)
        if cached is not None:
            return cached
        try:
            result = await super()._exchange(method, params, timeout_s, progress)
        except McpError as error:
            if error.code == InvalidParams.code and getattr(params, "cursor", None) is not None:
                self._cache.forget(method.name)
            raise
        if type(result) not in self._extensions.arms:
            self._cache.put(slot, result)
        return result

    def result_in(self, method: Method[Any, R], plain: Any) -> R:
        """Decode a result of a method that was nested in another message, from plain JSON.

        Raises:
            InvalidResult: It does not fit the method; the message ends in the path.
        """
        tagged = method.results[0].__struct_config__
        if tagged.tag_field is not None:
            plain = {tagged.tag_field: tagged.tag, **plain}  # a nested result may omit its tag
        result = self._read(method, msgspec.Raw(mcp_wire.encode(plain)))
        if type(result) in (self._input_required_type, self.on_task_created):
            super()._other_kind(method, result)
        return result if self._restated is None else self._restate(method, result)

    def _restate(self, method: Method[P, R], result: R) -> R:
        extensions = self._extensions
        if method.name in extensions.owners or type(result) in extensions.arms:
            return result  # results of extensions have one shape at every revision
        restated: R = restate(result, self._restated or "").value
        return restated

    async def _task_result(
        self, method: Method[P, R], params: P, result: R, timeout_s: float | None
    ) -> R:
        """Return the outcome of the task that a call became, or the task if the call asked for one.

        Raises:
            ProtocolError: The call did not ask for a task.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
        """
        call: Any = params
        if self.server_may_start_tasks and self._await_task_call is not None:
            outcome: R = await self._await_task_call(call.name, result, timeout_s)
            return outcome
        if not self.server_may_start_tasks and call.task is None:
            super()._other_kind(method, result)
        return result

    def _read_other(self, method: Method[Any, R], raw: msgspec.Raw, refused: InvalidResult) -> R:
        """Return the result that starts a task, at revisions whose results have no tag for it.

        Raises:
            InvalidResult: `refused`, if it is no result of the negotiated revision, either.
        """
        created: R | None = None
        if not self.server_may_start_tasks and self.on_task_created in method.results:
            created = self.task_in(raw)
        return super()._read_other(method, raw, refused) if created is None else created

    def task_in(self, raw: msgspec.Raw) -> Any:
        """Return the result that starts a task; None if `raw` is another result."""
        try:
            return mcp_wire.decode(self.on_task_created, raw)
        except msgspec.DecodeError:
            return None

    def watch_results(self, result_type: Any, act: Callable[[msgspec.Raw], None]) -> None:
        """Call a function with each result of a wire type as it came."""
        check = self._check_result

        def checked(method: Method[Any, Any], raw: msgspec.Raw) -> None:
            if check is not None:
                check(method, raw)
            if method.result is result_type:
                act(raw)

        self._check_result = checked

    def _check_conformance(self, method: Method[Any, Any], raw: msgspec.Raw) -> None:
        """Report the parts of a result that the negotiated revision does not define.

        Raises:
            ProtocolError: There are violations, and the validation is `strict`.
        """
        arms = self._extensions.arms.keys() & self._extra_results.get(method.name, ())
        types = dict.fromkeys([method.result, *method.results, *arms])
        each = (list(violations(type_, raw, self._spoken.revision, "$.result")) for type_ in types)
        found = min(each, key=len)
        for violation in found:
            if self._connection.on_violation is not None:
                self._connection.on_violation(method.name, violation)
        if found and self._validation == "strict":
            raise ProtocolError(f"{method.name}: {found[0]}")

    def _other_kind(self, method: Method[Any, Any], result: Any) -> None:
        if type(result) is not self._input_required_type:
            super()._other_kind(method, result)

    # --- multi round-trip requests ---

    async def _next_params(
        self, method: Method[P, Any], params: P, result: Any, round_number: int
    ) -> P:
        """Return the params of the next round trip."""
        requests: dict[str, Any] = result.input_requests or {}
        if not requests and result.request_state is None:
            raise ProtocolError(
                f"{method.name}: the server wants to be asked again, and says nothing to add"
            )
        answers = await self.answers(method, requests)
        if not answers and round_number:
            await asyncio.sleep(min(BACK_OFF_S * 2**round_number, MAX_BACK_OFF_S))
        untyped: Any = params
        changed: P = msgspec.structs.replace(
            untyped, input_responses=answers or None, request_state=result.request_state
        )
        return changed

    async def answers(
        self, method: Method[Any, Any], requests: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the client's answers to the input requests of a method, by key.

        Raises:
            ProtocolError: A request of a method that the client did not declare.
            InputRefused: A request was refused.
        """
        pending = (self._answer(method, request) for request in requests.values())
        return dict(zip(requests, await gather_all(*pending), strict=True))

    async def _answer(self, method: Method[Any, Any], request: Any) -> Any:
        route = self._connection.routes.get(request.method)
        if route is None:
            error = ProtocolError(
                f"{method.name}: the server asks for {request.method}, which was not declared"
            )
            self._connection.report_refusal(request.method, error)
            raise error
        params = route.method.params() if request.params is None else request.params
        revision = self._spoken.revision
        return restate(
            await route.call(self.context, restate(params, revision).value), revision
        ).value

    # --- URL elicitation ---

    async def complete_url_elicitation(self, error: McpError) -> None:
        """Run the URL elicitations that an error requires; raise any other error.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
        """
        code = self._spoken.errors.url_elicitation_required
        if code is None or error.code != code:
            raise error
        required = UrlElicitationRequired.from_error(error)
        if required is None:
            raise error
        required.code, required.data = error.code, error.data
        answers = self._options.answers(self._spoken)
        for page in required.elicitations:
            if (await answers.run_url_elicitation(self.context, page)).action != "accept":
                raise required from error


def _not_sent(method: Method[Any, Any], params: Any) -> UsageError | None:
    """Return the error for params that cannot be encoded; None if they can."""
    for name in getattr(params, "__struct_fields__", ()):
        try:
            mcp_wire.encode(getattr(params, name))
        except NotImplementedError as error:
            # Raised as above: this is the part that cannot be encoded.
            return UsageError(f"{method.name}: {error}; write `{name}=str(...)`, or other JSON")
    return None

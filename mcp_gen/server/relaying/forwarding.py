"""Forwards requests to a remote server, with its input requests to the caller."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import (
    InvalidParams,
    McpError,
    McpGenError,
    MethodNotFound,
    ProtocolError,
    UrlElicitationRequired,
    UsageError,
)
from mcp_gen.core.projection.project import restate
from mcp_gen.core.transport.header_params import UnmirroredArgument
from mcp_gen.server.context.context import input_params_of, runtime_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.relaying.caller_relay import CallerRelay, accepts_input_requests
from mcp_gen.server.relaying.methods import raw_call, row
from mcp_gen.server.relaying.suspended_calls import SuspendedCall
from mcp_gen.session.kernel.errors import InternalMcpError
from mcp_gen.session.kernel.results import RelayedResult
from mcp_wire import latest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

    from mcp_gen.core.relay import Relay
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_gen.server.relaying.suspended_calls import SuspendedCalls
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["Forwarder", "at_revision"]

_MAY_SEND_INPUT_REQUESTS = frozenset[str]({"call_tool", "get_prompt", "read_resource"})
"""Requests during which servers may send input requests."""
_NOT_REPEATABLE = frozenset[str]({"call_tool", "cancel_task"})
"""Requests that are not retried after a disconnect, because they may have had an effect."""


class Forwarder:
    """Forwards requests to the server of one session, as the revisions of both sides require.

    Args:
        relay: The relay of the session.
        title: What error texts begin with, such as `mount 'weather'`.
        suspended: Calls that stay open between the rounds of a multi round-trip request.
    """

    passes_tasks = False
    """True if clients get the tasks of the remote server, and may request one."""

    def __init__(self, relay: Relay, title: str, suspended: SuspendedCalls) -> None:
        self.relay = relay
        self.title = title
        self.suspended = suspended

    def caller(self, ctx: Context) -> CallerRelay:
        """Return the caller of a request, who answers the input requests of the remote server."""
        return CallerRelay(ctx)

    def call(self, ctx: Context, what: MethodName, params: Any) -> Awaitable[Any]:
        """Forward a request and return its result.

        Raises:
            McpError: The error of the remote server, or that it is unreachable.
            MethodNotFound: Its revision has no such request.
        """
        # Not async, as some methods below: each call saves a coroutine.
        forwarded: Awaitable[Any] = self._forwarder(ctx, what)(ctx, what, params)
        return forwarded

    def _forwarder(self, ctx: Context, what: MethodName) -> Any:
        """Return the method that forwards a request, by how both revisions send input requests."""
        if (
            what not in _MAY_SEND_INPUT_REQUESTS
            or not self.relay.relays_input_requests
            or not accepts_input_requests(ctx)
        ):
            return self._forward
        is_live = ctx.profile.asks_client == "server_request"
        if self.relay.profile.asks_client == "server_request":
            return self._forward_with_server_requests if is_live else self._forward_suspended
        return self._forward_round_trips if is_live else self._forward

    async def _forward(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Forward the request; an InputRequiredResult is a result like any other."""
        return self.result(ctx, what, await self._request(self.caller(ctx), what, params))

    async def _forward_with_server_requests(
        self, ctx: Context, what: MethodName, params: Any
    ) -> Any:
        """Forward the request; send its input requests to the client as server requests."""

        async def run(ctx: Context, params: Any) -> Any:
            return await self._forward(ctx, what, params)

        return await run_with_rounds(ctx, params, run)

    async def _forward_round_trips(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Forward each round: send the returned input requests to the client, then call again."""

        async def run(ctx: Context, params: Any) -> Any:
            raw = await self._request(
                self.caller(ctx),
                what,
                params,
                input_responses=_responses_at(ctx.input_responses, self.relay.profile),
                request_state=ctx.request_state,
            )
            return self.decoded(what, raw)

        return await run_with_rounds(ctx, params, run)

    async def _forward_suspended(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Forward the request and keep it open while its input requests are in results."""

        async def run(ctx: Context, params: Any) -> Any:
            ttl_s = runtime_of(ctx).request_states.ttl_s
            if ctx.request_state is None:
                caller = self.caller(ctx)
                call = SuspendedCall(caller, self._request(caller, what, params))
                outcome = await self.suspended.begin(call, ttl_s)
            else:
                outcome = await self.suspended.resume(ctx.request_state, ctx, ttl_s)
            if isinstance(outcome, latest.InputRequiredResult):
                return outcome
            return self.result(ctx, what, outcome)

        return await run_with_rounds(ctx, params, run)

    def _request(
        self, caller: CallerRelay, what: MethodName, params: Any, **fields: Any
    ) -> Coroutine[Any, Any, Raw]:
        """Send a request, with params of the caller's revision, and return the undecoded result."""
        method = row(what, self.relay.profile.revision)
        if method is None:
            revision = self.relay.profile.revision
            raise MethodNotFound(f"{self.title}: {revision} has no such request")
        return self.send(caller, what, method, params, **fields)

    async def send(
        self,
        caller: CallerRelay,
        what: MethodName,
        method: Method[Any, Any],
        params: Any,
        **fields: Any,
    ) -> Raw:
        """Send a request of a method row, and return the undecoded result."""
        ctx, remote_profile = caller.ctx, self.relay.profile
        hop_keys = _hop_keys(ctx.revision)
        outer_meta: dict[str, Any] = params.meta or {}
        inner_meta: dict[str, Any] = {
            k: value for k, value in outer_meta.items() if k not in hop_keys
        }
        inner_params = replace(params, meta=inner_meta)
        if not self.passes_tasks and getattr(inner_params, "task", None) is not None:
            # Clients would request the task here, where it is unknown.
            inner_params = replace(inner_params, task=None)
        if remote_profile is not ctx.profile:
            inner_params = self.params_at(inner_params, remote_profile.revision)
        try:
            raw = await self.relay.request(
                method,
                replace(inner_params, **fields) if fields else inner_params,
                asker=caller,
                progress=caller.progress if caller.wants_progress else None,
                again=what not in _NOT_REPEATABLE,
            )
        except McpError as error:
            await caller.flush()
            raise self.translate_error(ctx, what, error) from error
        except UnmirroredArgument as error:
            # The caller's fault, which this server would not notice: its own tool has no header.
            raise InvalidParams(f"{method.name}: {error}") from error
        except McpGenError as error:
            raise self.unavailable(error) from error
        except asyncio.CancelledError:
            caller.stop_notifying()
            raise
        await caller.flush()
        if memoryview(raw)[0] != ord("{"):
            raise self.invalid_result(what, "expected an object")
        return raw

    def params_at(self, params: Any, revision: str) -> Any:
        """Return params at the revision of the remote server."""
        return at_revision(params, revision)

    def result(self, ctx: Context, what: MethodName, raw: Raw) -> Any:
        """Return the result for the caller: as it is, or decoded."""
        if self.relay.profile is ctx.profile:
            return RelayedResult(raw)
        return self.decoded(what, raw)

    def decoded(self, what: MethodName, raw: Raw) -> Any:
        """Decode a result as the newest type, without the remote server info in `_meta`."""
        method: Any = row(what, mcp_wire.LATEST)
        try:
            result = method.decode_result(raw)
        except ValueError as error:
            raise self.invalid_result(what, str(error)) from None
        key = self.relay.profile.server_info_key
        if key and result.meta and key in result.meta:
            meta = {name: value for name, value in result.meta.items() if name != key}
            result = replace(result, meta=meta or None)
        return result

    # --- errors ---

    def invalid_result(self, what: MethodName, reason: str) -> McpError:
        """Return the error to answer with for a result that the protocol does not allow."""
        return InternalMcpError(
            ProtocolError.code, f"{self.title}: a wrong result of {what}: {reason}"
        )

    def unavailable(self, error: McpGenError) -> McpError:
        """Return the error to answer with when the remote server cannot be reached.

        Raises:
            UsageError, McpError: `error`, if it is one of these.
        """
        if isinstance(error, UsageError | McpError):
            raise error
        return InternalMcpError(
            ProtocolError.code, f"{self.title}: its server cannot be reached: {error}"
        )

    def translate_error(self, ctx: Context, what: MethodName, error: McpError) -> McpError:
        """Return the remote error, with the code that the caller's revision has for it."""
        remote_profile = self.relay.profile
        url_code = remote_profile.errors.url_elicitation_required
        if url_code and error.code == url_code != ctx.profile.errors.url_elicitation_required:
            if input_params_of(ctx) is None:
                return error  # the client cannot get input requests now
            return UrlElicitationRequired.from_error(error) or error
        is_not_found = (
            what == "read_resource" and error.code == remote_profile.resource_not_found_code
        )
        if is_not_found and (error.code != InvalidParams.code or _has_uri(error)):
            return McpError(ctx.profile.resource_not_found_code, error.message, error.data)
        return error


def at_revision(params: Any, revision: str) -> Any:
    """Return params at a revision; raw call params are copied, others projected."""
    kind = raw_call(revision)
    if type(params).__name__ == kind.__name__:
        return kind(name=params.name, arguments=params.arguments, meta=params.meta)
    return restate(params, revision).value


def _has_uri(error: McpError) -> bool:
    """Return True if an error is about a URI; its code alone is ambiguous."""
    data: Any = error.data
    return isinstance(data, dict) and "uri" in data


@cache
def _hop_keys(revision: str) -> frozenset[str | None]:
    """Return the `_meta` keys that are not forwarded: they concern one connection only."""
    profile = mcp_wire.profile(revision)
    return frozenset(
        (
            profile.protocol_version_key,
            profile.client_capabilities_key,
            profile.client_info_key,
            profile.log_level_key,
            profile.subscription_id_key,
            profile.progress_token_key,
        )
    )


def _responses_at(responses: Any, profile: Profile) -> dict[str, Any] | None:
    if responses is None:
        return None
    return {key: restate(value, profile.revision).value for key, value in responses.items()}

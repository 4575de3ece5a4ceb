"""Mount of a client session; results are forwarded undecoded if both revisions are equal."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Sequence
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
    RequestTimeout,
    TransportError,
    UrlElicitationRequired,
    UsageError,
)
from mcp_gen.core.projection.project import restate
from mcp_gen.core.relay import relay_of
from mcp_gen.server.context.context import input_params_of, runtime_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.mounting.caller_relay import CallerRelay, accepts_input_requests
from mcp_gen.server.mounting.kinds import KINDS, RESOURCES, TEMPLATES, raw_call, row
from mcp_gen.server.mounting.mount import ListItem, Mount, template_matches
from mcp_gen.server.mounting.remote_list import RemoteList
from mcp_gen.server.mounting.remote_notifications import RemoteNotifications
from mcp_gen.server.mounting.suspended_calls import SuspendedCall, SuspendedCalls
from mcp_gen.session.kernel.errors import InternalMcpError
from mcp_gen.session.kernel.results import RelayedResult
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.core.relay import RemoteSession
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.kinds import FeatureKind, MethodName
    from mcp_gen.server.mounting.mount import Mounting
    from mcp_wire import Wire
    from mcp_wire.profile import Profile

__all__ = ["RemoteMount"]

_MAY_SEND_INPUT_REQUESTS = frozenset[str]({"call_tool", "get_prompt", "read_resource"})
"""Requests during which servers may send input requests."""
MATCHED_AT_ONCE = 50
"""URIs that are matched with the templates of a mount in one turn of the event loop."""
_NOT_REPEATABLE = frozenset[str]({"call_tool"})
"""Requests that are not retried after a disconnect, because they may have had an effect."""


class RemoteMount(Mount):
    """Mount of a client session.

    Args:
        outer: The server that it is mounted in.
        prefix: Prefix of its tools and prompts; None for no prefix.
        separator: Text between the prefix and a name.
        session: The session, connected to the remote server.

    Raises:
        UsageError: The prefix is invalid.
    """

    def __init__(
        self, outer: Mounting, prefix: str | None, separator: str, session: RemoteSession
    ) -> None:
        super().__init__(outer, prefix, separator)
        self._session = session
        self.relay = relay_of(session)
        self.lists = {
            kind: RemoteList(kind, self.relay, self.title, self.rename_outward, self.warn)
            for kind in KINDS
        }
        self._suspended = SuspendedCalls()
        self._notifications = RemoteNotifications(self)

    @property
    def title(self) -> str:
        """Prefix of the mount, or the name of the remote server if there is none."""
        return repr(self.relay.name if self.prefix is None else self.prefix)

    @property
    def target(self) -> RemoteSession:
        """Mounted session."""
        return self._session

    def features(self) -> frozenset[str]:
        """Return the features that the remote server declared and a mount forwards."""
        declared = self.relay.capabilities
        passing = ("completions", "logging", "prompts", "resources", "tools")
        found = {value for value in passing if getattr(declared, value, None) is not None}
        completes = row("complete", self.relay.profile.revision)
        if completes is not None and not completes.capability:
            found.add("completions")  # no such capability at this revision: assume it
        return frozenset(found)

    @property
    def has_unlisted(self) -> bool:
        """True if the remote server has resources: it need not list all of them."""
        return "resources" in self.features()

    # --- items ---

    def names(self, kind: FeatureKind) -> Iterable[str]:
        """Return the outer names or URIs of the items listed so far."""
        return [item.name for item in self.lists[kind].items.values()]

    async def items(self, ctx: Context, kind: FeatureKind) -> Sequence[ListItem]:
        """Return the items of a list; the cached ones if the remote server is unreachable.

        Where headers repeat arguments, tools that mark theirs wrongly are left out: clients would
        drop them. Their calls are forwarded all the same.
        """
        await self.fetch_list(kind)
        remote_list = self.lists[kind]
        items = list(remote_list.items.values())
        if not (remote_list.has_wrong_marks and _repeats_arguments(ctx)):
            return items
        for item in items:
            if item.wrong_marks:
                self.warn(item.name, f"is left out over HTTP: {item.wrong_marks}")
        return [item for item in items if not item.wrong_marks]

    async def fetch_list(self, kind: FeatureKind) -> None:
        """Fetch a list, unless the cached one is fresh."""
        remote_list = self.lists[kind]
        previous = remote_list.items
        self._notifications.open()
        await remote_list.refresh(self._notifications.covers(kind))
        if remote_list.items is not previous:
            kind.of(self.outer).invalidate()

    def is_static(self, ctx: Context, kind: FeatureKind) -> bool:
        """Return True if the cached list is valid for all clients until list_changed."""
        remote_list = self.lists[kind]
        has_notifications = self._notifications.covers(kind)
        if remote_list.has_wrong_marks and ctx.profile.param_header_prefix is not None:
            return False  # over another transport, the same revision has another list
        return (
            has_notifications
            and not remote_list.private
            and remote_list.is_fresh(has_notifications)
        )

    def has_item(self, ctx: Context, kind: FeatureKind, name: str) -> bool | None:
        """Return True if an inner item is listed; None if the list may be outdated."""
        remote_list = self.lists[kind]
        if name in remote_list.items:
            return True
        return False if remote_list.is_fresh(self._notifications.covers(kind)) else None

    async def readable(self, ctx: Context, uri: str) -> bool | None:
        """Return True if a listed resource or template covers a URI; fetches the lists if not."""
        if not self._lists_reader(uri):
            # A positive match in an outdated list is trusted; a negative one is not.
            await asyncio.gather(self.fetch_list(RESOURCES), self.fetch_list(TEMPLATES))
        return self._lists_reader(uri)

    def _lists_reader(self, uri: str) -> bool:
        if uri in self.lists[RESOURCES].items:
            return True
        return any(template_matches(template, uri) for template in self.lists[TEMPLATES].items)

    def peek(self, ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
        """Return the description of an inner item as it was listed last."""
        item = self.lists[kind].items.get(name)
        return item.described if item else None

    async def subscribe(self, ctx: Context, uris: Sequence[str], holder: Hashable) -> None:
        """Subscribe to those resources for a holder that the remote server has.

        Errors are logged.
        """
        found = await self._readable_among(uris)
        if found:
            try:
                await self._notifications.hold_subscriptions(found, holder)
            except McpGenError as error:
                self.warn(found[0], f"is not watched: {error}")

    async def _readable_among(self, uris: Sequence[str]) -> list[str]:
        """Return the URIs that a listed resource or template covers; lists are fetched once."""
        found: list[str] = []
        fetched = False
        for number, uri in enumerate(uris, 1):
            covered = self._lists_reader(uri)
            if not covered and not fetched:
                fetched = True
                await asyncio.gather(self.fetch_list(RESOURCES), self.fetch_list(TEMPLATES))
                covered = self._lists_reader(uri)
            if covered:
                found.append(uri)
            if number % MATCHED_AT_ONCE == 0:
                # Each URI is matched with each template: other clients have their turn.
                await asyncio.sleep(0)
        return found

    def unsubscribe(self, uris: Iterable[str], holder: Hashable) -> None:
        """End subscriptions of `subscribe`."""
        self._notifications.release_subscriptions(uris, holder)

    # --- requests ---

    async def call(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Forward a request to the remote server and return its result.

        Raises:
            McpError: The error of the remote server, or that it is unreachable.
            MethodNotFound: Its revision has no such request.
        """
        if what == "subscribe":
            try:
                await self._notifications.subscribe(ctx, params.uri)
            except (RequestTimeout, TransportError) as error:
                raise self._unavailable(error) from error
            return latest.EmptyResult()
        if what == "unsubscribe":
            await self._notifications.unsubscribe(ctx, params.uri)
            return latest.EmptyResult()
        try:
            if self.relay.is_lost:
                await self.relay.ready()
        except McpGenError as error:
            raise self._unavailable(error) from error
        self._notifications.open()
        return await self._forwarder(ctx, what)(ctx, what, params)

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
        return self._result(ctx, what, await self._request(CallerRelay(ctx), what, params))

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
                CallerRelay(ctx),
                what,
                params,
                input_responses=_responses_at(ctx.input_responses, self.relay.profile),
                request_state=ctx.request_state,
            )
            return self._decoded(what, raw)

        return await run_with_rounds(ctx, params, run)

    async def _forward_suspended(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Forward the request and keep it open while its input requests are in results."""

        async def run(ctx: Context, params: Any) -> Any:
            if ctx.request_state is None:
                caller = CallerRelay(ctx)
                call = SuspendedCall(caller, self._request(caller, what, params))
            else:
                call = self._suspended.take(ctx.request_state)
            call.resume(ctx)
            try:
                raw = await call.outcome()
            except asyncio.CancelledError:
                call.cancel()
                raise
            if raw is not None:
                return self._result(ctx, what, raw)
            ttl_s = runtime_of(ctx).request_states.ttl_s
            return latest.InputRequiredResult(
                input_requests=call.input_requests(), request_state=self._suspended.put(call, ttl_s)
            )

        return await run_with_rounds(ctx, params, run)

    async def _request(
        self, caller: CallerRelay, what: MethodName, params: Any, **fields: Any
    ) -> Raw:
        """Send a request, with params of the caller's revision, and return the undecoded result."""
        ctx, remote_profile = caller.ctx, self.relay.profile
        method = row(what, remote_profile.revision)
        if method is None:
            raise MethodNotFound(
                f"mount {self.title}: {remote_profile.revision} has no such request"
            )
        hop_keys = _hop_keys(ctx.revision)
        outer_meta: dict[str, Any] = params.meta or {}
        inner_meta: dict[str, Any] = {
            k: value for k, value in outer_meta.items() if k not in hop_keys
        }
        inner_params = replace(params, meta=inner_meta)
        if getattr(inner_params, "task", None) is not None:
            # Clients would request the task here, where it is unknown.
            inner_params = replace(inner_params, task=None)
        if remote_profile is not ctx.profile:
            inner_params = _at_revision(inner_params, remote_profile.revision)
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
            raise self._translate_error(ctx, what, error) from error
        except McpGenError as error:
            raise self._unavailable(error) from error
        except asyncio.CancelledError:
            caller.stop_notifying()
            raise
        await caller.flush()
        if memoryview(raw)[0] != ord("{"):
            raise self._invalid_result(what, "expected an object")
        return raw

    def _result(self, ctx: Context, what: MethodName, raw: Raw) -> Any:
        if self.relay.profile is ctx.profile:
            return RelayedResult(raw)
        return self._decoded(what, raw)

    def _decoded(self, what: MethodName, raw: Raw) -> Any:
        """Decode a result as the newest type, without the remote server info in `_meta`."""
        method: Any = row(what, mcp_wire.LATEST)
        try:
            result = method.decode_result(raw)
        except ValueError as error:
            raise self._invalid_result(what, str(error)) from None
        key = self.relay.profile.server_info_key
        if key and result.meta and key in result.meta:
            meta = {name: value for name, value in result.meta.items() if name != key}
            result = replace(result, meta=meta or None)
        return result

    # --- errors ---

    def _invalid_result(self, what: MethodName, reason: str) -> McpError:
        return InternalMcpError(
            ProtocolError.code, f"mount {self.title}: a wrong result of {what}: {reason}"
        )

    def _unavailable(self, error: McpGenError) -> McpError:
        if isinstance(error, UsageError | McpError):
            raise error
        return InternalMcpError(
            ProtocolError.code, f"mount {self.title}: its server cannot be reached: {error}"
        )

    def _translate_error(self, ctx: Context, what: MethodName, error: McpError) -> McpError:
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

    # --- start and end ---

    async def enter(self) -> None:
        """Do nothing: lists are fetched and subscriptions opened on request."""

    async def leave(self) -> None:
        """Cancel the suspended calls and all subscriptions of this mount."""
        self._suspended.clear()
        here = asyncio.get_running_loop()
        tasks = [task for task in self._notifications.pause() if task.get_loop() is here]
        if tasks:
            await asyncio.wait(tasks)

    def unmounted(self) -> None:
        """Cancel the suspended calls and stop listening to the session."""
        self._suspended.clear()
        self._notifications.close()


def _repeats_arguments(ctx: Context) -> bool:
    return ctx.headers is not None and ctx.profile.param_header_prefix is not None


def _at_revision(params: Any, revision: str) -> Any:
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

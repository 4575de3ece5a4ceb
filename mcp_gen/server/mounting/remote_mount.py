"""A server at the end of a session, mounted in another: asked raw where nothing must change."""

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
from mcp_gen.core.projection.project import project
from mcp_gen.core.relay import relay_of
from mcp_gen.server.context.context import input_params_of, runtime_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.mounting.caller_relay import CallerRelay, can_be_asked
from mcp_gen.server.mounting.kinds import KINDS, RESOURCES, TEMPLATES, raw_call, row
from mcp_gen.server.mounting.mount import Mount, Mounted, template_matches
from mcp_gen.server.mounting.remote_list import RemoteList
from mcp_gen.server.mounting.remote_notifications import RemoteNotifications
from mcp_gen.server.mounting.suspended_calls import SuspendedCall, SuspendedCalls
from mcp_gen.session.kernel.results import RelayedResult
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.core.relay import RemoteSession
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.kinds import FeatureKind, What
    from mcp_gen.server.mounting.mount import Mounting
    from mcp_wire import Wire
    from mcp_wire.profile import Profile

__all__ = ["RemoteMount"]

_ASKS = frozenset[str]({"call_tool", "get_prompt", "read_resource"})
"""The requests in which servers may ask back."""
_CHANGES = frozenset[str]({"call_tool"})
"""The requests of which nobody knows what became, where the server went away meanwhile."""


class RemoteMount(Mount):
    """What the server of a session has, for as long as it is mounted."""

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
        """The prefix, or else what the server calls itself."""
        return repr(self.relay.name if self.prefix is None else self.prefix)

    @property
    def target(self) -> RemoteSession:
        """The session."""
        return self._session

    def features(self) -> frozenset[str]:
        """What the server has declared, of what passes through a mount."""
        declared = self.relay.capabilities
        passing = ("completions", "logging", "prompts", "resources", "tools")
        found = {one for one in passing if getattr(declared, one, None) is not None}
        completes = row("complete", self.relay.profile.revision)
        if completes is not None and not completes.capability:
            found.add("completions")  # nobody declares it there, so it may be
        return frozenset(found)

    @property
    def has_unlisted(self) -> bool:
        """What it lists need not be all, if it has resources."""
        return "resources" in self.features()

    # --- what is there ---

    def names(self, kind: FeatureKind) -> Iterable[str]:
        """The names or URIs outside of what it has listed so far."""
        return [item.name for item in self.lists[kind].items.values()]

    async def items(self, ctx: Context, kind: FeatureKind) -> Sequence[Mounted]:
        """What it lists; where it cannot be reached, what it last did."""
        await self.learn(kind)
        return list(self.lists[kind].items.values())

    async def learn(self, kind: FeatureKind) -> None:
        """Ask for a list, unless what it last was still holds good."""
        listed = self.lists[kind]
        before = listed.items
        self._notifications.open()
        await listed.refresh(self._notifications.covers(kind))
        if listed.items is not before:
            kind.of(self.outer).forget()

    def is_static(self, ctx: Context, kind: FeatureKind) -> bool:
        """Whether the list stays the same for everybody until it is said to have changed."""
        listed = self.lists[kind]
        told = self._notifications.covers(kind)
        return told and not listed.private and listed.is_fresh(told)

    def has_item(self, ctx: Context, kind: FeatureKind, name: str) -> bool | None:
        """Whether it lists an item of that name; None where the list is not known, or old."""
        listed = self.lists[kind]
        if name in listed.items:
            return True
        return False if listed.is_fresh(self._notifications.covers(kind)) else None

    async def readable(self, ctx: Context, uri: str) -> bool | None:
        """Whether it lists something that a URI may be read from."""
        if not self._lists_reader(uri):
            # What was listed is believed, what was not is asked for again.
            await asyncio.gather(self.learn(RESOURCES), self.learn(TEMPLATES))
        return self._lists_reader(uri)

    def _lists_reader(self, uri: str) -> bool:
        if uri in self.lists[RESOURCES].items:
            return True
        return any(template_matches(template, uri) for template in self.lists[TEMPLATES].items)

    def peek(self, ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
        """What was listed under that name."""
        item = self.lists[kind].items.get(name)
        return item.described if item else None

    async def subscribe(self, ctx: Context, uri: str, holder: Hashable) -> None:
        """Hear of changes of a resource for somebody, if it is one of the server's."""
        if await self.readable(ctx, uri):
            try:
                await self._notifications.hold_subscription(uri, holder)
            except McpGenError as error:
                self.warn(uri, f"is not watched: {error}")

    def unsubscribe(self, uri: str, holder: Hashable) -> None:
        """The end of `hold`."""
        self._notifications.release_subscription(uri, holder)

    # --- requests ---

    async def call(self, ctx: Context, what: What, params: Any) -> Any:
        """What the server answers to a request."""
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
        return await self._way(ctx, what)(ctx, what, params)

    def _way(self, ctx: Context, what: What) -> Any:
        """How what the server asks meanwhile gets to the client, which depends on both ends."""
        if what not in _ASKS or not self.relay.passes_on or not can_be_asked(ctx):
            return self._pass
        live_here = ctx.profile.asks_client == "server_request"
        if self.relay.profile.asks_client == "server_request":
            return self._call_live if live_here else self._holding
        return self._call_in_rounds if live_here else self._pass

    async def _pass(self, ctx: Context, what: What, params: Any) -> Any:
        """As it is; a question in a result is passed on like any other result."""
        return self._result(ctx, what, await self._request(CallerRelay(ctx), what, params))

    async def _call_live(self, ctx: Context, what: What, params: Any) -> Any:
        """What is asked over one connection is asked over the other."""

        async def answered(ctx: Context, params: Any) -> Any:
            return await self._pass(ctx, what, params)

        return await run_with_rounds(ctx, params, answered)

    async def _call_in_rounds(self, ctx: Context, what: What, params: Any) -> Any:
        """What is asked in a result is asked over the connection, then the call is made again."""

        async def answered(ctx: Context, params: Any) -> Any:
            raw = await self._request(
                CallerRelay(ctx),
                what,
                params,
                input_responses=_restated(ctx.input_responses, self.relay.profile),
                request_state=ctx.request_state,
            )
            return self._decoded(what, raw)

        return await run_with_rounds(ctx, params, answered)

    async def _holding(self, ctx: Context, what: What, params: Any) -> Any:
        """What is asked over the connection is asked in a result, while the call stays open."""

        async def answered(ctx: Context, params: Any) -> Any:
            if ctx.request_state is None:
                caller = CallerRelay(ctx)
                call = SuspendedCall(caller, self._request(caller, what, params))
            else:
                call = self._suspended.take(ctx.request_state)
            call.resume(ctx)
            try:
                raw = await call.outcome()
            except asyncio.CancelledError:
                call.give_up()
                raise
            if raw is not None:
                return self._result(ctx, what, raw)
            ttl_s = runtime_of(ctx).request_states.ttl_s
            return latest.InputRequiredResult(
                input_requests=call.input_requests(), request_state=self._suspended.put(call, ttl_s)
            )

        return await run_with_rounds(ctx, params, answered)

    async def _request(self, caller: CallerRelay, what: What, params: Any, **more: Any) -> Raw:
        """The result as it comes, of a request with the params of the caller's revision."""
        ctx, spoken = caller.ctx, self.relay.profile
        method = row(what, spoken.revision)
        if method is None:
            raise MethodNotFound(f"mount {self.title}: {spoken.revision} has no such request")
        hops = _hop_keys(ctx.revision)
        came: dict[str, Any] = params.meta or {}
        given: dict[str, Any] = {k: one for k, one in came.items() if k not in hops}
        sent = replace(params, meta=given)
        if getattr(sent, "task", None) is not None:
            # Tasks would be asked about here, where nobody knows of them.
            sent = replace(sent, task=None)
        if spoken is not ctx.profile:
            sent = _at_revision(sent, spoken.revision)
        try:
            raw = await self.relay.request(
                method,
                replace(sent, **more) if more else sent,
                asker=caller,
                progress=caller.progress if caller.wants_progress else None,
                again=what not in _CHANGES,
            )
        except McpError as error:
            await caller.flush()
            raise self._at(ctx, what, error) from error
        except McpGenError as error:
            raise self._unavailable(error) from error
        except asyncio.CancelledError:
            caller.stop_notifying()
            raise
        await caller.flush()
        if memoryview(raw)[0] != ord("{"):
            raise self._odd_result(what, "expected an object")
        return raw

    def _result(self, ctx: Context, what: What, raw: Raw) -> Any:
        if self.relay.profile is ctx.profile:
            return RelayedResult(raw)
        return self._decoded(what, raw)

    def _decoded(self, what: What, raw: Raw) -> Any:
        """A result as the newest type, without what it says of the server that made it."""
        method: Any = row(what, mcp_wire.LATEST)
        try:
            result = method.decode_result(raw)
        except ValueError as error:
            raise self._odd_result(what, str(error)) from None
        key = self.relay.profile.server_info_key
        if key and result.meta and key in result.meta:
            meta = {name: one for name, one in result.meta.items() if name != key}
            result = replace(result, meta=meta or None)
        return result

    # --- errors ---

    def _odd_result(self, what: What, why: str) -> McpError:
        return McpError(ProtocolError.code, f"mount {self.title}: a wrong result of {what}: {why}")

    def _unavailable(self, error: McpGenError) -> McpError:
        if isinstance(error, UsageError | McpError):
            raise error
        return McpError(
            ProtocolError.code, f"mount {self.title}: its server cannot be reached: {error}"
        )

    def _at(self, ctx: Context, what: What, error: McpError) -> McpError:
        """The server's error as it is, but for the code of what the caller's revision has too."""
        spoken = self.relay.profile
        pages = spoken.errors.url_elicitation_required
        if pages and error.code == pages != ctx.profile.errors.url_elicitation_required:
            if input_params_of(ctx) is None:
                return error  # nobody to send there
            return UrlElicitationRequired.from_error(error) or error
        missing = what == "read_resource" and error.code == spoken.resource_not_found_code
        if missing and (error.code != InvalidParams.code or _names_uri(error)):
            return McpError(ctx.profile.resource_not_found_code, error.message, error.data)
        return error

    # --- begin and end ---

    async def enter(self) -> None:
        """Nothing is to be begun: what there is is asked when somebody wants to know."""

    async def leave(self) -> None:
        """Calls that nobody can come back for any more are given up, and nothing is heard of."""
        self._suspended.clear()
        here = asyncio.get_running_loop()
        ending = [task for task in self._notifications.pause() if task.get_loop() is here]
        if ending:
            await asyncio.wait(ending)

    def unmounted(self) -> None:
        """It is not mounted any more."""
        self._suspended.clear()
        self._notifications.close()


def _at_revision(params: Any, revision: str) -> Any:
    """Params at a revision; those of most calls have little to restate."""
    kind = raw_call(revision)
    if type(params).__name__ == kind.__name__:
        return kind(name=params.name, arguments=params.arguments, meta=params.meta)
    return project(params, revision).value


def _names_uri(error: McpError) -> bool:
    """Whether an error is about a URI: its code alone may mean other things."""
    data: Any = error.data
    return isinstance(data, dict) and "uri" in data


@cache
def _hop_keys(revision: str) -> frozenset[str | None]:
    """The keys of `_meta` that are between two neighbours."""
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


def _restated(responses: Any, profile: Profile) -> dict[str, Any] | None:
    if responses is None:
        return None
    return {key: project(one, profile.revision).value for key, one in responses.items()}

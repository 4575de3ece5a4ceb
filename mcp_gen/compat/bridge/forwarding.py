"""Forwards the requests of a bridge's clients to one upstream session."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, Raw
from msgspec.structs import replace

import mcp_wire
from mcp_gen.compat.bridge.callers import BridgeCaller
from mcp_gen.compat.bridge.tool_facts import ToolFacts
from mcp_gen.core.errors import InvalidRequest, McpError, McpGenError, MethodNotFound
from mcp_gen.core.projection.project import project_error, restate
from mcp_gen.server.relaying.forwarding import Forwarder
from mcp_gen.server.relaying.methods import raw_call, row
from mcp_gen.session.kernel.results import EncodedResult
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcp_gen.compat.bridge.restating import LossLog
    from mcp_gen.core.relay import Relay
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.relaying.caller_relay import CallerRelay
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_gen.server.relaying.suspended_calls import SuspendedCalls
    from mcp_wire.method import Method

__all__ = ["BridgeForwarder"]


class BridgeForwarder(Forwarder):
    """Forwards requests unchanged, as far as both revisions can say the same.

    Args:
        relay: The relay of the upstream session.
        suspended: Calls that stay open between the rounds of a multi round-trip request.
        losses: Logs what a revision cannot say.
        on_roots: Called with the roots that a client gives.
    """

    passes_tasks = True

    def __init__(
        self,
        relay: Relay,
        suspended: SuspendedCalls,
        losses: LossLog,
        on_roots: Callable[[list[latest.Root]], None],
    ) -> None:
        super().__init__(relay, "bridge", suspended)
        self._losses = losses
        self._on_roots = on_roots
        self.tools = ToolFacts(relay)
        """Facts about the tools of the server."""
        self._cancelling: set[asyncio.Future[None]] = set()
        self._identities: dict[str, dict[str, Any]] = {}
        """Members of `_meta` that name the server, by the revision of the client."""

    def caller(self, ctx: Context) -> BridgeCaller:
        """Return the caller of a request, who answers the questions of the server."""
        return BridgeCaller(ctx, self._on_roots)

    async def _forward_suspended(self, ctx: Context, what: MethodName, params: Any) -> Any:
        result = await super()._forward_suspended(ctx, what, params)
        if type(result) is latest.InputRequiredResult:
            return self.with_identity(result, ctx.revision)
        return result

    async def call_extension(self, ctx: Context, method: Method[Any, Any], params: Any) -> Any:
        """Forward a request of an extension, which only servers of the same revision have.

        Raises:
            MethodNotFound: The server speaks another revision.
        """
        if self.relay.profile is not ctx.profile:
            revision = self.relay.profile.revision
            raise MethodNotFound(f"bridge: a server of {revision} has no `{method.name}`")
        name: Any = method.name
        return EncodedResult(await self.send(self.caller(ctx), name, method, params))

    def _request(
        self, caller: CallerRelay, what: MethodName, params: Any, **fields: Any
    ) -> Coroutine[Any, Any, Raw]:
        if what == "call_tool" and self._may_need_task(caller.ctx):
            return self._call_or_task(caller, params, **fields)
        return super()._request(caller, what, params, **fields)

    async def _call_or_task(self, caller: CallerRelay, params: Any, **fields: Any) -> Raw:
        fact = await self.tools.of(params.name)
        if fact.needs_task:
            return await self._call_as_task(caller, params)
        return await super()._request(caller, "call_tool", params, **fields)

    def _may_need_task(self, ctx: Context) -> bool:
        """Return True if a tool may have to be called as a task for a client without such tasks."""
        theirs = self.relay.profile
        if theirs is ctx.profile or theirs.tasks != "core":
            return False
        return getattr(self.relay.capabilities, "tasks", None) is not None

    async def _call_as_task(self, caller: CallerRelay, params: Any) -> Raw:
        """Call a tool as a task, and return the result of the task when it has ended."""
        types: Any = mcp_wire.types(self.relay.profile.revision)
        created = await super()._request(caller, "call_tool", params, task=types.TaskMetadata())
        try:
            id = mcp_wire.decode(types.CreateTaskResult, created).task.task_id
        except DecodeError:
            return created  # the server has answered at once
        try:
            wanted = types.GetTaskPayloadRequestParams(task_id=id)
            return await super()._request(caller, "get_task_payload", wanted)
        except asyncio.CancelledError:
            cancelling = super()._request(
                caller, "cancel_task", types.CancelTaskRequestParams(task_id=id)
            )
            self._cancelling.add(task := asyncio.ensure_future(_quietly(cancelling)))
            task.add_done_callback(self._cancelling.discard)
            raise

    def params_at(self, params: Any, revision: str) -> Any:
        """Return params at the revision of the server; `_meta` lists what it cannot say."""
        kind = raw_call(revision)
        if type(params).__name__ == kind.__name__:
            return kind(name=params.name, arguments=params.arguments, meta=params.meta)
        return self._losses.restate(params, revision, type(params).__name__)

    def result(self, ctx: Context, what: MethodName, raw: Raw) -> Any:
        """Return the result for the client; `_meta` lists what its revision cannot say."""
        if self.relay.profile is ctx.profile:
            return EncodedResult(raw)
        revision = ctx.revision
        result = self.decoded(what, raw)
        if type(result) is latest.InputRequiredResult:
            return result
        return self.with_identity(self._losses.restate(result, revision, what), revision)

    def with_identity(self, result: Any, revision: str) -> Any:
        """Return a result with name and version of the server, where its revision has them."""
        identity = self._identity(revision)
        if not identity:
            return result
        return replace(result, meta={**identity, **(result.meta or {})})

    def decoded(self, what: MethodName, raw: Raw) -> Any:
        """Return the result at the server's revision, without its identity in `_meta`."""
        profile = self.relay.profile
        method: Any = row(what, profile.revision)
        try:
            result = method.decode_result(raw)
        except ValueError as error:
            raise self.invalid_result(what, str(error)) from None
        own = {profile.server_info_key, profile.related_task_key}
        if result.meta and not own.isdisjoint(result.meta):
            meta = {name: value for name, value in result.meta.items() if name not in own}
            result = replace(result, meta=meta or None)
        return result

    def _identity(self, revision: str) -> dict[str, Any]:
        """Return the members of `_meta` with which results of a revision name the server."""
        found = self._identities.get(revision)
        if found is None:
            key = mcp_wire.profile(revision).server_info_key
            info = self.relay.info
            found = (
                {}
                if key is None or info is None
                else {key: Raw(encode(restate(info, revision).value))}
            )
            self._identities[revision] = found
        return found

    def translate_error(self, ctx: Context, what: MethodName, error: McpError) -> McpError:
        """Return the server's error, with the code that the client's revision has for it."""
        theirs, ours = self.relay.profile, ctx.profile
        if theirs is ours:
            return error
        missing = theirs.errors.missing_required_client_capability
        if error.code == missing and ours.errors.missing_required_client_capability is None:
            return McpError(InvalidRequest.code, error.message, error.data)
        ours_missing = ours.errors.missing_required_client_capability
        if missing is None and ours_missing is not None and _names_capabilities(error):
            return McpError(ours_missing, error.message, error.data)
        found = super().translate_error(ctx, what, error)
        if found is not error:
            return found
        return project_error(error, of=theirs.revision, to=ours.revision)

    def declared_at(self, revision: str) -> Any:
        """Return the capabilities that the server declares, at a revision."""
        declared = self.relay.capabilities
        profile = mcp_wire.profile(revision)
        if self.relay.profile is profile:
            return declared
        restated, losses = restate(declared, revision)
        self._losses.log(losses, "capabilities")
        complete = row("complete", self.relay.profile.revision)
        ours = row("complete", revision)
        if (
            complete is not None
            and not complete.capability
            and ours is not None
            and ours.capability
        ):
            # Its revision has no such capability, so it may complete: clients have to be told.
            restated = replace(restated, completions={})
        return restated


async def _quietly(work: Any) -> None:
    with suppress(McpGenError):
        await work


def _names_capabilities(error: McpError) -> bool:
    """Return True if an error says which capabilities its client should have declared."""
    data: Any = error.data
    return isinstance(data, dict) and "requiredCapabilities" in data

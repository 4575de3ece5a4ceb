"""What a server answers in which others are mounted: what it has itself, or what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import McpError
from mcp_gen.server.content.results import newest
from mcp_gen.server.dispatch.handlers import Handlers
from mcp_gen.server.mounting.kinds import PROMPTS, RESOURCES, TEMPLATES, TOOLS, row
from mcp_gen.server.mounting.lookup import find, reader_of, readers_of
from mcp_gen.server.mounting.merged_lists import page_of
from mcp_gen.server.mounting.mounted_tool import CALLED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.dispatch.handlers import HandlerParts
    from mcp_gen.server.mounting.kinds import FeatureKind, What
    from mcp_gen.server.mounting.mount import Mount, Mounting
    from mcp_gen.server.tools.registry import CallParams
    from mcp_wire import common

__all__ = ["MountHandlers"]


def _page(kind: FeatureKind) -> Any:
    """The handler of a list, whose pages show what is mounted too."""

    async def page(self: MountHandlers, ctx: Context, params: common.PaginatedRequestParams) -> Any:
        as_bytes = not self.is_watched(kind.lists)
        return await page_of(self.server, ctx, kind, params.cursor, as_bytes=as_bytes)

    return page


class MountHandlers(Handlers):
    """Everything a client may ask for, of the server and of what is mounted in it."""

    def __init__(self, parts: HandlerParts, server: Mounting) -> None:
        super().__init__(parts, server.runtime.tasks.manager)
        self.server = server

    # --- lists ---

    # Any: each has the result type of its own list.
    list_tools: Any = _page(TOOLS)
    list_prompts: Any = _page(PROMPTS)
    list_resources: Any = _page(RESOURCES)
    list_resource_templates: Any = _page(TEMPLATES)

    # --- one of what is listed ---

    def call_tool(
        self, ctx: Context, params: CallParams
    ) -> Awaitable[common.CallToolResult | common.InputRequiredResult]:
        """tools/call"""
        found = self.server.tools.listing.find(ctx, params.name)
        if found is None:
            return self._call_tool(ctx, params)
        if found.is_remote:
            return self._call_through(ctx, params)
        return super().call_tool(ctx, params)

    async def _call_through(self, ctx: Context, params: CallParams) -> Any:
        """Call a tool that is mounted, and offered in another way."""
        token = CALLED.set(params)
        try:
            # Rounds are those of whoever has the tool.
            result: Any = await self.server.tools.call(ctx, params)
        finally:
            CALLED.reset(token)
        return newest(result) if self.is_watched("call_tool") else result

    async def _call_tool(self, ctx: Context, params: CallParams) -> Any:
        found = await find(self.server, ctx, TOOLS, params.name)
        if found is None:
            return await super().call_tool(ctx, params)
        mount, name = found
        return await self._pass(mount, ctx, "call_tool", replace(params, name=name))

    async def get_prompt(
        self, ctx: Context, params: common.GetPromptRequestParams
    ) -> common.GetPromptResult | common.InputRequiredResult:
        """prompts/get"""
        found = None
        if self.server.prompts.listing.find(ctx, params.name) is None:
            found = await find(self.server, ctx, PROMPTS, params.name)
        if found is None:
            return await super().get_prompt(ctx, params)
        mount, name = found
        passed: common.GetPromptResult = await self._pass(
            mount, ctx, "get_prompt", replace(params, name=name)
        )
        return passed

    async def read_resource(
        self, ctx: Context, params: common.ReadResourceRequestParams
    ) -> common.ReadResourceResult | common.InputRequiredResult:
        """resources/read"""
        passed: common.ReadResourceResult
        mount = await reader_of(self.server, ctx, params.uri)
        if mount is not None:
            passed = await self._pass(mount, ctx, "read_resource", params)
            return passed
        if self.server.resources.find(ctx, params.uri) is None:
            # Who is far away may have more than it lists.
            refused: McpError | None = None
            for mount in readers_of(self.server):
                try:
                    passed = await self._pass(mount, ctx, "read_resource", params)
                except McpError as error:
                    # Of one that is down nobody knows; the others may have it all the same.
                    if refused is None and error.code != ctx.profile.resource_not_found_code:
                        refused = error
                else:
                    return passed
            if refused is not None:
                raise refused
        return await super().read_resource(ctx, params)

    async def complete(
        self, ctx: Context, params: common.CompleteRequestParams
    ) -> common.CompleteResult:
        """completion/complete"""
        ref: Any = params.ref
        kind = PROMPTS if hasattr(ref, "name") else TEMPLATES
        key = ref.name if kind is PROMPTS else ref.uri
        found = None
        if kind.of(self.server).find(ctx, key) is None:
            found = await find(self.server, ctx, kind, key)
        if found is None:
            return await super().complete(ctx, params)
        mount, name = found
        inside = replace(params, ref=replace(ref, name=name) if kind is PROMPTS else ref)
        passed: common.CompleteResult = await self._pass(mount, ctx, "complete", inside)
        return passed

    # --- subscriptions ---

    async def subscribe(
        self, ctx: Context, params: common.SubscribeRequestParams
    ) -> common.EmptyResult:
        """resources/subscribe"""
        mount = await reader_of(self.server, ctx, params.uri)
        if mount is None:
            return await super().subscribe(ctx, params)
        passed: common.EmptyResult = await self._pass(mount, ctx, "subscribe", params)
        return passed

    async def unsubscribe(
        self, ctx: Context, params: common.UnsubscribeRequestParams
    ) -> common.EmptyResult:
        """resources/unsubscribe"""
        mount = await reader_of(self.server, ctx, params.uri)
        if mount is None:
            # What nobody lists any more may still be watched for this session.
            for one in self.server.mounts:
                one.unsubscribe(params.uri, ctx.session)
            return await super().unsubscribe(ctx, params)
        passed: common.EmptyResult = await self._pass(mount, ctx, "unsubscribe", params)
        return passed

    def subscriptions_listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> Awaitable[common.SubscriptionsListenResult]:
        """subscriptions/listen"""
        if params.notifications.resource_subscriptions:
            return self._listen(ctx, params, params.notifications.resource_subscriptions)
        return super().subscriptions_listen(ctx, params)

    async def _listen(
        self,
        ctx: Context,
        params: common.SubscriptionsListenRequestParams,
        uris: Sequence[str],
    ) -> common.SubscriptionsListenResult:
        mounts, holder = tuple(self.server.mounts), object()
        try:
            for uri in uris:
                for mount in mounts:
                    await mount.subscribe(ctx, uri, holder)
            return await super().subscriptions_listen(ctx, params)
        finally:
            for uri in uris:
                for mount in mounts:
                    mount.unsubscribe(uri, holder)

    # --- results ---

    async def _pass(self, mount: Mount, ctx: Context, what: What, params: Any) -> Any:
        result = await mount.call(ctx, what, params)
        return newest(result, row(what, mcp_wire.LATEST)) if self.is_watched(what) else result

    def is_watched(self, what: What) -> bool:
        """Whether hooks or middleware see the results: these are of the newest types."""
        return bool(self.kernel.middleware or getattr(self.kernel.hooks, what))

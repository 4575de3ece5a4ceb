"""Handlers that route requests to the mounts of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import McpError
from mcp_gen.server.content.results import at_newest
from mcp_gen.server.dispatch.handlers import Handlers
from mcp_gen.server.listing.scopes import NO_SCOPES, require_scopes
from mcp_gen.server.mounting.kinds import PROMPTS, RESOURCES, TEMPLATES, TOOLS
from mcp_gen.server.mounting.lookup import find, find_reader, unlisted_readers
from mcp_gen.server.mounting.merged_lists import page_of
from mcp_gen.server.mounting.mounted_tool import CURRENT_CALL_PARAMS
from mcp_gen.server.relaying.methods import row

if TYPE_CHECKING:
    from collections.abc import Awaitable, Hashable, Iterable, Sequence

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.dispatch.handlers import HandlerParts
    from mcp_gen.server.mounting.kinds import FeatureKind
    from mcp_gen.server.mounting.mount import Mount, Mounting
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_gen.server.tools.registry import CallParams
    from mcp_wire import common

__all__ = ["MountHandlers"]


def _page(kind: FeatureKind) -> Any:
    """Return the handler of a list method, which merges the lists of the mounts."""

    async def page(self: MountHandlers, ctx: Context, params: common.PaginatedRequestParams) -> Any:
        as_bytes = not self.is_watched(kind.lists)
        return await page_of(self.server, ctx, kind, params.cursor, as_bytes=as_bytes)

    return page


class MountHandlers(Handlers):
    """Handlers of a server with mounts: items of its own first, then those of its mounts."""

    def __init__(self, parts: HandlerParts, server: Mounting) -> None:
        super().__init__(parts, server.runtime.tasks.manager)
        self.server = server
        server.notify.listeners.elsewhere = _MountedResources(server)

    # --- lists ---

    # Any: each has the result type of its own list.
    list_tools: Any = _page(TOOLS)
    list_prompts: Any = _page(PROMPTS)
    list_resources: Any = _page(RESOURCES)
    list_resource_templates: Any = _page(TEMPLATES)

    # --- items ---

    def call_tool(
        self, ctx: Context, params: CallParams
    ) -> Awaitable[common.CallToolResult | common.InputRequiredResult]:
        """Answer `tools/call`."""
        found = self.server.tools.listing.find(ctx, params.name)
        if found is None:
            return self._call_tool(ctx, params)
        if found.is_remote:
            return self._call_remote_tool(ctx, params)
        return super().call_tool(ctx, params)

    async def _call_remote_tool(self, ctx: Context, params: CallParams) -> Any:
        """Call a transformed tool of a mount."""
        token = CURRENT_CALL_PARAMS.set(params)
        try:
            # No rounds here: the server that owns the tool runs them.
            result: Any = await self.server.tools.call(ctx, params)
        finally:
            CURRENT_CALL_PARAMS.reset(token)
        return at_newest(result) if self.is_watched("call_tool") else result

    async def _call_tool(self, ctx: Context, params: CallParams) -> Any:
        found = await find(self.server, ctx, TOOLS, params.name)
        if found is None:
            return await super().call_tool(ctx, params)
        mount, name = found
        return await self._forward(mount, ctx, "call_tool", replace(params, name=name))

    async def get_prompt(
        self, ctx: Context, params: common.GetPromptRequestParams
    ) -> common.GetPromptResult | common.InputRequiredResult:
        """Answer `prompts/get`."""
        found = None
        if self.server.prompts.listing.find(ctx, params.name) is None:
            found = await find(self.server, ctx, PROMPTS, params.name)
        if found is None:
            return await super().get_prompt(ctx, params)
        mount, name = found
        result: common.GetPromptResult = await self._forward(
            mount, ctx, "get_prompt", replace(params, name=name)
        )
        return result

    async def read_resource(
        self, ctx: Context, params: common.ReadResourceRequestParams
    ) -> common.ReadResourceResult | common.InputRequiredResult:
        """Answer `resources/read`.

        A URI that no mount lists is tried at each remote mount before it is reported as not found.
        """
        result: common.ReadResourceResult
        mount = await find_reader(self.server, ctx, params.uri)
        if mount is not None:
            result = await self._forward(mount, ctx, "read_resource", params)
            return result
        if self.server.resources.find(ctx, params.uri) is None:
            # A remote server may have resources that it does not list.
            first_error: McpError | None = None
            for mount in unlisted_readers(self.server):
                try:
                    result = await self._forward(mount, ctx, "read_resource", params)
                except McpError as error:
                    # Try the other mounts, even if this one cannot be reached.
                    if first_error is None and error.code != ctx.profile.resource_not_found_code:
                        first_error = error
                else:
                    return result
            if first_error is not None:
                raise first_error
        return await super().read_resource(ctx, params)

    async def complete(
        self, ctx: Context, params: common.CompleteRequestParams
    ) -> common.CompleteResult:
        """Answer `completion/complete`."""
        ref: Any = params.ref
        kind = PROMPTS if hasattr(ref, "name") else TEMPLATES
        key = ref.name if kind is PROMPTS else ref.uri
        found = None
        if kind.of(self.server).find(ctx, key) is None:
            found = await find(self.server, ctx, kind, key)
        if found is None:
            return await super().complete(ctx, params)
        mount, name = found
        inner_params = replace(params, ref=replace(ref, name=name) if kind is PROMPTS else ref)
        result: common.CompleteResult = await self._forward(mount, ctx, "complete", inner_params)
        return result

    # --- subscriptions ---

    async def subscribe(
        self, ctx: Context, params: common.SubscribeRequestParams
    ) -> common.EmptyResult:
        """Answer `resources/subscribe`."""
        mount = await find_reader(self.server, ctx, params.uri)
        if mount is None:
            return await super().subscribe(ctx, params)
        result: common.EmptyResult = await self._forward(mount, ctx, "subscribe", params)
        return result

    async def unsubscribe(
        self, ctx: Context, params: common.UnsubscribeRequestParams
    ) -> common.EmptyResult:
        """Answer `resources/unsubscribe`."""
        mount = await find_reader(self.server, ctx, params.uri)
        if mount is None:
            # The session may still have a subscription to a resource that is no longer listed.
            for mount in self.server.mounts:
                mount.unsubscribe([params.uri], ctx.session)
            return await super().unsubscribe(ctx, params)
        result: common.EmptyResult = await self._forward(mount, ctx, "unsubscribe", params)
        return result

    def subscriptions_listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> Awaitable[common.SubscriptionsListenResult]:
        """Answer `subscriptions/listen`.

        Raises:
            InsufficientScope: The token of the request lacks scopes of a resource.
        """
        uris = params.notifications.resource_subscriptions
        if uris and any(mount.has_scopes for mount in self.server.mounts):
            require_scopes(ctx, NO_SCOPES.union(*(self._scopes_of_uri(ctx, uri) for uri in uris)))
        return super().subscriptions_listen(ctx, params)

    def _scopes_of_uri(self, ctx: Context, uri: str) -> frozenset[str]:
        if self.server.resources.find(ctx, uri) is not None:
            return self.server.resources.scopes_of_uri(ctx, uri)
        for mount in self.server.mounts:
            found = mount.scopes_of(ctx, RESOURCES, uri)
            if found is not None:
                return found
        # A remote server may have a resource that it does not list.
        return NO_SCOPES.union(*(mount.scopes_of_unlisted for mount in self.server.mounts))

    # --- results ---

    async def _forward(self, mount: Mount, ctx: Context, what: MethodName, params: Any) -> Any:
        if mount.has_scopes:
            # All of them at once: the mounted server would name its own alone.
            found = mount.scopes_of(ctx, *_item_of(what, params))
            require_scopes(ctx, mount.scopes if found is None else found)
        result = await mount.call(ctx, what, params)
        return at_newest(result, row(what, mcp_wire.LATEST)) if self.is_watched(what) else result

    def is_watched(self, what: MethodName) -> bool:
        """Return True if hooks or middleware see the result, which is then of the newest types."""
        return bool(self.kernel.middleware or getattr(self.kernel.hooks, what))


def _item_of(what: MethodName, params: Any) -> tuple[FeatureKind, str]:
    """Return the kind and the inner name of the item that a request to a mount is about."""
    if what == "call_tool":
        return TOOLS, params.name
    if what == "get_prompt":
        return PROMPTS, params.name
    if what == "complete":
        ref = params.ref
        return (PROMPTS, ref.name) if hasattr(ref, "name") else (TEMPLATES, ref.uri)
    return RESOURCES, params.uri


class _MountedResources:
    """Watches resources at every mount of a server, for `subscriptions/listen`."""

    def __init__(self, server: Mounting) -> None:
        self._server = server

    async def subscribe(self, ctx: Context, uris: Sequence[str], holder: Hashable) -> None:
        """Subscribe to resources at each mount that has them."""
        for mount in self._server.mounts:
            await mount.subscribe(ctx, uris, holder)

    def unsubscribe(self, uris: Iterable[str], holder: Hashable) -> None:
        """End the subscriptions of a holder to resources."""
        for mount in self._server.mounts:
            mount.unsubscribe(uris, holder)

"""Handlers of resources/list, resources/templates/list, resources/read and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.core.errors import InvalidRequest
from mcp_gen.core.peer_limits import text_bytes
from mcp_gen.server.context.context import outer_of, rounds_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.resources.registry import not_found
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.peer.session import Session
    from mcp_wire import common

__all__ = ["ResourceHandlers", "subscribing_session"]


class ResourceHandlers(ServerHandlers["Context"]):
    """Handlers of the resources/* methods."""

    kernel: Kernel[Context]
    resources: ResourceRegistry

    async def list_resources(
        self, ctx: Context, params: common.PaginatedRequestParams
    ) -> common.ListResourcesResult:
        """Return a page of resources (`resources/list`)."""
        kernel = self.kernel
        as_bytes = not (kernel.hooks.list_resources or kernel.middleware)
        page: common.ListResourcesResult = await self.resources.page(
            ctx, params.cursor, as_bytes=as_bytes
        )
        return page

    async def list_resource_templates(
        self, ctx: Context, params: common.PaginatedRequestParams
    ) -> common.ListResourceTemplatesResult:
        """Return a page of resource templates (`resources/templates/list`)."""
        kernel = self.kernel
        as_bytes = not (kernel.hooks.list_resource_templates or kernel.middleware)
        page: common.ListResourceTemplatesResult = self.resources.templates.page(
            ctx, params.cursor, as_bytes=as_bytes
        )
        return page

    async def read_resource(
        self, ctx: Context, params: common.ReadResourceRequestParams
    ) -> common.ReadResourceResult | common.InputRequiredResult:
        """Read a resource (`resources/read`)."""
        return await run_with_rounds(ctx, params, self._read)

    async def _read(
        self, ctx: Context, params: common.ReadResourceRequestParams
    ) -> common.ReadResourceResult | common.InputRequiredResult:
        hooks, middleware = self.kernel.hooks.read_resource, self.kernel.middleware
        # Hooks see results of the newest types, at every revision.
        revision = mcp_wire.LATEST if hooks else ctx.revision
        is_inner = outer_of(ctx) is not None or rounds_of(ctx) is not None
        # Only where nobody sees the result before the encoder does.
        as_bytes = not (hooks or middleware or is_inner)
        return await self.resources.read(ctx, params.uri, revision, as_bytes=as_bytes)

    async def subscribe(
        self, ctx: Context, params: common.SubscribeRequestParams
    ) -> common.EmptyResult:
        """Subscribe the session to a resource (`resources/subscribe`)."""
        if not await self.resources.knows(ctx, params.uri):
            raise not_found(ctx, params.uri)
        session = subscribing_session(ctx, params.uri)
        session.subscribed.add(params.uri)
        session.unsaved = True
        return latest.EmptyResult()

    async def unsubscribe(
        self, ctx: Context, params: common.UnsubscribeRequestParams
    ) -> common.EmptyResult:
        """Unsubscribe the session from a resource (`resources/unsubscribe`)."""
        # Not an error without subscription: the outcome is the same.
        session = _session(ctx)
        session.subscribed.discard(params.uri)
        session.unsaved = True
        return latest.EmptyResult()


def subscribing_session(ctx: Context, uri: str) -> Session:
    """Return the session of a request that subscribes to a resource.

    Raises:
        InvalidRequest: There is no session, or it has too many subscriptions.
    """
    session = _session(ctx)
    subscribed, limits = session.subscribed, session.host.peer_limits
    if uri in subscribed:
        return session
    if len(subscribed) >= limits.max_subscriptions:
        raise InvalidRequest(
            f"a session may subscribe to {limits.max_subscriptions} resources: unsubscribe from "
            "some"
        )
    if subscribed.size_bytes + text_bytes(uri) > limits.max_subscription_bytes:
        raise InvalidRequest(
            f"the URIs that a session is subscribed to may have {limits.max_subscription_bytes} "
            "bytes: unsubscribe from some"
        )
    return session


def _session(ctx: Context) -> Session:
    if ctx.session is None:
        raise InvalidRequest("a subscription needs a session, and this request has none")
    return ctx.session

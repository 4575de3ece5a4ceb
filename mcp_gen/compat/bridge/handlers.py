"""Handlers of a bridge: the handshake at every revision, and all requests forwarded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.projection.project import restate
from mcp_gen.core.revisions import find_revision
from mcp_gen.server.context.context import origin_of
from mcp_gen.session.http_server.header_check import HeaderCheck
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.compat.bridge.upstream import Upstream
    from mcp_gen.compat.bridge.upstreams import Upstreams
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["BridgeHandlers"]


class BridgeHandlers(ServerHandlers["Context"]):
    """Answers the handshake for the server, and forwards everything else.

    Args:
        kernel: Kernel that routes the requests.
        upstreams: Sessions with the server.
    """

    def __init__(self, kernel: Kernel[Context], upstreams: Upstreams) -> None:
        self._kernel = kernel
        self._upstreams = upstreams

    # --- lifecycle ---

    async def initialize(self, ctx: Context, params: Any) -> Any:
        """Answer `initialize` with what the server says of itself, at the client's revision."""
        origin, offered = origin_of(ctx), self._kernel.handshakes
        profile = mcp_wire.profile(find_revision(params.protocol_version, offered) or offered[-1])
        origin.capabilities, origin.client_info = params.capabilities, params.client_info
        upstream = await self._upstreams.opened_for(origin, profile.revision)
        origin.agreed = profile
        info = upstream.relay.info or latest.Implementation(name="", version="")
        return mcp_wire.types(profile.revision).InitializeResult(
            protocol_version=profile.revision,
            capabilities=upstream.forwarder.declared_at(profile.revision),
            server_info=restate(info, profile.revision).value,
            instructions=upstream.session.instructions,
        )

    async def discover(self, ctx: Context, params: Any) -> Any:
        """Answer `server/discover` with what the server says of itself."""
        upstream = await self._upstreams.of(ctx)
        return upstream.forwarder.with_identity(
            latest.DiscoverResult(
                supported_versions=list(self._kernel.per_request),
                capabilities=upstream.forwarder.declared_at(ctx.revision),
                instructions=upstream.session.instructions,
            ),
            ctx.revision,
        )

    async def ping(self, ctx: Context, params: Any) -> Any:
        """Answer `ping`: the bridge is there."""
        return latest.EmptyResult()

    # --- forwarded ---

    async def _forward(self, ctx: Context, what: MethodName, params: Any) -> Any:
        upstream: Upstream = await self._upstreams.of(ctx)
        return await upstream.call(ctx, what, params)

    async def call_tool(self, ctx: Context, params: Any) -> Any:
        """Forward `tools/call`. It is never sent twice.

        Raises:
            McpError: A header that repeats an argument differs from it.
        """
        upstream: Upstream = await self._upstreams.of(ctx)
        if ctx.headers is None or ctx.profile.param_header_prefix is None:
            return await upstream.call(ctx, "call_tool", params)
        with upstream.in_use():
            fact = await upstream.forwarder.tools.of(params.name)
            if fact.mirrored:
                check = HeaderCheck(ctx.profile, self._kernel.per_request)
                check.arguments(origin_of(ctx).headers, fact.mirrored, params.arguments)
            return await upstream.call(ctx, "call_tool", params)

    async def list_tools(self, ctx: Context, params: Any) -> Any:
        """Forward `tools/list`."""
        return await self._forward(ctx, "list_tools", params)

    async def get_prompt(self, ctx: Context, params: Any) -> Any:
        """Forward `prompts/get`."""
        return await self._forward(ctx, "get_prompt", params)

    async def list_prompts(self, ctx: Context, params: Any) -> Any:
        """Forward `prompts/list`."""
        return await self._forward(ctx, "list_prompts", params)

    async def read_resource(self, ctx: Context, params: Any) -> Any:
        """Forward `resources/read`."""
        return await self._forward(ctx, "read_resource", params)

    async def list_resources(self, ctx: Context, params: Any) -> Any:
        """Forward `resources/list`."""
        return await self._forward(ctx, "list_resources", params)

    async def list_resource_templates(self, ctx: Context, params: Any) -> Any:
        """Forward `resources/templates/list`."""
        return await self._forward(ctx, "list_resource_templates", params)

    async def complete(self, ctx: Context, params: Any) -> Any:
        """Forward `completion/complete`."""
        return await self._forward(ctx, "complete", params)

    # --- subscriptions and log levels ---

    async def subscribe(self, ctx: Context, params: Any) -> Any:
        """Subscribe the session to a resource, at the server with its revision's request."""
        upstream = await self._upstreams.of(ctx)
        await upstream.subscriptions.subscribe(ctx, params.uri)
        return latest.EmptyResult()

    async def unsubscribe(self, ctx: Context, params: Any) -> Any:
        """End a subscription of the session."""
        upstream = await self._upstreams.of(ctx)
        await upstream.subscriptions.unsubscribe(ctx, params.uri)
        return latest.EmptyResult()

    async def subscriptions_listen(self, ctx: Context, params: Any) -> Any:
        """Answer `subscriptions/listen` when the subscription ends."""
        upstream = await self._upstreams.of(ctx)
        return await upstream.listen(ctx, params)

    async def set_level(self, ctx: Context, params: Any) -> Any:
        """Set the log level: at the server, or with each of the next requests."""
        upstream = await self._upstreams.of(ctx)
        return await upstream.set_level(ctx, params) or latest.EmptyResult()

    # --- tasks ---

    async def get_task(self, ctx: Context, params: Any) -> Any:
        """Forward `tasks/get`."""
        return await self._forward(ctx, "get_task", params)

    async def list_tasks(self, ctx: Context, params: Any) -> Any:
        """Forward `tasks/list`."""
        return await self._forward(ctx, "list_tasks", params)

    async def get_task_payload(self, ctx: Context, params: Any) -> Any:
        """Forward `tasks/result`."""
        return await self._forward(ctx, "get_task_payload", params)

    async def cancel_task(self, ctx: Context, params: Any) -> Any:
        """Forward `tasks/cancel`."""
        return await self._forward(ctx, "cancel_task", params)

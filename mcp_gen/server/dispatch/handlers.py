"""Handlers of every method of the protocol: the feature handlers, initialize, discover and ping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

import mcp_wire
from mcp_gen.core.projection.project import restate
from mcp_gen.core.revisions import find_revision
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.listing.scopes import require_scopes
from mcp_gen.server.notifications.log_messages import LogHandlers
from mcp_gen.server.notifications.notifier import SubscriptionHandlers
from mcp_gen.server.prompts.handlers import CompletionHandlers, PromptHandlers
from mcp_gen.server.resources.handlers import ResourceHandlers
from mcp_gen.server.tasks.handlers import TaskHandlers
from mcp_gen.server.tools.handlers import ToolHandlers
from mcp_wire import latest

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.dispatch.declarations import Declarations
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.server.prompts.completion import Completions
    from mcp_gen.server.prompts.registry import PromptRegistry
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire import common

__all__ = ["HandlerParts", "Handlers"]


class HandlerParts(Struct, frozen=True):
    """Parts of a server that its handlers answer from."""

    kernel: Kernel[Context]
    declarations: Declarations
    notify: Notifier
    tools: ToolRegistry
    resources: ResourceRegistry
    prompts: PromptRegistry
    completions: Completions


class Handlers(
    ToolHandlers,
    ResourceHandlers,
    PromptHandlers,
    CompletionHandlers,
    LogHandlers,
    SubscriptionHandlers,
    TaskHandlers,
):
    """Handlers of every method of the protocol.

    Args:
        parts: Parts of the server.
        tasks: Task manager; None without tasks.
    """

    def __init__(self, parts: HandlerParts, tasks: TaskManager | None = None) -> None:
        self.parts = parts
        self.kernel = parts.kernel
        self.declarations = parts.declarations
        self.notify = parts.notify
        self.tools = parts.tools
        self.resources = parts.resources
        self.prompts = parts.prompts
        self.completions = parts.completions
        self.enable_tasks(tasks)

    def enable_tasks(self, tasks: TaskManager | None) -> None:
        """Answer tools/call and the methods of tasks through a task manager from now on."""
        self.task_manager = self.tool_tasks = tasks

    async def initialize(
        self, ctx: Context, params: common.InitializeRequestParams
    ) -> common.InitializeResult:
        """Answer initialize: agree on a revision and declare the capabilities."""
        offered = self.kernel.handshakes
        profile = mcp_wire.profile(find_revision(params.protocol_version, offered) or offered[-1])
        origin_of(ctx).capabilities = params.capabilities
        origin_of(ctx).client_info = params.client_info
        origin_of(ctx).agreed = profile
        result: common.InitializeResult = mcp_wire.types(profile.revision).InitializeResult(
            protocol_version=profile.revision,
            capabilities=self.declarations.capabilities_at(
                profile, known=ctx.session is not None or origin_of(ctx).principal is not None
            ),
            server_info=restate(self.declarations.info, profile.revision).value,
            instructions=self.declarations.instructions,
        )
        return result

    async def ping(self, ctx: Context, params: common.RequestParams) -> common.EmptyResult:
        """Answer ping."""
        return latest.EmptyResult()

    def subscriptions_listen(
        self, ctx: Context, params: common.SubscriptionsListenRequestParams
    ) -> Awaitable[common.SubscriptionsListenResult]:
        """Handle `subscriptions/listen`.

        Raises:
            InsufficientScope: the token of the request lacks scopes of a resource.
        """
        uris = params.notifications.resource_subscriptions
        if uris and self.resources.has_scopes:
            scopes = (self.resources.scopes_of_uri(ctx, uri) for uri in uris)
            needed: frozenset[str] = frozenset()
            require_scopes(ctx, needed.union(*scopes))
        return super().subscriptions_listen(ctx, params)

    async def discover(self, ctx: Context, params: common.RequestParams) -> common.DiscoverResult:
        """Answer server/discover: supported revisions and capabilities."""
        return latest.DiscoverResult(
            supported_versions=list(self.kernel.per_request),
            capabilities=self.declarations.capabilities(ctx.profile),
            instructions=self.declarations.instructions,
            **self.declarations.hints.for_method("discover").fields(),
        )

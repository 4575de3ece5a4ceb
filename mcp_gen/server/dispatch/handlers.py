"""What a server answers to each request: the parts of its features, and how it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import mcp_wire
from mcp_gen.core.projection.project import project
from mcp_gen.core.revisions import find_revision
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.notifications.log_messages import LogHandlers
from mcp_gen.server.notifications.notifier import SubscriptionHandlers
from mcp_gen.server.prompts.handlers import CompletionHandlers, PromptHandlers
from mcp_gen.server.resources.handlers import ResourceHandlers
from mcp_gen.server.tasks.handlers import TaskHandlers
from mcp_gen.server.tools.handlers import ToolHandlers
from mcp_wire import latest

if TYPE_CHECKING:
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


class HandlerParts(NamedTuple):
    """The parts of a server that its handlers answer from."""

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
    """Everything a client may ask for."""

    def __init__(self, parts: HandlerParts, tasks: TaskManager | None = None) -> None:
        self.parts = parts
        self.kernel = parts.kernel
        self.declarations = parts.declarations
        self.notify = parts.notify
        self.tools = parts.tools
        self.resources = parts.resources
        self.prompts = parts.prompts
        self.completions = parts.completions
        self.take_tasks(tasks)

    def take_tasks(self, tasks: TaskManager | None) -> None:
        """Answer calls of tools as tasks from now on."""
        self.task_manager = self.tool_tasks = tasks

    async def initialize(
        self, ctx: Context, params: common.InitializeRequestParams
    ) -> common.InitializeResult:
        """initialize"""
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
            server_info=project(self.declarations.info, profile.revision).value,
            instructions=self.declarations.instructions,
        )
        return result

    async def ping(self, ctx: Context, params: common.RequestParams) -> common.EmptyResult:
        """ping"""
        return latest.EmptyResult()

    async def discover(self, ctx: Context, params: common.RequestParams) -> common.DiscoverResult:
        """server/discover"""
        return latest.DiscoverResult(
            supported_versions=list(self.kernel.per_request),
            capabilities=self.declarations.capabilities(ctx.profile),
            instructions=self.declarations.instructions,
            **self.declarations.hints.of("discover").fields(),
        )

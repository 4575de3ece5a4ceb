"""What a server answers to each request: the parts of its features, and how it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.core.projection.project import project
from mcp_gen.core.revisions import listed
from mcp_gen.server.api.resources import ResourceHandlers
from mcp_gen.server.notifications.log_messages import LogHandlers
from mcp_gen.server.notifications.notifier import NewsHandlers
from mcp_gen.server.prompts.completion import CompletionHandlers
from mcp_gen.server.prompts.registry import PromptHandlers
from mcp_gen.server.tasks.handlers import TaskHandlers
from mcp_gen.server.tools.registry import ToolHandlers
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.server import Server
    from mcp_wire import common

__all__ = ["Handlers"]


class Handlers(
    ToolHandlers,
    ResourceHandlers,
    PromptHandlers,
    CompletionHandlers,
    LogHandlers,
    NewsHandlers,
    TaskHandlers,
):
    """Everything a client may ask for."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.task_manager = lambda: server.tasks

    async def initialize(
        self, ctx: Context, params: common.InitializeRequestParams
    ) -> common.InitializeResult:
        """initialize"""
        offered = self.server.kernel.handshakes
        profile = mcp_wire.profile(listed(params.protocol_version, offered) or offered[-1])
        ctx.caller.capabilities = params.capabilities
        ctx.caller.client_info = params.client_info
        ctx.caller.agreed = profile
        result: common.InitializeResult = mcp_wire.types(profile.revision).InitializeResult(
            protocol_version=profile.revision,
            capabilities=self.server.capabilities_at(
                profile, known=ctx.session is not None or ctx.caller.principal is not None
            ),
            server_info=project(self.server.info, profile.revision).value,
            instructions=self.server.instructions,
        )
        return result

    async def ping(self, ctx: Context, params: common.RequestParams) -> common.EmptyResult:
        """ping"""
        return latest.EmptyResult()

    async def discover(self, ctx: Context, params: common.RequestParams) -> common.DiscoverResult:
        """server/discover"""
        return latest.DiscoverResult(
            supported_versions=list(self.server.kernel.per_request),
            capabilities=self.server.capabilities(ctx.profile),
            instructions=self.server.instructions,
            **self.server.hints.of("discover").fields(),
        )

"""Handlers of prompts/list, prompts/get and completion/complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import InvalidParams
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.listing.scopes import NO_SCOPES, require_scopes
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.prompts.completion import Completions
    from mcp_gen.server.prompts.registry import PromptRegistry
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_gen.server.resources.resource import TemplatedResource
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire import common

__all__ = ["CompletionHandlers", "PromptHandlers"]


class PromptHandlers(ServerHandlers["Context"]):
    """Handlers of prompts/list and prompts/get."""

    kernel: Kernel[Context]
    prompts: PromptRegistry

    async def list_prompts(
        self, ctx: Context, params: common.PaginatedRequestParams
    ) -> common.ListPromptsResult:
        """Return a page of prompts (`prompts/list`)."""
        kernel = self.kernel
        as_bytes = not (kernel.hooks.list_prompts or kernel.middleware)
        page: common.ListPromptsResult = self.prompts.listing.page(
            ctx, params.cursor, as_bytes=as_bytes
        )
        return page

    async def get_prompt(
        self, ctx: Context, params: common.GetPromptRequestParams
    ) -> common.GetPromptResult | common.InputRequiredResult:
        """Return the messages of a prompt (`prompts/get`)."""
        return await run_with_rounds(ctx, params, self.prompts.get)


class CompletionHandlers(ServerHandlers["Context"]):
    """Handler of completion/complete."""

    completions: Completions
    prompts: PromptRegistry
    resources: ResourceRegistry

    async def complete(
        self, ctx: Context, params: common.CompleteRequestParams
    ) -> common.CompleteResult:
        """Complete an argument of a prompt or resource template (`completion/complete`)."""
        reference: Any = params.ref
        name: str = reference.uri if hasattr(reference, "uri") else reference.name
        template: TemplatedResource | None = None
        if hasattr(reference, "uri"):
            template = self.resources.templates.find(ctx, name)
            choices = template.choices if template else None
            scopes = template.scopes if template else NO_SCOPES
        else:
            prompt = self.prompts.listing.find(ctx, name)
            choices = prompt.choices if prompt else None
            scopes = prompt.scopes if prompt else NO_SCOPES
        if scopes:
            require_scopes(ctx, scopes)
        if choices is None:
            kind = "resource template" if hasattr(reference, "uri") else "prompt"
            raise InvalidParams(f"unknown {kind}: {name} - at `$.ref`")
        if params.argument.name not in choices:
            raise InvalidParams(
                f"{name} has no argument {params.argument.name!r} - at `$.argument.name`"
            )
        context: Any = getattr(params, "context", None)
        chosen: Mapping[str, str] = (context and context.arguments) or {}
        if template is not None and not template.may_complete(params.argument, chosen):
            return latest.CompleteResult(completion=latest.Completion(values=[]))
        completion = await self.completions.complete(ctx, name, params.argument, chosen, choices)
        return latest.CompleteResult(completion=completion)

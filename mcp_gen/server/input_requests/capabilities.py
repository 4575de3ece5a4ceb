"""Capability checks for elicitation, sampling and roots requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from mcp_gen.core.errors import InvalidRequest, MissingCapability
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.input_requests.rounds import InputKind
from mcp_gen.server.input_requests.validation import check_input_request
from mcp_wire.latest import ElicitRequestURLParams

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.input_requests.rounds import InputRequest

__all__ = ["declared", "require_capability", "require_url_elicitation"]


def require_capability(ctx: Context, request: InputRequest) -> None:
    """Check that the client declared the capability for an input request, and check its params.

    Raises:
        MissingCapability: The client did not declare the capability, or its revision has no such
            request.
        UsageError: The params are invalid for every client; see `check_input_request`.
    """
    _CHECKS[request.kind](ctx, request.params)
    check_input_request(request.params)


def require_url_elicitation(ctx: Context) -> None:
    """Check that the client declared `elicitation.url`.

    Raises:
        MissingCapability: It did not, or its revision has no URL elicitation.
    """
    if ctx.profile.url_elicitation == "none" or not declared(ctx, "elicitation", "url"):
        raise _missing(ctx, "elicitation.url")


def declared(ctx: Context, *path: str) -> bool:
    """Return True if the client declared a capability, such as `"sampling", "tools"`."""
    found: Any = origin_of(ctx).capabilities
    for name in path:
        # Capabilities of a handshake are a wire type; members of later revisions are plain JSON.
        if isinstance(found, dict):
            found = cast("dict[str, Any]", found).get(name)
        else:
            found = getattr(found, name, None)
    return isinstance(found, dict | Struct)


def _check_elicitation(ctx: Context, params: Any) -> None:
    if isinstance(params, ElicitRequestURLParams):
        require_url_elicitation(ctx)
        return
    if ctx.profile.elicit is None or not declared(ctx, "elicitation"):
        raise _missing(ctx, "elicitation")
    # An empty object declares form mode; so does any object at revisions without URL mode.
    only_urls = declared(ctx, "elicitation", "url") and not declared(ctx, "elicitation", "form")
    if only_urls and ctx.profile.url_elicitation != "none":
        raise _missing(ctx, "elicitation.form")


def _check_sampling(ctx: Context, params: Any) -> None:
    if ctx.profile.create_message is None or not declared(ctx, "sampling"):
        raise _missing(ctx, "sampling")
    parts = ctx.profile.declares_sampling_parts
    tools = params.tools is not None or params.tool_choice is not None
    if tools and not (parts and declared(ctx, "sampling", "tools")):
        raise _missing(ctx, "sampling.tools")
    context = params.include_context not in (None, "none")
    if context and parts and not declared(ctx, "sampling", "context"):
        raise _missing(ctx, "sampling.context")


def _check_roots(ctx: Context, params: Any) -> None:
    if ctx.profile.list_roots is None or not declared(ctx, "roots"):
        raise _missing(ctx, "roots")


_CHECKS: Mapping[InputKind, Callable[[Any, Any], None]] = {
    InputKind.ELICIT: _check_elicitation,
    InputKind.CREATE_MESSAGE: _check_sampling,
    InputKind.LIST_ROOTS: _check_roots,
}


def _missing(ctx: Context, capability: str) -> MissingCapability:
    code = ctx.profile.errors.missing_required_client_capability
    return MissingCapability(capability, code or InvalidRequest.code)

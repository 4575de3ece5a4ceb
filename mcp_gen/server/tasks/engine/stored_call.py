"""A tool call as JSON in the task store: what a worker needs to run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import find_revision
from mcp_gen.core.stores.tasks import NOTHING
from mcp_gen.server.context.context import Context, origin_of
from mcp_gen.session.messages.channel import NULL_CHANNEL
from mcp_gen.session.peer.session import RequestOrigin
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["restore_call", "store_call"]


class _StoredCall(Struct, omit_defaults=True):
    """Members of `StoredTask.arguments`."""

    params: Raw
    """Params of the call, at its revision."""
    request_id: str | int | None = None
    capabilities: Raw = NOTHING
    client_info: Raw = NOTHING
    meta: dict[str, Any] | None = None
    session: str | None = None


_decode = msgspec.json.Decoder(_StoredCall).decode


def store_call(ctx: Context, params: Any) -> Raw:
    """Return a call as JSON, without the headers and the token of its request."""
    origin = origin_of(ctx)
    if getattr(params, "task", None) is not None:
        params = replace(params, task=None)
    call = _StoredCall(
        params=Raw(encode(params)),
        request_id=ctx.request_id,
        capabilities=Raw(encode(origin.capabilities)),
        client_info=Raw(encode(origin.client_info)),
        meta=ctx.meta,
        session=None if ctx.session is None else ctx.session.id,
    )
    return Raw(msgspec.json.encode(call))


def restore_call(
    task: StoredTask, kernel: Kernel[Context], make: Callable[..., Context]
) -> tuple[Context, Any]:
    """Return the context and the params of a stored call.

    Args:
        task: The stored task.
        kernel: Kernel of the server that runs the call.
        make: Makes a context of the server: `make(request_id, origin, meta)`.

    Raises:
        UsageError: The server does not speak the revision of the call.
        msgspec.DecodeError: What is stored is not a call.
    """
    call = _decode(task.arguments)
    profile = mcp_wire.profile(task.revision)
    method = profile.call_tool
    if method is None or find_revision(task.revision, kernel.revisions) is None:
        raise UsageError(f"task {task.id}: this server answers no calls at {task.revision}")
    route = kernel.bindings[task.revision].routes[method.name]
    origin = RequestOrigin(
        profile,
        NULL_CHANNEL,
        capabilities=msgspec.json.decode(call.capabilities),
        client_info=msgspec.json.decode(call.client_info),
        ready=True,
        principal=task.principal,
        required_scopes=frozenset(task.scopes),
        away_from=call.session,
    )
    return make(call.request_id, origin, call.meta), route.decode(call.params)

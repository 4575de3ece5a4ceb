"""Method rows and routes of methods outside the protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mcp_gen.core.errors import UsageError
from mcp_wire import decoder
from mcp_wire.hook_machinery import HookPoint
from mcp_wire.method import Method, Route

if TYPE_CHECKING:
    from mcp_wire.hook_machinery import HookSet
    from mcp_wire.method import Direction

__all__ = ["as_params", "check_name", "notification_row", "request_row", "route"]

C = TypeVar("C")
P = TypeVar("P")


def check_name(name: str) -> None:
    """Check that a custom method may have this name.

    Raises:
        UsageError: a revision of the protocol has a method of this name, or JSON-RPC reserves it.

    Source: https://www.jsonrpc.org/specification#request_object
    """
    # Only servers with custom methods load the table of all revisions.
    from mcp_wire.changes import METHODS

    if not name or name.startswith("rpc."):
        raise UsageError(f"method {name!r}: JSON-RPC keeps this name for itself; take another")
    if name in METHODS:
        raise UsageError(
            f"method {name!r} belongs to the protocol; give yours a prefix, as in 'acme/search', "
            "or add a hook to what there is"
        )


def request_row(name: str, params: Any) -> Method[Any, Any]:
    """Return the method row of a custom request.

    Args:
        name: Name of the method.
        params: Type of its params.

    Raises:
        UsageError: the type cannot be decoded from JSON, or forbids unknown fields.
    """
    return _row(name, params, results=(dict,), kind="request")


def notification_row(
    name: str, params: Any, direction: Direction = "client_to_server"
) -> Method[Any, None]:
    """Return the method row of a custom notification.

    Args:
        name: Name of the method.
        params: Type of its params.
        direction: Who sends it.

    Raises:
        UsageError: the type cannot be decoded from JSON, or forbids unknown fields.
    """
    return _row(name, params, results=(), kind="notification", direction=direction)


def as_params(name: str, params: Any) -> dict[str, Any]:
    """Return the params of a custom message as a new JSON object.

    Args:
        name: Name of the method.
        params: A mapping, or a value that msgspec encodes as an object; None for no params.

    Raises:
        UsageError: the params are no JSON object.
    """
    if params is None:
        return {}
    given: Any = params
    try:
        # msgspec encodes no mappings but dicts.
        plain: Any = msgspec.to_builtins({**given} if isinstance(given, Mapping) else given)
    except TypeError as error:
        raise UsageError(f"{name}: params: {error}") from None
    if plain.__class__ is not dict:
        kind = type(params).__name__
        raise UsageError(f"{name}: expected params that are a JSON object, got {kind}")
    whole: dict[str, Any] = plain
    return whole


def _row(
    name: str,
    params: Any,
    *,
    results: tuple[type[Any], ...],
    kind: Any,
    direction: Direction = "client_to_server",
) -> Method[Any, Any]:
    try:
        decoder(params)
    except TypeError as error:
        raise UsageError(f"method {name!r}: params of {params!r}: {error}") from None
    config: Any = getattr(params, "__struct_config__", None)
    if config is not None and config.forbid_unknown_fields:
        raise UsageError(
            f"method {name!r}: {params.__name__} forbids unknown fields, but params may have "
            "`_meta`; take `forbid_unknown_fields` away"
        )
    return Method(
        name,
        kind=kind,
        direction=direction,
        params=params,
        params_required=False,
        results=results,
        result=results[0] if results else None,
    )


def route(
    method: Method[P, Any], handler: Callable[[C, P], Awaitable[Any]], hooks: HookSet
) -> Route[C]:
    """Return the route of a custom request: its handler, inside the hooks for all requests.

    Args:
        method: Method row of the request.
        handler: Handler; its result must be serializable to a JSON object.
        hooks: Hooks of the server.
    """
    known: HookPoint[P, Any] | None = hooks.points.get(method.name)
    point = HookPoint[P, Any](hooks, method.name) if known is None else known

    async def checked(ctx: C, params: P) -> Any:
        answer = await handler(ctx, params)
        # Inside of the hooks: `on_success` must not be called for a result that cannot be sent.
        _as_object(method.name, answer)
        return answer

    async def call(ctx: C, params: P) -> dict[str, Any]:
        if point:
            return _as_object(method.name, await point.around(ctx, params, checked, method))
        return _as_object(method.name, await handler(ctx, params))

    return Route(method, call)


def _as_object(name: str, answer: Any) -> dict[str, Any]:
    """Return a handler's result as a JSON object.

    Raises:
        UsageError: it is none.
    """
    result: Any = msgspec.to_builtins(answer)
    if result.__class__ is not dict:
        kind = type(answer).__name__
        raise UsageError(f"{name}: expected a result that is a JSON object, got {kind}")
    whole: dict[str, Any] = result
    return whole

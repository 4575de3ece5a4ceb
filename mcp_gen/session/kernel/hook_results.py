"""Checks the results that after hooks return, before anything else sees them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError
from mcp_gen.core.projection.project import restate
from mcp_wire import Wire, decode, encode

if TYPE_CHECKING:
    from mcp_wire.method import Method

__all__ = ["check_result", "restate_result"]


def check_result(
    row: Method[Any, Any], hook: Callable[..., Any], ctx: Any, current: Any, result: Any
) -> Any:
    """Return the result of an after hook as it is, after checking that it can answer the request.

    Args:
        row: Method row of the request.
        hook: The hook.
        ctx: Context of the request.
        current: Result that the hook was given.
        result: Result that the hook returned, of any revision.

    Raises:
        UsageError: the request has no result of this type, or a field holds what it must not.
        ProjectionError: the revision of the row cannot hold the result.
    """
    restate_result(row, hook, ctx, current, result)
    return result


def restate_result(
    row: Method[Any, Any], hook: Callable[..., Any], ctx: Any, current: Any, result: Any
) -> Any:
    """Return the result of an after hook at the revision of the row; see `check_result`."""
    kind: Any = result.__class__
    given: Any = current.__class__
    expected = tuple(dict.fromkeys([*(one.__name__ for one in row.results), given.__name__]))
    own = kind in row.results
    # A wire type of another revision has the same name.
    namesake = isinstance(result, Wire) and kind.__name__ in expected
    if not (own or namesake or kind is given):
        raise _wrong(row, hook, kind.__name__, expected)
    try:
        data = encode(result)
        if isinstance(result, Wire):
            # Constructors check no types: a list of texts may stand where content blocks belong.
            decode(kind, data)
    except (TypeError, ValueError, RuntimeError) as error:
        got = f"{kind.__name__} that is not valid ({error})"
        raise _wrong(row, hook, got, expected) from None
    revision = None if own else _revision_of(row)
    return result if revision is None else restate(result, revision).value


def _wrong(
    row: Method[Any, Any], hook: Callable[..., Any], got: str, expected: tuple[str, ...]
) -> UsageError:
    place = f"{hook.__module__}.{getattr(hook, '__qualname__', type(hook).__qualname__)}"
    return UsageError(
        f"{row.name}: the after hook {place} returned {got}; "
        f"expected {' or '.join(expected)}, or None to keep the result"
    )


def _revision_of(row: Method[Any, Any]) -> str | None:
    """Return the revision of a method's results; None if they are plain, or of an extension."""
    package = row.results[0].__module__.rpartition(".")[0]
    profile = getattr(import_module(package), "PROFILE", None) if package else None
    return None if profile is None else profile.revision

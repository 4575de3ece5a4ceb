"""Checks the types of the options of a server: each message says what to write."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import (
    check_callable,
    check_type,
    checks_options,
    name_of,
    nearest,
    wrong_call,
)
from mcp_gen.server.listing.icons import check_icons

__all__ = ["check_prefix", "checks_server"]

F = TypeVar("F", bound=Callable[..., Any])

FEATURES = ("completions", "logging", "prompts", "resources", "tasks", "tools")
"""Names of the features that a server declares."""

_DECORATED = contextlib.asynccontextmanager(lambda: cast("Any", None)).__code__
"""Code of what `asynccontextmanager` returns."""

_EXAMPLES = {
    "cache_hints": "CacheHints(ttl_ms=60_000)",
    "peer_limits": "PeerLimits(max_listens=10)",
    "tasks": "Tasks(ttl_s=600)",
    "session_state": "SessionState(key=lambda ctx: ctx.principal)",
}


def checks_server(init: F) -> F:
    """Return the `__init__` of `Server` with a check of its options.

    It raises UsageError for an unknown option, and for one whose wrong type would only show later.
    """

    @wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        _check(*args[:2], **given)
        try:
            init(self, *args, **given)
        except TypeError as error:
            example = 'Server("demo", "1.0.0", instructions="...")'
            wrong = wrong_call("Server", example, init, (self, *args), given, error)
            raise wrong or error from None

    return checks_options("Server")(cast("F", checked))


def _check(name: Any = "?", version: Any = "", /, **given: Any) -> None:
    name, version = given.get("name", name), given.get("version", version)
    check_type("Server: name", name, str, 'Server("demo")')
    if not name:
        raise UsageError('Server: a server needs a name: write `Server("demo")`')
    check_type("Server: version", version, str, 'Server("demo", "1.0.0")')
    check_icons(f"server {name!r}", given.get("icons"))
    declare = given.get("declare", ())
    if isinstance(declare, str):
        raise UsageError(f"Server: declare={declare!r}: expected several: write [{declare!r}]")
    for feature in declare:
        if feature not in FEATURES:
            near = nearest(str(feature), FEATURES)
            meant = f"did you mean {near!r}?" if near else f"there are: {', '.join(FEATURES)}"
            raise UsageError(f"Server: declare: no feature {feature!r}: {meant}")
    lifespan = given.get("lifespan")
    if lifespan is not None:
        check_callable("Server: lifespan", lifespan, ("server",))
        if inspect.isasyncgenfunction(lifespan) or inspect.isgeneratorfunction(lifespan):
            raise UsageError(
                f"Server: lifespan={name_of(lifespan)} is a generator: write "
                "`@contextlib.asynccontextmanager` above it"
            )
        _check_lifespan(lifespan)
    for option, example in _EXAMPLES.items():
        value = given.get(option)
        # By name: most servers load none of these classes.
        if value is not None and type(value).__name__ != example.partition("(")[0]:
            check_type(f"Server: {option}", value, (), f"{option}={example}")


def _check_lifespan(lifespan: Any) -> None:
    """Check that a lifespan is none of the functions that look like a context manager."""
    written = inspect.unwrap(lifespan)
    is_decorated = getattr(lifespan, "__code__", None) is _DECORATED
    if inspect.isgeneratorfunction(written):
        raise UsageError(
            f"Server: lifespan={name_of(lifespan)} is a `contextmanager`: write "
            "`@contextlib.asynccontextmanager` above an `async def`"
        )
    if inspect.iscoroutinefunction(written if is_decorated else lifespan):
        raise UsageError(
            f"Server: lifespan={name_of(lifespan)} does not yield: write `yield value` in place of "
            "`return`, and `@contextlib.asynccontextmanager` above it"
        )


def check_prefix(prefix: Any) -> None:
    """Check that the first argument of `Server.mount` is a prefix, not what is mounted.

    Raises:
        UsageError: It is neither a text nor None.
    """
    if prefix is not None and not isinstance(prefix, str):
        raise UsageError(
            f'mount: the prefix comes first: `mount("{name_of(prefix).lower()}", server)`, or '
            "`mount(None, server)` without one"
        )

"""Checks the types of the options of a server: each message says what to write."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

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
from mcp_gen.server.mounting.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_gen.server.mounting.mount import Mounting

__all__ = [
    "check_auth",
    "check_cluster",
    "check_prefix",
    "check_scoped",
    "checks_server",
    "scoped_items",
]

_log = logging.getLogger("mcp_gen.server")

F = TypeVar("F", bound=Callable[..., Any])

FEATURES = ("completions", "logging", "prompts", "resources", "tasks", "tools")
"""Names of the features that a server declares."""

_GATE_METHODS = ("known", "admit", "insufficient", "document")
"""Methods of what `asgi(auth=)` takes."""
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


def check_auth(auth: Any, *, has_principal: bool) -> None:
    """Check the option `auth` of `Server.asgi`.

    Args:
        auth: The gate.
        has_principal: True if the option `principal` is given, too.

    Raises:
        UsageError: It is no gate, or both options are given.
    """
    if isinstance(auth, type) or not all(hasattr(auth, name) for name in _GATE_METHODS):
        raise UsageError(
            f"asgi: auth={name_of(auth)}: expected what verifies tokens: "
            '`ResourceServer(issuer="https://...", audience="https://...")` of mcp_gen.auth'
        )
    if has_principal:
        raise UsageError(
            "asgi: principal= and auth=: a token names its principal; to name it in another way, "
            "give `ResourceServer` its principal="
        )


def check_scoped(items: Iterable[str]) -> None:
    """Check that no item needs scopes, where nothing verifies tokens.

    Raises:
        UsageError: One does: every call of it would be refused.
    """
    for name in items:
        raise UsageError(
            f"{name} has scopes=, and nothing verifies the tokens of HTTP requests: give `asgi` or "
            "`run` its auth=ResourceServer(...), or take scopes= away"
        )


def scoped_items(server: Mounting) -> Iterator[str]:
    """Yield the items of a server and of its mounts that need scopes."""
    for kind in KINDS:
        registry = kind.of(server).items
        if registry.has_scopes:
            for entry in list(registry.entries.values()):
                if getattr(entry.item, "scopes", None):
                    yield f"{registry.kind} {entry.name!r}"
    for mount in server.mounts:
        if mount.scopes:
            yield f"mount {mount.title}"
        inner = getattr(mount, "server", None)
        if inner is not None:
            yield from scoped_items(inner)


def check_cluster(options: Any, *, has_servers: bool) -> None:
    """Check that the other options of an app can be used with a cluster.

    Args:
        options: The options.
        has_servers: True if each session has a server of its own.

    Raises:
        UsageError: They cannot.
    """
    if has_servers:
        raise UsageError(
            "cluster: `Server.per_connection` makes servers that one process has; serve all "
            "clients with one `Server`, and let `ctx.principal` or `session.state` decide"
        )
    for name in ("event_store", "session_store"):
        if getattr(options, name) is not None:
            raise UsageError(f"cluster: it brings its own stores; leave out {name}=")
    if getattr(options.auth, "is_local", False):
        _log.warning(
            "cluster: %s keeps logins in this process: with several, one that begins here and ends "
            "at another fails; give all of them store= and the same secret=",
            type(options.auth).__name__,
        )

"""Connect targets: a URL, a command, a server in this process or a transport.

A server in this process is recognized by its `serve` method: clients do not import servers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex, Posts
    from mcp_gen.transports.environment import Environment
    from mcp_gen.transports.http_client.endpoint import HeadersFrom

__all__ = ["ConnectTarget", "ConnectableServer", "Target", "is_url", "key_of", "resolve_target"]

_URL_START = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@runtime_checkable
class ConnectableServer(Protocol):
    """A server in this process."""

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it disconnects."""
        ...


Target: TypeAlias = "str | Sequence[str] | ConnectableServer | Duplex | Posts | ConnectTarget"
"""URL, command line, command as a list of words, server, transport, or resolved target."""

Dial: TypeAlias = "Callable[[], Duplex | Posts]"
"""Creates a transport to the server."""
Background: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine in the background."""


@dataclass(frozen=True)
class ConnectTarget:
    """A resolved connect target.

    Args:
        dial: Creates a transport to the server.
        dial_older: Creates a transport of the older kind (HTTP+SSE); None if there is none.
        is_reusable: True if a new connection can be opened after the server closed the first one.
        restarts: True if a lost connection can be replaced by a new one.
        key: Key under which the negotiated revision is remembered; None: it is not.
    """

    dial: Dial
    dial_older: Dial | None = None
    is_reusable: bool = False
    restarts: bool = False
    key: Hashable = field(default=None, repr=False)


def is_url(target: str) -> bool:
    """Return True if a target is a URL, and no command line that has one as an argument."""
    return _URL_START.match(target) is not None


def resolve_target(
    target: Target,
    background: Background,
    *,
    headers: HeadersFrom | None = None,
    bearer_token: str | None = None,
    http_client: Any = None,
    env: Environment = None,
    probe_timeout_s: float = 10.0,
    max_message_bytes: int | None = None,
    server_name: str | None = None,
) -> ConnectTarget:
    """Return how to connect to a target.

    Args:
        target: A URL, command, server or transport.
        background: Runs the serving coroutine of a server in this process.
        headers: HTTP headers; for URLs only.
        bearer_token: Bearer token; for URLs only.
        http_client: HTTP client; for URLs only.
        env: Environment variables; for commands only.
        probe_timeout_s: Seconds that an HTTP+SSE server may take to name its endpoint.
        max_message_bytes: Maximum size of a received message, in bytes; for URLs and commands.
            None: the default of the transport.
        server_name: Name that stands before the stderr lines of a command; None: no name.

    Raises:
        UsageError: The command is empty, or an option of a URL or command was given without one.
    """
    http_options: Mapping[str, Any] = {
        "headers": headers,
        "bearer_token": bearer_token,
        "client": http_client,
    }
    url = target if isinstance(target, str) and is_url(target) else None
    if url is None and any(option is not None for option in http_options.values()):
        raise UsageError("headers, a bearer token and an HTTP client are for URLs")
    if env is not None and (url is not None or not isinstance(target, str | Sequence)):
        raise UsageError("environment variables are for commands")
    limit: Mapping[str, Any] = {}
    if max_message_bytes is not None:
        limit = {"max_message_bytes": max_message_bytes}
    if url is not None:
        return _over_http(url, {**http_options, **limit}, probe_timeout_s)
    if isinstance(target, ConnectTarget):
        return target
    if isinstance(target, str | Sequence):
        words = _split_command(target) if isinstance(target, str) else list(target)
        return _over_command(words, env, {**limit, "name": server_name})
    if isinstance(target, ConnectableServer):
        return ConnectTarget(lambda: _in_memory(target, background), restarts=True)
    if not (hasattr(target, "start") and hasattr(target, "send")):
        raise UsageError(
            "connect: expected a URL, a command (one line or a list of words), a Server or a "
            f"transport, got {type(target).__name__}"
        )
    return ConnectTarget(lambda: target)


def _over_http(
    url: str, http_options: Mapping[str, Any], endpoint_timeout_s: float
) -> ConnectTarget:
    # Loaded only for URLs: HTTP clients are slow to import.
    from mcp_gen.transports.http_client.legacy_sse import LegacySseTransport
    from mcp_gen.transports.http_client.pool import origin_of
    from mcp_gen.transports.http_client.transport import HttpTransport

    origin = origin_of(url)
    # The path is part of the key: one origin may host several servers.
    key = (*origin, url.split("://", 1)[1].partition("/")[2].partition("?")[0])
    return ConnectTarget(
        lambda: HttpTransport(url, **http_options),
        lambda: LegacySseTransport(url, **http_options, endpoint_timeout_s=endpoint_timeout_s),
        is_reusable=True,
        restarts=True,
        key=key,
    )


def _split_command(line: str) -> list[str]:
    # Loaded only for command lines.
    import shlex

    return shlex.split(line)


def _over_command(command: list[str], env: Environment, limit: Mapping[str, Any]) -> ConnectTarget:
    if not command:
        raise UsageError("connect(): expected a URL or a command, got nothing")
    # Loaded only for commands.
    from mcp_gen.transports.command import CommandTransport

    return ConnectTarget(
        lambda: CommandTransport(command, env=env, **limit),
        is_reusable=True,
        restarts=True,
        key=(*command, key_of(env)),
    )


def key_of(env: Environment) -> Hashable:
    """Return the part of a target's key that stands for its environment variables."""
    return env if env is None or isinstance(env, str) else tuple(sorted(env.items()))


def _in_memory(server: ConnectableServer, background: Background) -> Duplex:
    # Loaded only for servers in this process.
    from mcp_gen.transports.memory import memory_pair

    ours, theirs = memory_pair()
    background(server.serve(theirs))
    return ours

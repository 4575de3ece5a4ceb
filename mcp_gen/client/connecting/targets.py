"""Connect targets: what a parsed target, a server in this process or a transport is reached by.

A server in this process is recognized by its `serve` method: clients do not import servers.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from mcp_gen.client.connecting.target_text import (
    CodeTarget,
    CommandLine,
    ParsedTarget,
    TcpAddress,
    UnixSocket,
    Url,
    parse_code,
    parse_target,
)
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.client.connecting.in_process import Background, ConnectableServer
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Duplex, Posts
    from mcp_gen.transports.environment import Environment
    from mcp_gen.transports.http_client.endpoint import HeadersFrom

__all__ = ["ConnectTarget", "Target", "key_of", "resolve_target"]


Words: TypeAlias = "Sequence[str | os.PathLike[str]]"
"""Words of a command."""

Target: TypeAlias = (
    "str | os.PathLike[str] | Words | ConnectableServer | Duplex | Posts | ConnectTarget"
)
"""Text, path of a Python file, command as a list of words, server, transport, or resolved target.

A text is a URL, `file.py`, `file.py:name`, a module as in `package.module:name`, a command line,
`unix:PATH` or `tcp:HOST:PORT`.
"""

Dial: TypeAlias = "Callable[[], Duplex | Posts]"
"""Creates a transport to the server."""


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


def resolve_target(
    target: Target,
    background: Background,
    *,
    headers: HeadersFrom | None = None,
    bearer_token: str | None = None,
    auth: RequestAuthorizer | None = None,
    http_client: Any = None,
    env: Environment = None,
    probe_timeout_s: float = 10.0,
    max_message_bytes: int | None = None,
    server_name: str | None = None,
) -> ConnectTarget:
    """Return how to connect to a target.

    Args:
        target: A text, a path, the words of a command, a server or a transport; see `Target`.
        background: Runs the serving coroutine of a server in this process.
        headers: HTTP headers; for URLs only.
        bearer_token: Bearer token; for URLs only.
        auth: Authorizer; for URLs only.
        http_client: HTTP client; for URLs only.
        env: Environment variables; for commands only.
        probe_timeout_s: Seconds that an HTTP+SSE server may take to name its endpoint.
        max_message_bytes: Maximum size of a received message, in bytes; for URLs and commands.
            None: the default of the transport.
        server_name: Name that stands before the stderr lines of a command; None: no name.

    Raises:
        UsageError: The target names nothing, code without a server, or an empty command; or an
            option of a URL or command was given without one.
    """
    http_options: Mapping[str, Any] = {
        "headers": headers,
        "bearer_token": bearer_token,
        "client": http_client,
        "auth": auth,
    }
    named = _named(target)
    if auth is not None and not isinstance(named, Url):
        raise UsageError("auth is for URLs; a command takes its credentials from `env=`")
    if not isinstance(named, Url) and any(option is not None for option in http_options.values()):
        raise UsageError("headers, a bearer token and an HTTP client are for URLs")
    if env is not None and not isinstance(named, CommandLine):
        raise UsageError("environment variables are for commands")
    limit: Mapping[str, Any] = {}
    if max_message_bytes is not None:
        limit = {"max_message_bytes": max_message_bytes}
    if isinstance(named, Url):
        return _over_http(named.url, {**http_options, **limit}, probe_timeout_s)
    if isinstance(named, CommandLine):
        return _over_command(list(named.words), env, {**limit, "name": server_name})
    if named is not None:
        return _over_socket_or_code(named, background)
    if isinstance(target, ConnectTarget):
        return target
    if hasattr(target, "serve"):
        return _in_memory(cast("ConnectableServer", target), background)
    if not (hasattr(target, "start") and hasattr(target, "send")):
        raise UsageError(
            "connect: expected a URL, a file or module with a server, a command (one line or a "
            f"list of words), a Server or a transport, got {type(target).__name__}"
        )
    transport: Any = target
    return ConnectTarget(lambda: transport)


def _named(target: Target) -> ParsedTarget | None:
    """Return what a text, a path or a list of words names; None for an object."""
    if isinstance(target, str):
        return parse_target(target)
    if isinstance(target, os.PathLike):
        return parse_code(os.fspath(target))
    if not isinstance(target, Sequence):
        return None
    given: Sequence[Any] = target
    for word in given:
        if not isinstance(word, str | os.PathLike):
            raise UsageError(
                "connect: expected the words of a command as texts in one list, as in "
                f'`["python", "server.py"]`, got {type(word).__name__} among them'
            )
    return CommandLine(tuple(os.fspath(word) for word in target))


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


def _over_socket_or_code(
    named: UnixSocket | TcpAddress | CodeTarget, background: Background
) -> ConnectTarget:
    if isinstance(named, CodeTarget):
        # Loaded only for code.
        from mcp_gen.client.connecting.python_code import load

        return _in_memory(_OwnedServer(load(named)), background)
    # Loaded only for sockets.
    from mcp_gen.transports.socket_client import tcp_transport, unix_transport

    if isinstance(named, UnixSocket):
        path = named.path
        return ConnectTarget(
            lambda: unix_transport(path), is_reusable=True, restarts=True, key=("unix", path)
        )
    host, port = named.host, named.port
    return ConnectTarget(
        lambda: tcp_transport(host, port), is_reusable=True, restarts=True, key=("tcp", host, port)
    )


class _OwnedServer:
    """Server that was loaded for one client: nobody else closes it."""

    def __init__(self, server: ConnectableServer) -> None:
        self._server = server

    async def serve(self, transport: Duplex) -> None:
        try:
            await self._server.serve(transport)
        finally:
            # What makes a server per connection closes each itself.
            close: Callable[[], Awaitable[None]] | None = getattr(self._server, "aclose", None)
            if close is not None:
                await close()


def _in_memory(server: ConnectableServer, background: Background) -> ConnectTarget:
    # Loaded only for servers in this process.
    from mcp_gen.client.connecting.in_process import InProcessTransport

    return ConnectTarget(lambda: InProcessTransport(server, background), restarts=True)

"""What a client can be connected to, and how each is reached, again where that is possible.

A server in this process is told by what it can do: a client does not know servers.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex, Posts
    from mcp_gen.transports.http_client.endpoint import HeadersFrom

__all__ = ["ConnectTarget", "ConnectableServer", "Target", "resolve_target"]


@runtime_checkable
class ConnectableServer(Protocol):
    """A server in this process."""

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it hangs up."""
        ...


Target: TypeAlias = "str | Sequence[str] | ConnectableServer | Duplex | Posts | ConnectTarget"
"""A URL or a command line, a command as words, a Server, a transport, or how one is made."""

Dial: TypeAlias = "Callable[[], Duplex | Posts]"
Background: TypeAlias = Callable[[Coroutine[Any, Any, None]], object]


@dataclass(frozen=True)
class ConnectTarget:
    """How a server is reached.

    `dial` makes a transport to it, `dial_older` one of the older kind where there is one. `again`
    says whether a server that did not take the first question can be asked another; `restarts`
    whether one that went away can be had again; `key` is what the server is remembered by.
    """

    dial: Dial
    dial_older: Dial | None = None
    is_reusable: bool = False
    restarts: bool = False
    key: Hashable = field(default=None)


def resolve_target(
    target: Target,
    background: Background,
    *,
    headers: HeadersFrom | None = None,
    bearer_token: str | None = None,
    http_client: Any = None,
    probe_timeout_s: float = 10.0,
) -> ConnectTarget:
    """How to reach this. `background` runs what serves a server in this process.

    Raises:
        UsageError: nothing that can be connected to.
    """
    web: Mapping[str, Any] = {
        "headers": headers,
        "bearer_token": bearer_token,
        "client": http_client,
    }
    if isinstance(target, str) and "://" in target:
        return _over_http(target, web, probe_timeout_s)
    if any(one is not None for one in web.values()):
        raise UsageError("headers, a bearer token and an HTTP client are for URLs")
    if isinstance(target, ConnectTarget):
        return target
    if isinstance(target, str | Sequence):
        return _by_command(_words(target) if isinstance(target, str) else list(target))
    if isinstance(target, ConnectableServer):
        return ConnectTarget(lambda: _in_memory(target, background), restarts=True)
    return ConnectTarget(lambda: target)


def _over_http(url: str, web: Mapping[str, Any], endpoint_timeout_s: float) -> ConnectTarget:
    # HTTP clients take long to load: only for URLs.
    from mcp_gen.transports.http_client.legacy_sse import LegacySseTransport
    from mcp_gen.transports.http_client.pool import origin_of
    from mcp_gen.transports.http_client.transport import HttpTransport

    origin = origin_of(url)
    # Not by its origin alone: servers of several kinds may stand behind one.
    key = (*origin, url.split("://", 1)[1].partition("/")[2].partition("?")[0])
    return ConnectTarget(
        lambda: HttpTransport(url, **web),
        lambda: LegacySseTransport(url, **web, endpoint_timeout_s=endpoint_timeout_s),
        is_reusable=True,
        restarts=True,
        key=key,
    )


def _words(line: str) -> list[str]:
    # Loaded for command lines only.
    import shlex

    return shlex.split(line)


def _by_command(words: list[str]) -> ConnectTarget:
    if not words:
        raise UsageError("connect(): expected a URL or a command, got nothing")
    # Loaded for commands only.
    from mcp_gen.transports.command import CommandTransport

    return ConnectTarget(
        lambda: CommandTransport(words), is_reusable=True, restarts=True, key=tuple(words)
    )


def _in_memory(server: ConnectableServer, background: Background) -> Duplex:
    # Loaded for servers in this process only.
    from mcp_gen.transports.memory import memory_pair

    ours, theirs = memory_pair()
    background(server.serve(theirs))
    return ours

"""Ways to the server under test: any target, over memory, stdio or HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from msgspec import Struct

from mcp_gen.client.connecting.python_code import load
from mcp_gen.client.connecting.target_text import (
    CodeTarget,
    CommandLine,
    Url,
    parse_code,
    parse_target,
)
from mcp_gen.compat.plugin.listening import listening
from mcp_gen.compat.transcript import Transport
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.client.connecting.targets import Target
    from mcp_gen.transports.environment import Environment

__all__ = ["AsgiCallable", "Reached", "reached", "shown"]

AsgiCallable: TypeAlias = Any
"""An ASGI app whose MCP endpoint is at `/mcp`."""

_RUN = "from mcp_gen.cli import main; main()"
"""Program that is `mcp-gen`, wherever that is installed."""
TRANSPORTS: tuple[str, ...] = get_args(Transport)


class Reached(Struct, frozen=True):
    """A server that a client can connect to.

    Args:
        target: Target of `Client.connect`.
        transport: What carries the messages.
        env: Environment variables of a command: a server under test sees those of the test.
    """

    target: Target
    transport: Transport
    env: Environment = None


@asynccontextmanager
async def reached(
    server: Target | AsgiCallable, over: str, root: Path
) -> AsyncGenerator[Reached, None]:
    """Make a server ready for connections, and end what was started for it afterwards.

    Args:
        server: A target of `Client.connect`, or an ASGI app whose endpoint is at `/mcp`.
        over: `memory`, `stdio` or `http`; empty for that which the server needs the least for.
        root: Folder of relative paths.

    Raises:
        UsageError: the server cannot be reached so, or names nothing.
    """
    if over and over not in TRANSPORTS:
        raise UsageError(f"mcp_over: expected memory, stdio or http, got {over!r}")
    named = _named(server, root)
    if isinstance(named, Url):
        _refuse_unless(over in ("", "http"), "a URL is reached over http", over)
        yield Reached(named.url, "http")
    elif isinstance(named, CommandLine):
        _refuse_unless(
            over in ("", "stdio"),
            "a command is reached over stdio: for http, `mcp_server` names a URL or Python code",
            over,
        )
        yield Reached(named.words, "stdio", "inherit")
    elif over == "stdio":
        _refuse_unless(
            isinstance(named, CodeTarget),
            "an object of this process is reached over memory or http: for stdio, `mcp_server` "
            "names a file or a command",
            over,
        )
        yield Reached([sys.executable, "-c", _RUN, "run", str(named)], "stdio", "inherit")
    elif over == "http" or (named is None and _is_app(server)):
        _refuse_unless(over in ("", "http"), "an ASGI app is reached over http", over)
        async with listening(_app(named, server)) as url:
            yield Reached(url, "http")
    else:
        yield Reached(server if named is None else str(named), "memory")


def shown(server: Target | AsgiCallable) -> str:
    """Return a server as reports name it."""
    if isinstance(server, str | os.PathLike):
        return _texts([server])[0]
    if isinstance(server, Sequence):
        return " ".join(_texts(server))
    name: Any = getattr(server, "name", None)
    return name if isinstance(name, str) else type(server).__name__


def _named(server: Any, root: Path) -> Url | CommandLine | CodeTarget | None:
    """Return what a text, a path or a list of words names; None for an object."""
    if isinstance(server, os.PathLike):
        named: Any = parse_code(_texts([server])[0])
    elif isinstance(server, str):
        named = parse_target(server)
    elif isinstance(server, Sequence):
        return CommandLine(_texts(server))
    else:
        return None
    if isinstance(named, CodeTarget) and named.is_file:
        return CodeTarget(str(root / named.place), named.name)
    if isinstance(named, Url | CommandLine | CodeTarget):
        return named
    raise UsageError("mcp_server: expected Python code, a command or a URL, got a socket")


def _texts(words: Any) -> tuple[str, ...]:
    return tuple(str(word) for word in words)


def _is_app(server: Any) -> bool:
    return callable(server) and not hasattr(server, "serve") and not hasattr(server, "send")


def _app(named: CodeTarget | None, server: Any) -> Any:
    """Return the ASGI app of a server."""
    found: Any = server if named is None else load(named)
    if hasattr(found, "asgi"):
        return found.asgi()
    _refuse_unless(_is_app(found), "it has no `asgi()`, and is no ASGI app", "http")
    return found


def _refuse_unless(claim: bool, text: str, over: str) -> None:
    if not claim:
        raise UsageError(f"mcp_over = {over}: {text}")

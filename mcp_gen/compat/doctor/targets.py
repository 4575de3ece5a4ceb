"""Targets of an examination: how each kind of server is reached, started and ended."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from mcp_gen.client.connecting.python_code import check_file, load
from mcp_gen.client.connecting.target_text import CodeTarget, parse_target
from mcp_gen.compat.doctor.http_program import http_program
from mcp_gen.compat.wire.openers import CommandOpener, MemoryOpener
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import Opens
    from mcp_gen.compat.transcript import Transport
    from mcp_gen.manager.config import ServerConfig
    from mcp_gen.transports.environment import Environment

__all__ = ["OpenTarget", "Over", "open_target"]

Over: TypeAlias = Literal["stdio", "http", "memory"]
"""Ways to reach a server in Python code."""

MAX_STDERR_BYTES = 4096
"""Maximum number of bytes kept of the end of what a server writes to stderr."""

_RUN = "from mcp_gen.cli import main; main()"
"""Program that is `mcp-gen`, wherever that is installed."""


class OpenTarget(Struct, frozen=True):
    """A server that can be examined.

    Args:
        opens: Makes the wires to it.
        transport: What carries the messages.
        stderr: File with what its processes write to stderr.
    """

    opens: Opens
    transport: Transport
    stderr: IO[bytes]

    def last_lines(self) -> str:
        """Return the end of what the processes of the server have written to stderr."""
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - MAX_STDERR_BYTES))
        return self.stderr.read().decode("utf-8", "replace").strip()


@asynccontextmanager
async def open_target(config: ServerConfig, over: Over | None = None) -> AsyncGenerator[OpenTarget]:
    """Make a server ready for an examination, and end what was started for it afterwards.

    Args:
        config: The server: a command, a URL or the text of a target that is Python code.
        over: How Python code is reached: `stdio` (the default) runs it by `mcp-gen run`, one
            process per connection; `http` runs it once, on a free loopback port; `memory` loads it
            into this process.

    Raises:
        UsageError: it cannot be examined: a socket, code that is not there, or `over` for a server
            that is not code.
    """
    code = _code(config)
    if over is not None and code is None:
        raise UsageError("--over is for Python code: a command and a URL say how they are reached")
    async with AsyncExitStack() as ended:
        stderr: IO[bytes] = ended.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        opens, transport = await _opener(config, code, over or "stdio", stderr, ended)
        yield OpenTarget(opens, transport, stderr)


async def _opener(
    config: ServerConfig,
    code: CodeTarget | None,
    over: Over,
    stderr: IO[bytes],
    ended: AsyncExitStack,
) -> tuple[Opens, Transport]:
    """Return what makes the wires, and their transport: the place where each kind is chosen."""
    if config.url is not None:
        return _http_opener(config.url, _headers(config)), "http"
    if code is None:
        return _command_opener(config, stderr), "stdio"
    if over == "memory":
        return await _memory_opener(code, ended), "memory"
    command = [sys.executable, "-c", _RUN, "run", str(code)]
    if over == "http":
        url = await ended.enter_async_context(http_program(command, stderr))
        return _http_opener(url, {}), "http"
    # As when Python runs the file itself: it is the user's own, and is being tried.
    return CommandOpener(command, env="inherit", stderr=stderr.fileno()), "stdio"


def _command_opener(config: ServerConfig, stderr: IO[bytes]) -> CommandOpener:
    assert config.command is not None
    cwd = None if config.cwd is None else os.path.expanduser(config.cwd)
    env: Environment = dict(config.env) if isinstance(config.env, Mapping) else config.env
    words = [config.command, *config.args]
    return CommandOpener(words, env=env, cwd=cwd, stderr=stderr.fileno())


def _http_opener(url: str, headers: Mapping[str, str]) -> Opens:
    raise UsageError("servers are not examined over HTTP yet")


async def _memory_opener(code: CodeTarget, ended: AsyncExitStack) -> MemoryOpener:
    server: Any = load(code)
    opens = MemoryOpener(lambda revision: server)
    # What makes a server per connection closes each itself.
    if hasattr(server, "aclose"):
        ended.push_async_callback(server.aclose)
    ended.push_async_callback(opens.aclose)
    return opens


def _headers(config: ServerConfig) -> dict[str, str]:
    """Return the headers of a configuration: those of a file or a command line are no function."""
    headers: dict[str, str] = {} if callable(config.headers) else dict(config.headers or {})
    if config.bearer_token is not None:
        headers["Authorization"] = f"Bearer {config.bearer_token}"
    return headers


def _code(config: ServerConfig) -> CodeTarget | None:
    if config.target is None:
        return None
    named = parse_target(config.target) if isinstance(config.target, str) else None
    if not isinstance(named, CodeTarget):
        raise UsageError("a socket is not examined; name Python code, a command or a URL")
    if named.is_file:
        check_file(named.place)
    return named

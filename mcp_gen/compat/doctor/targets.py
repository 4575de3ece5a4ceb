"""Targets of an examination: how each kind of peer is reached, started and ended."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from mcp_gen.client.connecting.python_code import check_file, load
from mcp_gen.client.connecting.target_text import CodeTarget, parse_target
from mcp_gen.compat.doctor.http_program import http_program
from mcp_gen.compat.scenarios.commands import CommandStage
from mcp_gen.compat.scenarios.http import HttpStage
from mcp_gen.compat.wire.openers import CommandOpener, HttpOpener, MemoryOpener
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import Opens
    from mcp_gen.compat.scenarios.stage import Stage
    from mcp_gen.compat.transcript import Transport
    from mcp_gen.manager.config import ServerConfig
    from mcp_gen.transports.environment import Environment

__all__ = ["ClientTarget", "OpenTarget", "Over", "client_stage", "open_target"]

Over: TypeAlias = Literal["stdio", "http", "memory"]
"""Ways to reach a server in Python code."""

MAX_STDERR_BYTES = 4096
"""Maximum number of bytes kept of the end of what a server writes to stderr."""

OVER_HTTP = ("--http", "--port", "0")
"""Options of `mcp-gen run` for a free port."""

_RUN = "from mcp_gen.cli import main; main()"
"""Program that is `mcp-gen`, wherever that is installed."""


class _WithStderr(Struct, frozen=True):
    stderr: IO[bytes]

    def last_lines(self) -> str:
        """Return the end of what the processes of the peer have written to stderr."""
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - MAX_STDERR_BYTES))
        return self.stderr.read().decode("utf-8", "replace").strip()


class OpenTarget(_WithStderr, frozen=True):
    """A server that can be examined.

    Args:
        stderr: File with what its processes write to stderr.
        opens: Makes the wires to it.
        transport: What carries the messages.
    """

    opens: Opens
    transport: Transport


class ClientTarget(_WithStderr, frozen=True):
    """A client that can be examined.

    Args:
        stderr: File with what its processes write to stderr.
        stage: Runs it.
    """

    stage: Stage


@contextmanager
def client_stage(command: str) -> Generator[ClientTarget]:
    """Make a client ready for an examination: the place where its kind is chosen.

    Args:
        command: A command line, in which `{command}` stands for that of the server, or `{url}` for
            its URL: then the client is examined over HTTP.

    Raises:
        UsageError: it is no command line, or its program is not there.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--client: {error}; check its quotes") from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(f"--client: there is no program {words[0] if words else ''!r}")
    if "{url}" in command and "{command}" in command:
        raise UsageError("--client: give `{command}` (stdio) or `{url}` (HTTP), not both")
    kind = HttpStage if "{url}" in command else CommandStage
    with tempfile.TemporaryFile() as stderr:
        yield ClientTarget(stderr, kind(words, stderr=stderr.fileno()))


@asynccontextmanager
async def open_target(
    config: ServerConfig, over: Over | None = None, *, sse_url: str | None = None
) -> AsyncGenerator[OpenTarget]:
    """Make a server ready for an examination, and end what was started for it afterwards.

    Args:
        config: The server: a command, a URL or the text of a target that is Python code.
        over: How Python code is reached: `stdio` (the default) runs it by `mcp-gen run`, one
            process per connection; `http` runs it once, on a free loopback port; `memory` loads it
            into this process.
        sse_url: With a URL: the endpoint of the stream, where a revision has two endpoints.

    Raises:
        UsageError: it cannot be examined: a socket, code that is not there, or an option that is
            not for it.
        TransportError: code could not be served over HTTP.
    """
    code = _code(config)
    if over is not None and code is None:
        raise UsageError("--over is for Python code: a command and a URL say how they are reached")
    if sse_url is not None and config.url is None:
        raise UsageError("--sse-url is for URLs")
    async with AsyncExitStack() as ended:
        # The stack closes the file, which SIM115 does not see.
        stderr: IO[bytes] = ended.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        opens, transport = await _opener(config, code, over or "stdio", sse_url, stderr, ended)
        yield OpenTarget(stderr, opens, transport)


async def _opener(
    config: ServerConfig,
    code: CodeTarget | None,
    over: Over,
    sse_url: str | None,
    stderr: IO[bytes],
    ended: AsyncExitStack,
) -> tuple[Opens, Transport]:
    """Return what makes the wires, and their transport: the place where each kind is chosen."""
    if config.url is not None:
        return HttpOpener(config.url, headers=_headers(config), sse_url=sse_url), "http"
    if code is None:
        return _command_opener(config, stderr), "stdio"
    if over == "memory":
        return await _memory_opener(code, ended), "memory"
    command = [sys.executable, "-c", _RUN, "run", str(code)]
    if over == "http":
        url = await ended.enter_async_context(http_program([*command, *OVER_HTTP], stderr))
        return HttpOpener(url), "http"
    # As when Python runs the file itself: it is the user's own, and is being tried.
    return CommandOpener(command, env="inherit", stderr=stderr.fileno()), "stdio"


def _command_opener(config: ServerConfig, stderr: IO[bytes]) -> CommandOpener:
    assert config.command is not None
    cwd = None if config.cwd is None else os.path.expanduser(config.cwd)
    env: Environment = dict(config.env) if isinstance(config.env, Mapping) else config.env
    words = [config.command, *config.args]
    return CommandOpener(words, env=env, cwd=cwd, stderr=stderr.fileno())


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

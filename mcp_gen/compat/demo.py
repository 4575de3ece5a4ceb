"""The demo: one server, one conversation per revision, every frame checked."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct

import mcp_wire
from mcp_gen.client.client import Client
from mcp_gen.client.connecting.target_text import CodeTarget, CommandLine, parse_target
from mcp_gen.compat.frame_check import FrameChecker
from mcp_gen.compat.recording import RecordingTransport
from mcp_gen.core.errors import McpGenError, UsageError
from mcp_gen.transports.command import CommandTransport
from mcp_wire import encode

if TYPE_CHECKING:
    from mcp_gen.client.session.session import ClientSession

__all__ = ["Row", "converse", "quickstart", "run_demo"]

TIMEOUT_S = 30.0
_HOOK = "hook: "
_RUN = "from mcp_gen.cli import main; main()"
"""Program that is `mcp-gen`, wherever that is installed."""


class Row(Struct, frozen=True):
    """Outcome of one revision.

    Args:
        revision: The protocol revision.
        lifecycle: The lifecycle of the revision.
        frames: The number of frames in both directions.
        result: The text of the tool result.
        hooks: The hook events that the server reported on stderr.
        problems: Everything that went wrong.
    """

    revision: str
    lifecycle: str
    frames: int
    result: str
    hooks: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def good(self) -> bool:
        """True if there are no problems."""
        return not self.problems


def quickstart() -> Path:
    """Return the path of the quickstart server.

    It is beside this module in a wheel, and under examples/ in a checkout.

    Raises:
        UsageError: it is in neither place.
    """
    here = Path(__file__).parent
    for path in (here / "quickstart_server.py", here.parents[1] / "examples/quickstart_server.py"):
        if path.exists():
            return path
    raise UsageError("no quickstart server here; name a server: mcp-gen demo SERVER.py")


async def run_demo(
    server: str, revisions: Sequence[str] = mcp_wire.REVISIONS
) -> AsyncIterator[Row]:
    """Run the conversation once per revision, and yield the outcome of each.

    Args:
        server: Python code or a command line, as of `Client.connect`: a server with a tool
            `add(a, b)`. Code is served by `mcp-gen run`.
        revisions: The revisions, by default all.

    Raises:
        UsageError: the target is a URL or a socket, or names nothing.
    """
    command = _command_of(server)
    for revision in revisions:
        with tempfile.TemporaryFile("w+") as stderr:
            yield await converse(command, revision, stderr)


def _command_of(target: str) -> list[str]:
    named = parse_target(target)
    if isinstance(named, CommandLine):
        return list(named.words)
    if isinstance(named, CodeTarget):
        if named.is_file and not Path(named.place).is_file():
            raise UsageError(f"no such file: {named.place}")
        return [sys.executable, "-c", _RUN, "run", str(named)]
    raise UsageError("expected Python code or a command: the demo reads what the server prints")


async def converse(command: Sequence[str], revision: str, stderr: IO[str]) -> Row:
    """Run one conversation: connect, list the tools, call `add(1, 2)`; check every frame.

    Args:
        command: The command that starts the server.
        revision: The revision to connect at.
        stderr: A file for the server's stderr; hook events are read from its lines `hook: ...`.
    """
    profile = mcp_wire.profile(revision)
    # As when Python runs the script itself: it is the user's own, and is being tried.
    started = CommandTransport(command, env="inherit", stderr=stderr.fileno())
    transport = RecordingTransport(started)
    problems: list[str] = []
    result = ""
    try:
        async with asyncio.timeout(TIMEOUT_S), Client("mcp-gen demo", "1.0.0") as client:
            session = await client.connect(transport, revision=revision)
            result = await _use(session)
            if result != "3":
                problems.append(f"add(1, 2) gave {result or 'nothing'}")
    except (McpGenError, TimeoutError) as error:
        problems.append(str(error) or "no answer in time")
    checker = FrameChecker(profile)
    for frame in transport.frames:
        problems += [
            f"{frame.sender}: {found}" for found in checker.check(frame.data, frame.sender)
        ]
    hooks = _hook_events(stderr)
    if not hooks:
        problems.append("no hook ran")
    return Row(revision, profile.lifecycle, len(transport.frames), result, hooks, tuple(problems))


async def _use(session: ClientSession) -> str:
    names = [tool.name async for tool in session.tools()]
    if "add" not in names:
        raise UsageError(f"the server has no tool `add`, only {', '.join(names) or 'none'}")
    result = await session.call_tool("add", {"a": 1, "b": 2})
    return " ".join(_text(block) for block in result.content)


def _text(block: Any) -> str:
    return block.text if hasattr(block, "text") else encode(block).decode()


def _hook_events(stderr: IO[str]) -> tuple[str, ...]:
    stderr.seek(0)
    return tuple(line.removeprefix(_HOOK).strip() for line in stderr if line.startswith(_HOOK))

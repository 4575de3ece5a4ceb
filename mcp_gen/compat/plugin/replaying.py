"""Replays in tests: a recording is played against the server under test."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_gen.client.connecting.python_code import load
from mcp_gen.client.connecting.target_text import parse_code
from mcp_gen.compat.plugin.reaching import reached
from mcp_gen.compat.recordings.replaying.replay import TIMEOUT_S, replay
from mcp_gen.compat.wire.openers import CommandOpener, HttpOpener, MemoryOpener

if TYPE_CHECKING:
    from mcp_gen.client.connecting.targets import Target
    from mcp_gen.compat.plugin.reaching import AsgiCallable, Reached
    from mcp_gen.compat.recordings.replaying.replay import ReplayReport

__all__ = ["replay_in_test"]


def replay_in_test(
    path: Path,
    server: Target | AsgiCallable,
    over: str,
    root: Path,
    *,
    revision: str | None = None,
    ignore: Sequence[str] = (),
    timeout_s: float = TIMEOUT_S,
) -> ReplayReport:
    """Play a recording against a server under test, in an event loop and a thread of its own.

    Args:
        path: The file of the recording.
        server: A target of `Client.connect`, or an ASGI app.
        over: `memory`, `stdio` or `http`; empty for that which the server needs the least for.
        root: Folder of relative paths of the server.
        revision: The revision at which the conversation is restated; None: as it was recorded.
        ignore: JSON pointers to what may differ.
        timeout_s: Longest wait for a message, in seconds.

    Raises:
        UsageError: the file is no recording, or the server cannot be reached so.
        TransportError: the server cannot be reached.
    """

    async def run() -> ReplayReport:
        async with AsyncExitStack() as ended:
            opens = _opener(await ended.enter_async_context(reached(server, over, root)), ended)
            return await replay(path, opens, revision=revision, ignored=ignore, timeout_s=timeout_s)

    # The test may have an event loop of its own, that runs in this thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, run()).result()


def _opener(way: Reached, ended: AsyncExitStack) -> Any:
    """Return what makes wires to a server."""
    target: Any = way.target
    if way.transport == "http":
        return HttpOpener(target)
    if way.transport == "stdio":
        return CommandOpener(target, env=way.env)
    server: Any = load(parse_code(target)) if isinstance(target, str) else target
    opens = MemoryOpener(lambda revision: server)
    ended.push_async_callback(opens.aclose)
    return opens

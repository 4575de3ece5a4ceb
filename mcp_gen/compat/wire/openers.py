"""Openers: make the wires to one server, one per connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp_gen.client.connecting.in_process import InProcessTransport
from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.wire.duplex import DuplexWire
from mcp_gen.compat.wire.http import HttpWire, SsePairWire
from mcp_gen.compat.wire.process import Lingering, ProcessWire
from mcp_gen.compat.wire.sse_endpoint import SseEndpoint
from mcp_gen.transports.command import CommandTransport
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.client.connecting.in_process import ConnectableServer
    from mcp_gen.transports.environment import Environment

__all__ = ["CommandOpener", "HttpOpener", "MemoryOpener"]


class MemoryOpener:
    """Opens connections to a server of this process.

    Args:
        make: Returns the server of a new connection, by the revision of its client: the same one
            each time, or one of its own.
    """

    def __init__(self, make: Callable[[str], ConnectableServer]) -> None:
        self._make = make
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(self, revision: str) -> DuplexWire:
        """Return a wire to the server."""
        transport = InProcessTransport(self._make(revision), self._serve)
        return DuplexWire(transport, Transcript(revision, "memory"))

    async def aclose(self) -> None:
        """Wait until every server has ended: their clients are gone."""
        await asyncio.gather(*self._tasks)

    def _serve(self, serving: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(serving)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class CommandOpener:
    """Opens connections to a server that a command starts, each to a process of its own.

    Args:
        command: The program and its arguments.
        env: Environment variables of the process; see `CommandTransport`.
        cwd: The working directory; None for that of this process.
        stderr: File descriptor for what the processes write to stderr.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Environment = None,
        cwd: str | None = None,
        stderr: int | None = None,
    ) -> None:
        self._command = command
        self._env: Environment = env
        self._cwd = cwd
        self._stderr = stderr
        self._lingering = Lingering()

    def __call__(self, revision: str) -> ProcessWire:
        """Return a wire to a new process."""
        transport = CommandTransport(
            self._command, env=self._env, cwd=self._cwd, stderr=self._stderr
        )
        return ProcessWire(transport, Transcript(revision, "stdio"), self._lingering)


class HttpOpener:
    """Opens connections to the HTTP endpoint of a server.

    Args:
        url: The endpoint; at revisions with two endpoints, that of the stream.
        headers: Headers of every request, such as credentials: no transcript shows them.
        sse_url: The endpoint of the stream where the revision has two; None: it is looked for at
            `url` and near it.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, sse_url: str | None = None
    ) -> None:
        self._url = url
        self._headers = headers
        self._sse_url = sse_url
        self._sse: SseEndpoint | None = None

    def __call__(self, revision: str) -> HttpWire:
        """Return a wire of the kind that the revision has."""
        transcript = Transcript(revision, "http")
        if profile_of(revision).http_transport == "sse_pair":
            if self._sse_url is not None:
                return SsePairWire(self._sse_url, transcript, headers=self._headers)
            if self._sse is None:
                self._sse = SseEndpoint(self._url, self._headers, revision)
            find = self._sse.find
            return SsePairWire(self._url, transcript, headers=self._headers, find=find)
        return HttpWire(self._url, transcript, headers=self._headers)

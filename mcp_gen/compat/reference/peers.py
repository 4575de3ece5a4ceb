"""Strict peers for tests: a server for any client, and a client for any server."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.compat.reference.client import TIMEOUT_S, ReferenceClient
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.transcript_files import read_transcripts
from mcp_gen.compat.wire.duplex import DuplexWire
from mcp_gen.compat.wire.openers import CommandOpener, MemoryOpener

if TYPE_CHECKING:
    from mcp_gen.client.connecting.in_process import ConnectableServer
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.client import Answers
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.core.transport.protocols import Duplex

__all__ = ["ServerPeer", "reference_client", "reference_server"]


class ServerPeer:
    """A server of exactly one revision for tests of clients, with the transcripts of them all.

    Each client gets a server of its own. A client of this process connects to the object itself;
    others start its command.

    Args:
        kind: The class of the server.
        revision: The revision.
        log: Folder in which the processes of the command write down what they hear and say; None
            for no transcripts of them.
    """

    def __init__(
        self, kind: type[ReferenceServer], revision: str, *, log: Path | None = None
    ) -> None:
        self.kind = kind
        self.revision = revision
        self._log = log
        self._served: list[DuplexServing] = []

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it disconnects.

        Args:
            transport: The server's end of the connection, such as one end of `memory_pair()`.
        """
        serving = DuplexServing(self.kind(self.revision))
        self._served.append(serving)
        await serving.serve(transport)

    @property
    def command(self) -> list[str]:
        """The words of the command that serves one client on stdin and stdout."""
        name = f"{self.kind.__module__}:{self.kind.__qualname__}"
        words = [sys.executable, "-m", "mcp_gen.compat.reference.program", name]
        words += ["--revision", self.revision]
        return words if self._log is None else [*words, "--into", str(self._log)]

    @property
    def transcripts(self) -> list[Transcript]:
        """One transcript per client, also of those over stdio if there is a folder for them."""
        logged = [] if self._log is None else read_transcripts(self._log, self.revision)
        return [*(one.transcript for one in self._served), *logged]


def reference_server(revision: str) -> ServerPeer:
    """Return the strict server of a revision.

    It has tools, prompts and resources, and sends nothing that the revision does not have. The
    tools: `echo(text)`, `count(steps)`, `content()`, `structured()`, `fail()`, `wait()`,
    `ask_user()`, `ask_model()` and `ask_roots()`.

    Args:
        revision: The revision.

    Raises:
        LookupError: there is no such revision.
    """
    return ServerPeer(ReferenceServer, mcp_wire.profile(revision).revision)


@asynccontextmanager
async def reference_client(
    revision: str,
    server: ConnectableServer | Sequence[str],
    *,
    capabilities: Json | None = None,
    answers: Answers | None = None,
    timeout_s: float = TIMEOUT_S,
) -> AsyncGenerator[ReferenceClient, None]:
    """Connect the strict client of a revision to a server; close it at the end.

        async with reference_client(mcp_wire.LATEST, ["python", "server.py"]) as client:
            reply = await client.ask("call_tool", {"name": "add", "arguments": {"a": 1, "b": 2}})
            assert reply.result

    Args:
        revision: The revision.
        server: A server in this process (an object with `serve`), or the words of a command.
        capabilities: The capabilities that it declares; None for all that the revision has.
        answers: Answers to questions of the server; None for those of a user who agrees.
        timeout_s: Longest wait for an answer, in seconds.

    Raises:
        TransportError: the server cannot be reached.
    """
    memory: MemoryOpener | None = None
    wire: DuplexWire
    if isinstance(server, Sequence):
        wire = CommandOpener(server)(revision)
    else:
        memory = MemoryOpener(lambda spoken: server)
        wire = memory(revision)
    client = ReferenceClient(
        wire, revision, capabilities=capabilities, answers=answers, timeout_s=timeout_s
    )
    try:
        await client.open()
        yield client
    finally:
        await client.aclose()
        if memory is not None:
            await memory.aclose()

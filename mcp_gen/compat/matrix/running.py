"""Runs of a matrix: every client with every server, at every revision, over every transport."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import IO

import msgspec

import mcp_wire
from mcp_gen.compat.doctor.http_program import printing_program
from mcp_gen.compat.matrix.definition import (
    Matrix,
    PeerDefinition,
    ServerDefinition,
    peers_folder,
)
from mcp_gen.compat.matrix.installing import Installed, install
from mcp_gen.compat.matrix.judging import ClientEnd, judged
from mcp_gen.compat.matrix.model import (
    Cell,
    ConversationResult,
    MatrixReport,
    MatrixTransport,
    PeerFacts,
)
from mcp_gen.compat.matrix.recorded import read_talks
from mcp_gen.compat.recordings.redactor import Redactor
from mcp_gen.compat.recordings.taps.http import tap_url
from mcp_gen.compat.recordings.writer import RecordingWriter, new_file
from mcp_gen.compat.scenarios.commands import filled_in, run_command
from mcp_gen.core.errors import McpGenError, UsageError
from mcp_gen.core.redaction import shown_url

__all__ = ["run_matrix"]

AT_ONCE = 2
"""Number of servers that are run at the same time."""
MAX_STDOUT_BYTES = 1_048_576
MAX_STDERR_BYTES = 4096
RECORDING = "talk.jsonl"
TAPPED = "mcp_gen.compat.matrix.tapped"


async def run_matrix(
    matrix: Matrix,
    *,
    source: str,
    into: Path,
    say: Callable[[str], None] = lambda text: None,
    on_cell: Callable[[Cell], None] | None = None,
) -> MatrixReport:
    """Install the peers of a matrix, run every cell, and return the report.

    Args:
        matrix: The matrix.
        source: Its name in the report.
        into: Folder that peers are installed into.
        say: Called with one line before something is installed.
        on_cell: Called with each cell as soon as it is known.
    """
    began_s = monotonic()
    servers = {key: await install(one, into, say) for key, one in matrix.servers.items()}
    clients = {key: await install(one, into, say) for key, one in matrix.clients.items()}
    run = _Run(matrix, servers, clients, on_cell)
    cells = await run.cells()
    return MatrixReport(
        source=source,
        version=version("mcp-gen"),
        took_s=monotonic() - began_s,
        servers=tuple(
            PeerFacts(key=key, title=one.title or key, missing=servers[key].missing)
            for key, one in matrix.servers.items()
        ),
        clients=tuple(
            PeerFacts(key=key, title=one.title or key, missing=clients[key].missing)
            for key, one in matrix.clients.items()
        ),
        revisions=matrix.revisions,
        transports=matrix.transports,
        cells=cells,
    )


class _Run:
    """The runs of one matrix."""

    def __init__(
        self,
        matrix: Matrix,
        servers: dict[str, Installed],
        clients: dict[str, Installed],
        on_cell: Callable[[Cell], None] | None,
    ) -> None:
        self._matrix = matrix
        self._servers = servers
        self._clients = clients
        self._on_cell = on_cell
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def cells(self) -> tuple[Cell, ...]:
        """Run every cell."""
        groups = [
            self._group(server, transport, revision)
            for server in self._matrix.servers
            for transport in self._matrix.transports
            for revision in self._matrix.revisions
        ]
        made = await asyncio.gather(*groups)
        return tuple(cell for group in made for cell in group)

    async def _group(self, server: str, transport: MatrixTransport, revision: str) -> list[Cell]:
        """Run every client with one server."""
        cells = [
            Cell(
                server=server,
                client=client,
                transport=transport,
                revision=revision,
                verdict="not tested",
            )
            for client in self._matrix.clients
        ]
        async with self._turns:
            return [self._tell(one) for one in await self._run_group(cells)]

    def _tell(self, cell: Cell) -> Cell:
        if self._on_cell:
            self._on_cell(cell)
        return cell

    async def _run_group(self, cells: list[Cell]) -> list[Cell]:
        first = cells[0]
        definition = self._matrix.servers[first.server]
        installed = self._servers[first.server]
        kind = _kind(first)
        command: str = getattr(definition, kind)
        why = installed.missing and f"{first.server} is not installed: {installed.missing}"
        if not why and not command and not (definition.url and first.transport == "http"):
            why = f"{first.server} has no command for {_spoken(kind)}"
        if why:
            return [msgspec.structs.replace(one, why=why) for one in cells]
        with tempfile.TemporaryFile() as stderr:
            try:
                words = _words(command, definition, installed, first.revision)
                if first.transport == "stdio":
                    return [await self._over_stdio(one, words, installed, stderr) for one in cells]
                async with _serving(definition, words, installed, stderr) as url:
                    return [await self._over_http(one, url) for one in cells]
            except (McpGenError, OSError) as error:
                failed = ConversationResult(name="serve", verdict="failed", why=str(error))
                return [
                    msgspec.structs.replace(one, verdict="failed", conversations=(failed,))
                    for one in cells
                ]

    async def _over_stdio(
        self, cell: Cell, server: list[str], installed: Installed, stderr: IO[bytes]
    ) -> Cell:
        def tap(folder: Path) -> list[str]:
            home = installed.folder or str(folder)
            return [sys.executable, "-m", TAPPED, home, str(folder / RECORDING), *server]

        with tempfile.TemporaryDirectory(prefix="mcp-matrix-") as name:
            words = tap(Path(name))
            said = {"command": shlex.join(words), "command_json": json.dumps(words)}
            return await self._with_client(cell, said, Path(name))

    async def _over_http(self, cell: Cell, url: str) -> Cell:
        with tempfile.TemporaryDirectory(prefix="mcp-matrix-") as name:
            file, _ = new_file(Path(name) / RECORDING)
            writer = RecordingWriter(file, Redactor(), transport="http", server=shown_url(url))
            try:
                async with tap_url(url, writer) as (tapped, _):
                    return await self._with_client(cell, {"url": tapped}, Path(name))
            finally:
                writer.aclose()

    async def _with_client(self, cell: Cell, said: dict[str, str], folder: Path) -> Cell:
        """Run the client of a cell, and return the cell with its verdict."""
        definition = self._matrix.clients[cell.client]
        installed = self._clients[cell.client]
        if installed.missing:
            why = f"{cell.client} is not installed: {installed.missing}"
            return msgspec.structs.replace(cell, why=why)
        kind = _kind(cell)
        command: str = getattr(definition, kind)
        if not command:
            why = f"{cell.client} has no command for {_spoken(kind)}"
            return msgspec.structs.replace(cell, why=why)
        words = _words(command, definition, installed, cell.revision)
        with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
            try:
                ended = await run_command(
                    words,
                    said,
                    self._matrix.timeout_s,
                    stdout=stdout.fileno(),
                    stderr=stderr.fileno(),
                    cwd=installed.folder or None,
                    have_ended=lambda: all(_is_over(one) for one in folder.glob("*.jsonl")),
                )
            except OSError as error:
                why = f"{words[0]!r} cannot be started: {error.strerror}"
                failed = ConversationResult(name="start", verdict="failed", why=why)
                return msgspec.structs.replace(cell, verdict="failed", conversations=(failed,))
            stdout.seek(0)
            end = ClientEnd(
                ended=ended, stdout=stdout.read(MAX_STDOUT_BYTES), last_line=_last_line(stderr)
            )
        return judged(cell, end, read_talks(folder, cell.revision))


def _kind(cell: Cell) -> str:
    """Return the name of the command that serves over the transport at the revision."""
    if cell.transport == "http" and mcp_wire.profile(cell.revision).http_transport == "sse_pair":
        return "sse"
    return cell.transport


def _spoken(kind: str) -> str:
    return "HTTP+SSE" if kind == "sse" else kind


def _words(
    command: str, definition: PeerDefinition, installed: Installed, revision: str
) -> list[str]:
    """Return the words of a command with the values of their placeholders."""
    known = {
        "revision": revision,
        "python": installed.python,
        "node": installed.node,
        "folder": installed.folder,
        "peers": str(peers_folder()),
    }
    if "{node}" in command and not installed.node:
        raise UsageError("there is no `node` on this machine")
    return filled_in(shlex.split(command), known)


@asynccontextmanager
async def _serving(
    definition: ServerDefinition, words: list[str], installed: Installed, stderr: IO[bytes]
) -> AsyncGenerator[str]:
    """Run the server of a group over HTTP, unless it runs already, and yield its URL."""
    if not words:
        yield definition.url
        return
    async with printing_program(words, stderr, cwd=installed.folder or None) as url:
        yield url


def _is_over(path: Path) -> bool:
    """Return True if a recording has its last line: the process of the server has ended."""
    tail = path.read_bytes()[-MAX_STDERR_BYTES:]
    return b'"from":"server","kind":"closed"' in tail


def _last_line(stderr: IO[bytes]) -> str:
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - MAX_STDERR_BYTES))
    lines = stderr.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].strip() if lines else ""

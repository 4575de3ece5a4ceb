"""Program that serves over HTTP at a free port of this machine, for as long as it is needed."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO
from urllib.parse import urlsplit

from mcp_gen.compat.wire.sse_endpoint import SSE_PATH
from mcp_gen.core.errors import TransportError

__all__ = ["http_program", "printing_program"]

START_S = 30.0
"""Longest time from the start of the program until it listens, in seconds."""
LOOK_S = 0.05
"""Seconds between two tries to connect to a program that does not listen yet."""
END_S = 5.0
"""Seconds that the program gets to end after SIGTERM."""

NO_HANDSHAKE = "legacy_sse_path: "
"""Beginning of the refusal of a server that has no use for that transport."""

MAX_LINE_BYTES = 1_048_576
"""Maximum length of a line that the program may write before it listens."""

_URL = re.compile(rb"http://127\.0\.0\.1:\d+/\S*")


@asynccontextmanager
async def http_program(command: Sequence[str], stderr: IO[bytes]) -> AsyncGenerator[str]:
    """Run `mcp-gen run` over HTTP while the context manager is open, and yield its URL.

    A server with a handshake has the HTTP+SSE transport, too, at `SSE_PATH`.

    Args:
        command: The words of `mcp-gen run` without those for HTTP.
        stderr: File that takes what the program writes to stderr.

    Raises:
        TransportError: it ended, or did not listen in time.
    """
    words = [*command, "--http", "--port", "0"]
    try:
        process, url = await _started([*words, "--sse-path", SSE_PATH], stderr)
    except TransportError as error:
        if NO_HANDSHAKE not in str(error):
            raise
        process, url = await _started(words, stderr)
    async with _ended_after(process, stderr):
        yield url


@asynccontextmanager
async def printing_program(
    command: Sequence[str], stderr: IO[bytes], *, cwd: str | None = None
) -> AsyncGenerator[str]:
    """Run a program that prints its URL at 127.0.0.1, and yield the URL once it listens there.

    Args:
        command: Its words.
        stderr: File that takes what it prints, to stdout and to stderr.
        cwd: The folder in which it runs; None for that of this process.

    Raises:
        TransportError: it ended, or did not listen in time.
    """
    process, url = await _started(command, stderr, cwd)
    async with _ended_after(process, stderr):
        yield url


@asynccontextmanager
async def _ended_after(
    process: asyncio.subprocess.Process, stderr: IO[bytes]
) -> AsyncGenerator[None]:
    """Copy what a program prints while the context manager is open, and end it then."""
    assert process.stdout is not None
    copying = asyncio.create_task(_copy(process.stdout, stderr))
    try:
        yield
    finally:
        await _end(process)
        await copying


async def _started(
    command: Sequence[str], stderr: IO[bytes], cwd: str | None = None
) -> tuple[asyncio.subprocess.Process, str]:
    """Start a program, and return it and its URL, once it listens."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        limit=MAX_LINE_BYTES,
    )
    assert process.stdout is not None
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                url = await _start_line(process.stdout, stderr)
                await _connectable(url, process, stderr)
                return process, url
        raise TransportError(f"the server did not listen within {START_S:g} s")
    except BaseException:
        await _end(process)
        raise


async def _start_line(lines: asyncio.StreamReader, stderr: IO[bytes]) -> str:
    async for line in lines:
        stderr.write(line)
        found = _URL.search(line)
        if found:
            return found[0].decode()
    raise _ended_early(stderr)


async def _connectable(url: str, process: asyncio.subprocess.Process, stderr: IO[bytes]) -> None:
    """Wait until the program takes connections: some print their URL before they listen."""
    parts = urlsplit(url)
    while True:
        try:
            _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        except ConnectionRefusedError:
            if process.returncode is not None:
                assert process.stdout is not None
                stderr.write(await process.stdout.read())
                raise _ended_early(stderr) from None
            await asyncio.sleep(LOOK_S)
        else:
            writer.close()
            return


def _ended_early(stderr: IO[bytes]) -> TransportError:
    stderr.seek(0)
    last = stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    return TransportError(f"the server ended before it listened: {last}")


async def _copy(lines: asyncio.StreamReader, stderr: IO[bytes]) -> None:
    while data := await lines.read(65_536):
        stderr.write(data)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(END_S):
            await process.wait()
            return
    process.kill()
    await process.wait()

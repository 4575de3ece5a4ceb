"""Program that serves over HTTP at a free port of this machine, for as long as it is needed."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import IO

from mcp_gen.compat.wire.sse_endpoint import SSE_PATH
from mcp_gen.core.errors import TransportError

__all__ = ["http_program"]

START_S = 30.0
"""Longest time from the start of the program until it listens, in seconds."""
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
    assert process.stderr is not None
    copying = asyncio.create_task(_copy(process.stderr, stderr))
    try:
        yield url
    finally:
        await _end(process)
        await copying


async def _started(
    command: Sequence[str], stderr: IO[bytes]
) -> tuple[asyncio.subprocess.Process, str]:
    """Start a program, and return it and its URL, once it listens."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        limit=MAX_LINE_BYTES,
    )
    assert process.stderr is not None
    try:
        return process, await _start_line(process.stderr, stderr)
    except BaseException:
        await _end(process)
        raise


async def _start_line(lines: asyncio.StreamReader, stderr: IO[bytes]) -> str:
    with suppress(TimeoutError):
        async with asyncio.timeout(START_S):
            async for line in lines:
                stderr.write(line)
                found = _URL.search(line)
                if found:
                    return found[0].decode()
            stderr.seek(0)
            last = stderr.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise TransportError(f"the server ended before it listened: {last}")
    raise TransportError(f"the server did not listen within {START_S:g} s")


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

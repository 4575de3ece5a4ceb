"""Server for the stdio tests. Options are JSON in the first argument."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import mcp_gen.server.serving.stdio
import mcp_gen.session.duplex.server
from mcp_gen import Server
from mcp_gen.transports.stdio import StdioTransport

OPTIONS = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
if "grace_s" in OPTIONS:
    mcp_gen.session.duplex.server.GRACE_S = OPTIONS["grace_s"]
    mcp_gen.server.serving.stdio.THREADS_WAIT_S = OPTIONS["grace_s"]

server = Server("stdio", **OPTIONS.get("server", {}))
released = asyncio.Event()


@server.tool
async def echo(text: str) -> str:
    return text


@server.tool
async def hold() -> str:
    """Return after `release` was called."""
    await released.wait()
    return "released"


@server.tool
async def release() -> str:
    released.set()
    return "done"


@server.tool
def read_file(path: str) -> str:
    return Path(path).read_text()


@server.tool
async def interrupt() -> str:
    raise KeyboardInterrupt


@server.tool
async def wait_for_ever() -> str:
    print("waiting", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("stopped waiting", flush=True)
    return "never"


@server.tool
async def noise(way: str) -> str:
    if way == "print":
        print("noise")
    elif way == "flushed print":
        print("noise", flush=True)
    elif way == "descriptor":
        os.write(1, b"noise\n")
    else:
        # Blocking on purpose: as a tool that shells out without a thought does it.
        subprocess.run(["echo", "noise"], check=True)  # noqa: ASYNC221
    return "done"


@server.tool
def ask(way: str) -> str:
    try:
        return input() if way == "input" else subprocess.check_output(["cat"], text=True)
    except EOFError:
        return ""


async def main() -> None:
    await server.serve(StdioTransport(**OPTIONS["transport"]))


if __name__ == "__main__":
    if "transport" in OPTIONS:
        asyncio.run(main())
    else:
        server.run("stdio")

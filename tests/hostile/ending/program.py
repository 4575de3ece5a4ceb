"""Server that the tests end: a program, also for `mcp-gen run`. Environment variables set it up.

`GRACE_S`: seconds that open calls get. `ON_EXIT`: `hang` or `fail` at the end of the lifespan.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import mcp_gen.server.serving.stdio
import mcp_gen.session.duplex.server
import mcp_gen.session.http_server.exchange
import mcp_gen.transports.http_server.app
from mcp_gen import Context, Server

if "GRACE_S" in os.environ:
    grace_s = float(os.environ["GRACE_S"])
    mcp_gen.session.duplex.server.GRACE_S = grace_s
    mcp_gen.transports.http_server.app.GRACE_S = grace_s
    mcp_gen.server.serving.stdio.THREADS_WAIT_S = grace_s
    # The exchange imports the constant by its name.
    setattr(mcp_gen.session.http_server.exchange, "GRACE_S", grace_s)  # noqa: B010


def say(text: str) -> None:
    """Write a line to stderr, which tests wait for."""
    print(text, file=sys.stderr, flush=True)


@asynccontextmanager
async def lifespan(server: Server) -> AsyncIterator[None]:
    yield
    if os.environ.get("ON_EXIT") == "hang":
        say("hangs at its end")
        await asyncio.Event().wait()
    if os.environ.get("ON_EXIT") == "fail":
        raise OSError("no database to close")


server = Server("ending", lifespan=lifespan)
released = asyncio.Event()


@server.tool
async def hold() -> str:
    """Wait for SIGUSR1."""
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, released.set)
    say("holding")
    await released.wait()
    return "released"


@server.tool
async def wait() -> str:
    """Wait for ever."""
    say("waiting")
    try:
        await asyncio.Event().wait()
    finally:
        say("stopped waiting")
    return "never"


@server.tool
async def report(ctx: Context) -> str:
    """Report, then wait for ever."""
    await ctx.report_progress(1)
    say("reported")
    await asyncio.Event().wait()
    return "never"


@server.tool
async def stubborn() -> str:
    """Take no cancellation."""
    say("stubborn")
    while not released.is_set():
        try:
            await released.wait()
        except asyncio.CancelledError:
            say("no")
    return "never"


@server.tool
def work() -> str:
    """Work in a thread for ever."""
    say("working")
    threading.Event().wait()
    return "never"


@server.tool
async def block() -> str:
    """Block the event loop for ever, as a program without a thought does it."""
    say("blocking")
    time.sleep(1e6)  # noqa: ASYNC251  # that is the point
    return "never"


@server.tool
async def leave() -> str:
    sys.exit("bye")


@server.tool
def leave_thread() -> str:
    sys.exit("bye")


@server.tool
async def interrupt() -> str:
    raise KeyboardInterrupt


@server.tool
async def echo(text: str) -> str:
    return text


app = server.asgi(legacy_sse_path="/sse")
"""For uvicorn as users start it."""
stateless = server.asgi(stateless=True)

if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        log = logging.getLogger("mcp_gen.server")
        log.addHandler(logging.StreamHandler())
        log.setLevel(logging.INFO)
        drain_s = float(os.environ.get("GRACE_S", "10"))
        server.run("http", port=0, announce=False, legacy_sse_path="/sse", drain_s=drain_s)
    else:
        server.run("stdio")

"""Server of long contents for `test_read_memory`; run as a program, it says what it allocates."""

from __future__ import annotations

import gc
import socket
import sys
import tracemalloc
from typing import Any

SIZE_BYTES = 1 << 20


def a_server() -> Any:
    """Return the server; each read makes its content anew."""
    from mcp_gen import Server

    server = Server("reading")

    @server.resource("text://{size}")
    async def text(size: int) -> str:
        return "x" * size

    @server.resource("blob://{size}")
    async def blob(size: int) -> bytes:
        return b"\xff" * size

    @server.tool
    async def allocated() -> int:
        """Return the number of bytes that are allocated."""
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    @server.tool
    async def resident() -> list[int]:
        """Return the kB that are resident, and the most since the last call."""
        return resident_kb()

    return server


def resident_kb() -> list[int]:
    """Return the resident memory of this process and its most, which is counted anew."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    with open("/proc/self/clear_refs", "w") as marks:
        marks.write("5")
    return [int(lines[name].split()[0]) for name in ("VmRSS", "VmHWM")]


def main(over: str, encoders: str) -> None:
    """Serve over stdio, or over HTTP on a port that is printed."""
    if encoders == "plain":
        modules: dict[str, Any] = sys.modules
        modules.update(orjson=None, pybase64=None)
    server = a_server()
    tracemalloc.start()
    if over == "stdio":
        server.run("stdio")
        return
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(server.asgi(), log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])

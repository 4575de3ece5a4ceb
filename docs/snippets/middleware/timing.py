import time
from typing import Any

from mcp_gen import CallNext, Context, Server

server = Server("sums", "1.0.0")


@server.tool
async def add_up(to: int) -> int:
    """Add the numbers up to one."""
    return sum(range(to + 1))


@server.middleware
async def timing(ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
    began = time.perf_counter()
    try:
        return await call_next(params)
    finally:
        took_ms = (time.perf_counter() - began) * 1000
        print(method, "was fast" if took_ms < 1000 else "was slow")


if __name__ == "__main__":
    server.run("stdio")

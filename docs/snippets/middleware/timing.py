import time
from typing import Any

from mcp_gen import Context, Server
from mcp_gen.server.dispatch.middleware import CallNext

server = Server("slow", "1.0.0")


@server.tool
async def work(n: int) -> int:
    """Work for a moment."""
    return sum(range(n))


@server.middleware
async def timing(ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
    began = time.perf_counter()
    try:
        return await call_next(params)
    finally:
        ms = (time.perf_counter() - began) * 1000
        print(f"{method}: {'fast' if ms < 100 else 'slow'}")


if __name__ == "__main__":
    server.run("stdio")

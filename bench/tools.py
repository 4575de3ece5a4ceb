"""Benchmarks of servers with many tools: start-up, and calls of a tool among them."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

from msgspec import Raw

import mcp_wire
from bench.child import printed_by
from bench.requests import HANDSHAKE
from bench.sampling import Row, Settings, compare, row_of
from mcp_gen import Server
from mcp_gen.session.messages.channel import NULL_CHANNEL
from mcp_gen.session.peer.session import RequestOrigin

__all__ = ["rows"]

MANY, FEW = 10_000, 10
START_S = 0.5

# Each function has code and annotations of its own, as those of a large program have. They are
# there before the clock starts: the program pays for them with any server.
_PROGRAM = """
import sys, time
many, names_as_texts = int(sys.argv[1]), sys.argv[2] == "texts"
source = "from __future__ import annotations" if names_as_texts else ""
for number in range(many):
    source += f'''
async def tool_{number}(name: str, count: int = 1, tags: list[str] | None = None) -> dict[str, int]:
    "Tool {number}."
    return {{"count": count}}
'''
functions = {}
exec(source, functions)
started = time.process_time()
from mcp_gen import Server
server = Server("many")
for number in range(many):
    server.add_tool(functions[f"tool_{number}"])
print(time.process_time() - started)
"""


def rows(settings: Settings) -> Iterator[Row]:
    """Measure start-up in fresh interpreters against a limit, then calls against few tools."""
    for how in ("types", "texts"):
        yield row_of(
            f"start with {MANY:,} tools, annotations as {how} / {START_S} s",
            "CPU s",
            [(_start_s(how), START_S) for _ in range(settings.runs(6))],
        )
    calls = settings.calls(6000)
    yield compare(
        f"call among {MANY:,} tools / among {FEW}",
        "CPU ns",
        partial(_call_ns, _server(MANY), calls),
        partial(_call_ns, _server(FEW), calls),
        repetitions=settings.repetitions(15),
    )


def _start_s(how: str) -> float:
    (took_s,) = printed_by([sys.executable, "-c", _PROGRAM, str(MANY), how])
    return took_s


def _server(tools: int) -> Server:
    server = Server("many")
    for number in range(tools):
        server.add_tool(_adder(), name=f"tool_{number}")
    return server


def _adder() -> Callable[..., Any]:
    async def add(a: int, b: int) -> int:
        return a + b

    return add


def _call_ns(server: Server, calls: int) -> float:
    """Return the CPU time of calling one of the last tools, from decoding params to the answer."""
    caller = RequestOrigin(mcp_wire.profile(HANDSHAKE), NULL_CHANNEL)
    ctx = server.runtime.kernel.context(1, caller, None)
    params: Any = SimpleNamespace(
        name=f"tool_{len(server.tools) - 1}", arguments=Raw(b'{"a":1,"b":2}')
    )

    async def run() -> float:
        started = time.process_time_ns()
        for _ in range(calls):
            await server.tools.call(ctx, params)
        return (time.process_time_ns() - started) / calls

    return asyncio.run(run())

"""All curves, by name."""

from __future__ import annotations

import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench.child import Child
from bench.curves.measuring import CONNECTIONS, Bench, Curve, Measure, add, cost_us, measured
from bench.load import Load
from bench.peers.measuring import timed
from bench.requests import HANDSHAKE, PER_REQUEST, call, raw_post, request
from bench.wire import Streams, Wire, allowing_files, begin_session, listen, named

__all__ = ["CURVES"]

ON_UVICORN = "uvicorn with uvloop and httptools, default malloc, free CPUs"
WHERE = f"{ON_UVICORN}, {CONNECTIONS} connections"
CALL_US = "CPU µs of the server per call"
TOKEN = "a-token-of-the-benchmarks"
STARTS_S = 20.0

Prepare = Callable[[ExitStack], Measure]


def tools(bench: Bench) -> Iterator[Curve]:
    """Calls among more and more tools, and the start of their server."""
    numbers = bench.some(10, 100, 1000, 10_000)

    def called(number: int, stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", str(number), "0", "0")
        return cost_us(bench, child, port, [add("last")] * CONNECTIONS)

    yield Curve(
        name="a call among many tools",
        along="tools",
        unit=CALL_US,
        placed=WHERE,
        series=measured(bench, {PER_REQUEST: {one: partial(called, one) for one in numbers}}),
    )
    yield Curve(
        name="start of a server with many tools",
        along="tools",
        unit="CPU ms until it listens",
        placed=ON_UVICORN,
        series=measured(bench, {"start": {one: partial(_start, one) for one in numbers}}),
    )


def held(bench: Bench) -> Iterator[Curve]:
    """Calls while sessions and listeners are open."""
    numbers = [bench.at_most(one) for one in bench.some(0, 500, 2000, 5000)]

    def sessions(number: int, stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", "2", "0", "0")
        bench.runner.run(_open_sessions(port, number))
        session = begin_session(port)
        return cost_us(bench, child, port, _in_session(session))

    def listeners(number: int, stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", "2", "0", "0")
        streams = Streams(port)
        stack.callback(streams.aclose)
        if number:
            bench.runner.run(streams.open(listen(), number))
        return cost_us(bench, child, port, [add()] * CONNECTIONS)

    with allowing_files(sum(numbers) + 1000):
        series = {
            f"idle sessions of {HANDSHAKE}": {one: partial(sessions, one) for one in numbers},
            f"listeners of {PER_REQUEST}": {one: partial(listeners, one) for one in numbers},
        }
        yield Curve(
            name="a call while others are open",
            along="open sessions, or open listening streams",
            unit=CALL_US,
            placed=WHERE,
            series=measured(bench, series),
        )


def sizes(bench: Bench) -> Iterator[Curve]:
    """Calls with longer and longer texts, in the request and in the answer."""
    numbers = bench.some(100, 1024, 16_384, 262_144, 4_194_304)

    def texts(tool: str, number: int, stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", "2", "0", "0")
        value: object = "x" * number if tool == "measure" else number
        arguments = {"text" if tool == "measure" else "length": value}
        body = request(1, PER_REQUEST, "tools/call", {"name": tool, "arguments": arguments})
        return cost_us(bench, child, port, [raw_post(named("tools/call", tool), body)] * 4)

    series = {
        "in the request": {one: partial(texts, "measure", one) for one in numbers},
        "in the answer, as text and structured": {
            one: partial(texts, "repeat", one) for one in numbers
        },
    }
    yield Curve(
        name="a call with a long text",
        along="bytes of the text",
        unit=CALL_US,
        placed=f"{ON_UVICORN}, 4 connections, orjson and pybase64",
        series=measured(bench, series),
    )


def connections(bench: Bench) -> Iterator[Curve]:
    """Calls on more and more connections at once."""
    numbers = bench.some(1, 4, 16, 64, 256)

    def alone(number: int, stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", "2", "0", "0")
        return cost_us(bench, child, port, [add()] * number)

    def session(number: int, stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", "2", "0", "0")
        return cost_us(bench, child, port, _in_session(begin_session(port), number))

    series = {
        PER_REQUEST: {one: partial(alone, one) for one in numbers},
        f"session of {HANDSHAKE}": {one: partial(session, one) for one in numbers},
    }
    yield Curve(
        name="a call on many connections",
        along="connections",
        unit=CALL_US,
        placed=ON_UVICORN,
        series=measured(bench, series),
    )


def layers(bench: Bench) -> Iterator[Curve]:
    """Calls through hooks and middleware."""
    numbers = bench.some(0, 1, 2, 5, 10)

    def prepare(hooks: int, middleware: int, stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", "2", str(hooks), str(middleware))
        return cost_us(bench, child, port, [add()] * CONNECTIONS)

    series = {
        "hooks before the call": {one: partial(prepare, one, 0) for one in numbers},
        "middleware": {one: partial(prepare, 0, one) for one in numbers},
    }
    yield Curve(
        name="a call through hooks and middleware",
        along="hooks, or middleware",
        unit=CALL_US,
        placed=WHERE,
        series=measured(bench, series),
    )


def workers(bench: Bench) -> Iterator[Curve]:
    """Calls of one and of two processes at one port, by the clock."""

    def prepare(number: int, stack: ExitStack) -> Measure:
        with socket.create_server(("127.0.0.1", 0)) as found:
            port: int = found.getsockname()[1]
        options = ("--http", "--stateless", "--port", str(port), "--workers", str(number))
        target = "bench.programs.scaled:server"
        program = "from mcp_gen.cli import main; main()"
        command = [sys.executable, "-c", program, "run", target, *options]
        child = stack.enter_context(Child.of(command, quiet=True))
        _until_open(port)
        load = Load(child, port, [add()] * CONNECTIONS * 2)
        return timed(lambda number: bench.runner.run(load.clock_rate(number)), bench.effort)

    yield Curve(
        name="worker processes",
        along="processes",
        unit="calls per second, by the clock",
        placed=f"{ON_UVICORN}, {2 * CONNECTIONS} connections; the load takes a processor, too",
        series=measured(bench, {PER_REQUEST: {one: partial(prepare, one) for one in (1, 2)}}),
    )


def around(bench: Bench) -> Iterator[Curve]:
    """Calls with and without authorization, and with and without a cluster."""

    def plain(stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", "2", "0", "0")
        return cost_us(bench, child, port, [add()] * CONNECTIONS)

    def authorized(stack: ExitStack) -> Measure:
        child, port = _started(stack, "scaled", "2", "0", "0", TOKEN)
        token = {"authorization": f"Bearer {TOKEN}"}
        return cost_us(bench, child, port, [add(headers=token)] * CONNECTIONS)

    def in_session(child: Child, port: int) -> Measure:
        return cost_us(bench, child, port, _in_session(begin_session(port)))

    def alone(stack: ExitStack) -> Measure:
        return in_session(*_started(stack, "http", "ours"))

    def in_cluster(stack: ExitStack) -> Measure:
        # Needs redis-server and redis, as these bars alone do.
        from bench.cluster import HOST, started_store

        program = shutil.which("redis-server")
        assert program is not None
        kept = stack.enter_context(started_store(program))
        url = f"redis://{HOST}:{kept.connection_pool.connection_kwargs['port']}"
        return in_session(*_started(stack, "http", "clustered", url))

    sessions: dict[Any, Prepare] = {"alone": alone}
    if shutil.which("redis-server") is None:
        print("curves: redis-server is not installed: no bar of a cluster", file=sys.stderr)
    else:
        sessions["in a cluster"] = in_cluster
    series: Mapping[str, Mapping[Any, Prepare]] = {
        PER_REQUEST: {"without authorization": plain, "with a known token": authorized},
        f"session of {HANDSHAKE}": sessions,
    }
    yield Curve(
        name="authorization and clusters",
        along="",
        unit=CALL_US,
        placed=WHERE,
        series=measured(bench, series),
    )


CURVES: dict[str, Callable[[Bench], Iterator[Curve]]] = {
    "tools": tools,
    "held": held,
    "sizes": sizes,
    "connections": connections,
    "layers": layers,
    "workers": workers,
    "around": around,
}


def _started(stack: ExitStack, module: str, *words: str) -> tuple[Child, int]:
    child = stack.enter_context(Child(module, *words))
    return child, int(child.read_line())


def _start(number: int, _: ExitStack) -> Measure:
    def measure() -> float:
        with ExitStack() as stack:
            child, _ = _started(stack, "scaled", str(number), "0", "0")
            return child.cpu_s() * 1000

    measure()
    return measure


def _in_session(session: dict[str, str], number: int = CONNECTIONS) -> list[bytes]:
    return [raw_post(session, call(id, HANDSHAKE)) for id in range(100, 100 + number)]


async def _open_sessions(port: int, number: int) -> None:
    async with Wire(port) as wire:
        for _ in range(number):
            await wire.session()


def _until_open(port: int) -> None:
    until_s = time.monotonic() + STARTS_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if time.monotonic() > until_s:
            raise TimeoutError(f"port {port} did not open in {STARTS_S:g} s")
        # The server starts; bounded by `until_s`.
        time.sleep(0.02)

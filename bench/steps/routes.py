"""Routes of a call that are profiled: four of a server, three of a client."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from bench.child import Child
from bench.load import Load
from bench.peers.measuring import Effort, timed
from bench.requests import HANDSHAKE, PER_REQUEST, call, initialize, initialized, raw_post
from bench.stdio import IDS, one_at_a_time, one_cpu
from bench.steps.profiling import Profile, Route, profile, route_of
from bench.wire import begin_session, named

__all__ = ["CLIENTS", "SERVERS", "routes"]

CONNECTIONS = 16
CALLS = 3000
HTTP = f"uvicorn with uvloop and httptools, default malloc, free CPUs, {CONNECTIONS} connections"
STDIO = "asyncio, default malloc, driver and server on one CPU, one call at a time"
CLIENT = "asyncio, default malloc, free CPUs, one call at a time"

SERVERS = {
    f"server, HTTP {PER_REQUEST}": ("http", PER_REQUEST),
    f"server, HTTP session {HANDSHAKE}": ("http", HANDSHAKE),
    f"server, stdio {PER_REQUEST}": ("stdio", PER_REQUEST),
    f"server, stdio {HANDSHAKE}": ("stdio", HANDSHAKE),
}
CLIENTS = {
    f"client, HTTP {PER_REQUEST}": "http",
    f"client, stdio {PER_REQUEST}": "stdio",
    f"client and server in one process, {PER_REQUEST}": "memory",
}

Ask = Callable[[int], float]
"""Makes a number of calls and returns calls per second of the child's CPU."""


def routes(runner: asyncio.Runner, effort: Effort) -> Iterator[Route]:
    """Measure every route."""
    for name, (transport, revision) in SERVERS.items():
        on_http = transport == "http"
        words = ("scaled", "2", "0", "0") if on_http else ("ours_stdio",)
        with (
            nullcontext() if on_http else one_cpu(),
            tempfile.TemporaryDirectory() as folder,
            Child("profiled", folder, *words) as child,
        ):
            ask = _over_http(runner, child, revision) if on_http else _over_stdio(child, revision)
            yield _route(name, HTTP if on_http else STDIO, child, Path(folder), ask, effort)
    command = [sys.executable, "-m", "bench.programs.ours_stdio"]
    with (
        Child("http", "ours") as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        url = f"http://127.0.0.1:{int(server.read_line())}/mcp"
        with Child("profiled", folder, "asks_ours", PER_REQUEST, url, *command) as child:
            assert child.read_line() == b"ready\n"
            for name, way in CLIENTS.items():
                yield _route(name, CLIENT, child, Path(folder), partial(_asked, child, way), effort)


def _route(name: str, placed: str, child: Child, folder: Path, ask: Ask, effort: Effort) -> Route:
    measure = timed(ask, effort, least=CONNECTIONS)
    calls = CALLS if effort.run_s else CONNECTIONS
    totals_us: list[float] = []
    profiles: list[Profile] = []
    for _ in range(effort.rounds):
        totals_us.append(1e6 / measure())
        profiles.append(profile(child, folder, ask, calls))
    return route_of(name, placed, totals_us, profiles)


def _over_http(runner: asyncio.Runner, child: Child, revision: str) -> Ask:
    port = int(child.read_line())
    headers = named("tools/call", "add") if revision == PER_REQUEST else begin_session(port)
    ids = range(100, 100 + CONNECTIONS)
    load = Load(child, port, [raw_post(headers, call(id, revision)) for id in ids])
    return lambda calls: runner.run(load.rate(calls))


def _over_stdio(child: Child, revision: str) -> Ask:
    if revision == HANDSHAKE:
        child.ask(initialize(0))
        child.write(initialized() + b"\n")
    requests = [call(id, revision) + b"\n" for id in range(1, IDS + 1)]

    def ask(calls: int) -> float:
        started_s = child.cpu_s()
        one_at_a_time(child, requests, calls)
        return calls / child.cpu_since(started_s)

    return ask


def _asked(child: Child, way: str, calls: int) -> float:
    _, cpu_s = map(float, child.ask(f"{way} {calls} 1".encode()).split())
    return calls / cpu_s

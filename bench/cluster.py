"""Cluster benchmarks: a node over Redis against the same server alone, and what Redis holds."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import redis
import uvloop

from bench.child import Child
from bench.http import CONNECTIONS, in_session, per_request
from bench.load import Load
from bench.requests import HANDSHAKE, PER_REQUEST, call, raw_post
from bench.sampling import Goal, Row, Settings, at_least, at_most, compare, row_of
from bench.streams import STREAMS
from bench.wire import Streams, allowing_files, begin_session, get, listen, named, post

__all__ = ["HOST", "rows", "started_store"]

CALLS = 600
SESSIONS = 1000
SESSION_BYTES = 3000
EVENT_CALLS = 400
HOST = "127.0.0.1"
STARTS_S = 10.0
ENDS_S = 5.0

_EVENTS_ONLY = {"accept": "text/event-stream"}


def rows(settings: Settings) -> Iterator[Row]:
    """Measure calls with and without a cluster, the store's memory, and a change over two nodes."""
    program = shutil.which("redis-server")
    if program is None:
        print("cluster: redis-server is not installed, so there are no rows", file=sys.stderr)
        return
    with (
        allowing_files(SESSIONS + STREAMS + 300),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        started_store(program) as store,
    ):
        url = f"redis://{HOST}:{store.connection_pool.connection_kwargs['port']}"
        with Child("http", "ours") as alone, Child("http", "clustered", url) as node:
            ports = [int(child.read_line()) for child in (node, alone)]
            yield from _calls(settings, runner, store, (node, alone), ports)
            yield from _held(settings, runner, store, ports[0])
        # Others than before, which still have the sessions of those rows.
        with (
            Child("http", "clustered", url) as node,
            Child("http", "clustered", url) as other,
            Child("http", "ours") as alone,
        ):
            yield from _changes(settings, runner, (node, other), alone)


def _calls(
    settings: Settings,
    runner: asyncio.Runner,
    store: redis.Redis,
    children: tuple[Child, Child],
    ports: list[int],
) -> Iterator[Row]:
    """Measure calls by the node's own CPU, and the operations that they cost the store."""
    calls = settings.calls(CALLS)

    def made(what: str, requests: Callable[[int], list[bytes]], goal: Goal) -> Iterator[Row]:
        ours, bare = (
            Load(child, port, requests(port)) for child, port in zip(children, ports, strict=True)
        )
        yield compare(
            f"cluster: {what}",
            "calls/CPU s",
            lambda: runner.run(ours.rate(calls)),
            lambda: runner.run(bare.rate(calls)),
            repetitions=settings.repetitions(40),
            goal=goal,
        )
        operations = _operations(store, lambda: runner.run(ours.rate(calls))) / calls
        limit = None if "event" in what else at_most(0.1)
        yield row_of("the same: operations of the store", "per call", [(operations, 1.0)], limit)

    def sessions(port: int, tool: str = "add", headers: Mapping[str, str] = {}) -> list[bytes]:
        # Each connection has a session of its own: no write helps another.
        made = (in_session({**begin_session(port), **headers}, tool) for _ in range(CONNECTIONS))
        return [requests[number] for number, requests in enumerate(made)]

    events = partial(sessions, headers=_EVENTS_ONLY)

    yield from made(f"HTTP, {PER_REQUEST}", lambda port: per_request("add"), at_least(0.97))
    yield from made(f"session of {HANDSHAKE}", sessions, at_least(0.85))
    yield from made("as one event", events, at_least(0.5))
    yield from made("as two events", partial(sessions, tool="add_aloud"), at_least(0.5))
    later = partial(sessions, tool="add_aloud_later")
    yield from made("an event, and the answer later", later, at_least(0.5))


def _operations(store: redis.Redis, work: Callable[[], Any]) -> float:
    """Return the scripts that some work runs, without those that run each second anyway."""

    def made() -> int:
        # What a script does inside the store is no operation of its own.
        found: Any = store.info("commandstats")
        return int(found.get("cmdstat_evalsha", {}).get("calls", 0))

    before, started_s = made(), time.monotonic()
    # The period of the heartbeat, whose scripts are taken off below.
    time.sleep(1.0)
    each_s = (made() - before) / (time.monotonic() - started_s)
    before, started_s = made(), time.monotonic()
    work()
    took_s = time.monotonic() - started_s
    return max(0.0, made() - before - each_s * took_s)


def _held(
    settings: Settings, runner: asyncio.Runner, store: redis.Redis, port: int
) -> Iterator[Row]:
    """Measure the store's memory: of idle sessions with a stream each, and of events."""

    def used_bytes() -> int:
        found: Any = store.info("memory")
        return int(found["used_memory"])

    number = settings.calls(SESSIONS)

    async def open_all(streams: Streams) -> float:
        before = used_bytes()
        for _ in range(number):
            await streams.open(get(port), 1)
        await asyncio.sleep(1.5)
        return (used_bytes() - before) / number

    async def measured() -> float:
        async with Streams(port) as warm:
            for _ in range(20):
                await warm.open(get(port), 1)
            async with Streams(port) as streams:
                return await open_all(streams)

    each = runner.run(measured())
    limit = [(each, float(SESSION_BYTES))]
    name = f"idle session with a stream, in the store / {SESSION_BYTES:,} B"
    yield row_of(name, "B", limit, at_most(1))

    session = begin_session(port)
    before = used_bytes()
    for id in range(100, 100 + EVENT_CALLS):
        post(port, session, call(id, HANDSHAKE, "add_aloud"))
    # Each call is a stream of two events.
    event = (used_bytes() - before) / EVENT_CALLS / 2
    yield row_of("an event, in the store", "B", [(event, float(SESSION_BYTES))], None)


def _changes(
    settings: Settings, runner: asyncio.Runner, nodes: tuple[Child, Child], alone: Child
) -> Iterator[Row]:
    """Compare a change that streams of two nodes hear of with one that a server alone tells.

    By the CPU of all servers: by the clock two nodes and their store share what processors are
    here with the load generator.
    """
    ports = {child: int(child.read_line()) for child in (*nodes, alone)}
    change = raw_post(named("tools/call", "change"), call(1, PER_REQUEST, "change"))

    async def opened(port: int, number: int, opening: Callable[[int], bytes]) -> Streams:
        streams = Streams(port)
        for _ in range(number):
            await streams.open(opening(port), 1)
        return streams

    def cost_ms(told: dict[Child, Streams]) -> float:
        before = sum(child.cpu_s() for child in told)
        first, *others = told.values()
        runner.run(first.spread_ms(change, *others))
        return (sum(child.cpu_s() for child in told) - before) * 1000

    number = settings.calls(STREAMS) if settings.smoke else STREAMS
    kinds: list[tuple[str, Callable[[int], bytes]]] = [
        ("listen requests", lambda port: listen()),
        ("sessions' streams", get),
    ]
    for kind, opening in kinds:

        def streams_of(
            *children: Child, opening: Callable[[int], bytes] = opening
        ) -> dict[Child, Streams]:
            share = number // len(children)
            return {one: runner.run(opened(ports[one], share, opening)) for one in children}

        two, one = streams_of(*nodes), streams_of(alone)
        try:
            yield compare(
                f"a change told to {number} {kind} of two nodes",
                "CPU ms",
                partial(cost_ms, two),
                partial(cost_ms, one),
                repetitions=settings.repetitions(30),
                goal=at_most(2),
            )
        finally:
            for streams in (*two.values(), *one.values()):
                streams.aclose()


@contextmanager
def started_store(program: str) -> Iterator[redis.Redis]:
    """Start a Redis that keeps nothing on disk, and yield a client of it."""
    with socket.create_server((HOST, 0)) as found:
        port: int = found.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="bench-")
    words = ("--port", str(port), "--bind", HOST, "--dir", folder, "--save", "")
    process = subprocess.Popen(
        [program, *words], stdout=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}
    )
    store = redis.Redis(host=HOST, port=port)
    try:
        until_s = time.monotonic() + STARTS_S
        while True:
            try:
                store.ping()
                break
            except redis.ConnectionError:
                if time.monotonic() > until_s:
                    raise
                # The server starts; bounded by `until_s`.
                time.sleep(0.02)
        yield store
    finally:
        store.close()
        process.terminate()
        try:
            process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)

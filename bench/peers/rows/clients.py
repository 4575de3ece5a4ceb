"""Clients: in memory with a server of their own SDK, over stdio and HTTP with our server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial

from bench.child import Child
from bench.peers.measuring import OURS, Effort, Row, in_rounds, timed
from bench.peers.sides import Side
from bench.requests import HANDSHAKE, PER_REQUEST

__all__ = ["rows"]

IN_FLIGHT = 64
WAYS = {
    "memory": ("in memory, one at a time", 1),
    "stdio": (f"stdio, {IN_FLIGHT} in flight", IN_FLIGHT),
    "http": ("HTTP, one at a time", 1),
}
LOOPS = {"fast": "clients on uvloop", "plain": "clients on asyncio"}


def rows(sides: Sequence[Side], effort: Effort, setting: str) -> Iterator[Row]:
    """Measure each way at both revisions, by the client's own CPU."""
    plain = setting == "plain"
    clients = {side.name: side for side in sides if side.client}
    ours = next(side for side in sides if side.name == OURS)
    command = [*ours.server(False), "stdio"]
    with ours.serving("http", "json", "1") as server:
        url = f"http://127.0.0.1:{int(server.read_line())}/mcp"
        for revision in (PER_REQUEST, HANDSHAKE):
            with ExitStack() as stack:
                children: dict[str, Child] = {}
                for name, side in clients.items():
                    assert side.client is not None
                    words = [*side.client(plain), revision, url, *command]
                    children[name] = stack.enter_context(Child.of(words))
                for name, child in children.items():
                    assert child.read_line() == b"ready\n", name
                for way, (how, in_flight) in WAYS.items():
                    measured: dict[str, Callable[[], float]] = {
                        name: timed(partial(_rate, child, way, in_flight), effort, least=in_flight)
                        for name, child in children.items()
                    }
                    yield Row(
                        name=f"client, tools/call, {how}, {revision}",
                        unit="calls/CPU s",
                        better="more",
                        setting=setting,
                        placed=f"{LOOPS[setting]}, default malloc, free CPUs",
                        values=in_rounds(measured, effort.rounds),
                        not_offered={
                            side.name: side.cannot.get("client", "no client")
                            for side in sides
                            if not side.client
                        },
                    )


def _rate(child: Child, way: str, in_flight: int, calls: int) -> float:
    calls -= calls % in_flight
    _, cpu_s = map(float, child.ask(f"{way} {calls} {in_flight}".encode()).split())
    return calls / cpu_s

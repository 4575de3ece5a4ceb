"""Mount benchmarks: servers in the same process, and in another one over stdio.

The CPU is that of the gateway alone. A call of its own tool is what the others are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bench.child import Child
from bench.requests import HANDSHAKE, PER_REQUEST, call, initialize, initialized
from bench.sampling import Row, Settings, at_most, in_turn, row_of
from bench.stdio import one_cpu

__all__ = ["rows"]

LIMIT_US = 150.0
"""Limit of what a mounted remote server may add to a call."""
IN_FLIGHT = 100


def rows(settings: Settings) -> Iterator[Row]:
    """Measure with one revision on both sides, where calls are relayed raw, and with two."""
    for outside, inside in (
        (PER_REQUEST, PER_REQUEST),
        (HANDSHAKE, HANDSHAKE),
        (HANDSHAKE, PER_REQUEST),
        (PER_REQUEST, HANDSHAKE),
    ):
        loop = ["--uvloop"] if settings.uvloop else []
        with one_cpu(), Child("gateway_stdio", inside, *loop) as gateway:
            if outside == HANDSHAKE:
                gateway.ask(initialize(0))
                gateway.write(initialized() + b"\n")
            _check_answers(gateway, outside)
            how = outside if outside == inside else f"{outside} of {inside}"
            yield from _compared(gateway, outside, how, settings)


def _compared(gateway: Child, revision: str, how: str, settings: Settings) -> Iterator[Row]:
    direct, local, remote = ("add", "local_add", "remote_add")
    calls, pairs = settings.calls(1500), settings.repetitions(9)

    def one_us(tool: str) -> float:
        return _one_at_a_time_us(gateway, revision, tool, calls)

    def many_us(tool: str) -> float:
        return _in_flight_us(gateway, revision, tool, calls)

    if how == revision:
        inside = in_turn(lambda: one_us(local), lambda: one_us(direct), pairs)
        yield row_of(f"mounted server of the process, {how} / its own", "CPU us", inside, None)
    outside = in_turn(lambda: one_us(remote), lambda: one_us(direct), pairs)
    yield row_of(f"mounted remote, {how} / its own", "CPU us", outside, None)
    yield _added(f"a mounted remote adds, {how}", outside)
    busy = in_turn(lambda: many_us(remote), lambda: many_us(direct), pairs)
    yield _added(f"a mounted remote adds, {IN_FLIGHT} in flight, {how}", busy)


def _added(name: str, pairs: list[tuple[float, float]]) -> Row:
    added = [(through - direct, LIMIT_US) for through, direct in pairs]
    return row_of(f"{name} / {LIMIT_US:g} us", "CPU us", added, at_most(1))


def _check_answers(gateway: Child, revision: str) -> None:
    """Check that all of them do the same work."""
    tools = ("add", "local_add", "remote_add")
    answers = [msgspec.json.decode(gateway.ask(call(1, revision, tool))) for tool in tools]
    # Structured content of other revisions may be wrapped.
    content = [one["result"]["content"] for one in answers]
    assert all(one == content[0] for one in content), answers


def _one_at_a_time_us(gateway: Child, revision: str, tool: str, calls: int) -> float:
    """Return the gateway's CPU time per call, one at a time."""
    requests = [call(id, revision, tool) + b"\n" for id in range(calls)]
    started_s = gateway.cpu_s()
    for request in requests:
        gateway.write(request)
        gateway.read_line()
    return (gateway.cpu_s() - started_s) / calls * 1e6


def _in_flight_us(gateway: Child, revision: str, tool: str, calls: int) -> float:
    """Return the gateway's CPU time per call, with many in flight."""
    requests = [call(id, revision, tool) + b"\n" for id in range(calls)]
    sent = answered = 0
    started_s = gateway.cpu_s()
    while answered < calls:
        wanted = min(IN_FLIGHT - (sent - answered), calls - sent)
        gateway.write(b"".join(requests[sent : sent + wanted]))
        sent += wanted
        answered += gateway.read().count(b"\n")
    return (gateway.cpu_s() - started_s) / calls * 1e6

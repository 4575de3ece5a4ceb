"""Measurement of a program under test."""

import asyncio

from bench.child import Child
from bench.load import Load
from bench.requests import PER_REQUEST, raw_post, request
from bench.wire import named

CALLS = 16


def test_a_measurement_shorter_than_a_tick_of_the_clock_is_not_one_of_nothing() -> None:
    asked = raw_post(named("tools/list", None), request(1, PER_REQUEST, "tools/list", {}))
    with Child("http", "ours") as server:
        port = int(server.read_line())

        async def rates() -> list[float]:
            load = Load(server, port, [asked] * CALLS)
            try:
                return [await load.rate(CALLS) for _ in range(200)]
            finally:
                load.close()

        # One of 25 measurements fell between two ticks: an error, or a rate of hundreds of
        # thousands.
        assert max(asyncio.run(rates())) < 100_000

"""Steps of a call: what the profiler takes is taken off, and the steps of a real call."""

import sys
from pathlib import Path

import pytest

from bench.child import Child
from bench.steps.profiling import LOOP, Profile, Sums, profile, route_of
from bench.steps.routes import _over_stdio
from mcp_gen.transports import lines, stdio
from tests.support.frames import HANDSHAKE

ONE, TWO = str(lines.__file__), str(stdio.__file__)


def test_the_time_of_the_profiler_is_no_step() -> None:
    # Two frames of 10 and 5 µs; the profiler adds 4 to each, half of it to whoever is called.
    found = {ONE: Sums(1, 10 + 2 + 1, 1), TWO: Sums(1, 5 + 2, 0)}
    profiled = Profile([ONE, TWO], found, (0.5, 0.25), 15 + 8 + 3)
    route = route_of("a route", "here", [18.0], [profiled])
    assert [(one.name, one.us) for one in route.steps] == [
        ("transports/lines.py", pytest.approx(10.0)),
        ("transports/stdio.py", pytest.approx(5.0)),
        (LOOP, pytest.approx(3.0)),
    ]


def test_the_steps_are_as_long_as_the_call() -> None:
    found = {ONE: Sums(2, 9.0, 0), TWO: Sums(1, 40.0, 2)}
    profiled = Profile([TWO, ONE], found, (0.6, 0.3), 60.0)
    route = route_of("a route", "here", [20.0, 30.0, 25.0], [profiled] * 3)
    assert sum(one.us for one in route.steps) == pytest.approx(route.total_us) == 25.0
    assert [one.name for one in route.steps][:2] == ["transports/stdio.py", "transports/lines.py"]


def test_what_runs_once_in_a_while_is_no_step() -> None:
    profiled = Profile([ONE], {ONE: Sums(1, 5.0, 0), TWO: Sums(0.1, 1.0, 0)}, (0.5, 0.5), 6.0)
    route = route_of("a route", "here", [6.0], [profiled])
    assert [one.name for one in route.steps] == ["transports/lines.py", LOOP]


@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU time of another process")
def test_a_call_over_stdio_is_read_decoded_and_run_in_this_order(tmp_path: Path) -> None:
    with Child("profiled", str(tmp_path), "ours_stdio") as child:
        ask = _over_stdio(child, HANDSHAKE)
        ask(20)
        route = route_of("stdio", "here", [100.0], [profile(child, tmp_path, ask, 40)])
    names = [one.name for one in route.steps if one.is_ours]
    order = ["transports/lines.py", "core/protocol_state.py", "server/tools/registry.py"]
    assert [one for one in names if one in order] == order
    assert all(one.frames >= 1 for one in route.steps if one.name in order)

"""Choice of the cells that a test runs on without `--full`."""

from __future__ import annotations

import mcp_wire
from tests.support.peers.connect import Connect
from tests.support.requirement import covering

EVERY = [
    Connect(over, revision)
    for over in ("memory", "stdio", "http")
    for revision in mcp_wire.REVISIONS
]
NAMES = [f"test_number_{number}" for number in range(100)]


def test_every_revision_is_covered() -> None:
    for name in NAMES:
        assert {one.revision for one in covering(EVERY, name)} == {*mcp_wire.REVISIONS}


def test_memory_is_covered_at_every_lifecycle() -> None:
    for name in NAMES:
        met = {one.profile.lifecycle for one in covering(EVERY, name) if one.over == "memory"}
        assert met == {"initialize", "per_request"}


def test_http_is_covered_at_every_lifecycle_and_transport() -> None:
    for name in NAMES:
        met = {
            (one.profile.lifecycle, one.profile.http_transport)
            for one in covering(EVERY, name)
            if one.over == "http"
        }
        assert met == {
            ("initialize", "sse_pair"),
            ("initialize", "streamable"),
            ("per_request", "streamable"),
        }


def test_stdio_is_covered() -> None:
    assert all(any(one.over == "stdio" for one in covering(EVERY, name)) for name in NAMES)


def test_over_many_tests_every_pair_of_transport_and_revision_is_met() -> None:
    assert {one for name in NAMES for one in covering(EVERY, name)} == {*EVERY}


def test_fewer_than_half_of_the_cells_cover_all() -> None:
    assert max(len(covering(EVERY, name)) for name in NAMES) <= len(EVERY) // 2


def test_the_same_test_runs_on_the_same_cells() -> None:
    assert covering(EVERY, "test_a") == covering(EVERY, "test_a")


def test_a_test_with_one_cell_runs_on_it() -> None:
    assert covering(EVERY[:1], "test_a") == EVERY[:1]


def test_a_test_without_cells_runs_on_none() -> None:
    assert covering(EVERY[:0], "test_a") == []

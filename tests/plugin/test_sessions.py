"""The fixture `mcp_session`: under each runner of async tests, and over each transport."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

import mcp_wire
from tests.plugin.running import PartOutcome, needs_pytest_asyncio, run_parts
from tests.plugin.starts import ERRORS, RUNNERS, SCOPED, SERVERS, SHARING, STARTS, Case

pytestmark = pytest.mark.xdist_group("plugin_sessions")

Started: TypeAlias = Callable[[str, str], PartOutcome]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test in all cases with `--full`, else in those that cover them."""
    full = metafunc.config.getoption("full")
    found: dict[str, Sequence[Case]] = {"runner": RUNNERS, "scoped": SCOPED, "sharing": SHARING}
    for name, cases in found.items():
        if name in metafunc.fixturenames:
            chosen = [
                pytest.param(
                    case,
                    id=f"{case.start}-{case.part}",
                    marks=needs_pytest_asyncio if case.needs_asyncio else (),
                )
                for case in cases
                if full or case.is_usual
            ]
            metafunc.parametrize(name, chosen)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """Return a function that gives the outcome of a file: each start is made once."""
    made: dict[str, dict[str, PartOutcome]] = {}

    def part_of(start: str, part: str) -> PartOutcome:
        if start not in made:
            folder = tmp_path_factory.mktemp(start)
            (folder / "main.py").write_text("from server import server\nserver.run()\n", "utf-8")
            made[start] = run_parts(folder, STARTS[start])[1]
        return made[start][part]

    return part_of


def test_a_test_runs_at_every_revision_under_each_runner(runner: Case, started: Started) -> None:
    # trio is not among the backends of anyio here.
    part = started(runner.start, runner.part)
    assert part.counts == {"passed": 5}, part.text


def test_fixtures_of_a_user_have_the_session_in_their_event_loop(
    scoped: Case, started: Started
) -> None:
    part = started(scoped.start, scoped.part)
    assert part.counts == {"passed": 1}, part.text


@pytest.mark.parametrize("start", ["anyio", "anyio-stdio", "anyio-http"])
def test_one_server_is_reached_over_each_transport(start: str, started: Started) -> None:
    part = started(start, "one")
    assert part.counts == {"passed": 3}, part.text
    assert part.matrix == [
        ["2025-06-18", "2026-07-28"],
        ["test_one.py::test_it_adds[asyncio]", *2 * ["passed"]],
    ]


@pytest.mark.parametrize(
    ("start", "part"),
    [
        *(("anyio", name) for name in SERVERS),
        ("anyio-http", "object"),
        ("anyio-stdio", "line"),
    ],
)
def test_a_fixture_names_the_server(start: str, part: str, started: Started) -> None:
    found = started(start, part)
    assert found.counts == {"passed": 1}, found.text


def test_without_a_marker_the_revision_is_the_newest_of_both_sides(started: Started) -> None:
    part = started("anyio", "newest")
    assert part.counts == {"passed": 3}, part.text
    # What the client has asked at another revision before is not judged.
    assert "must" not in "".join(map(str, part.matrix))
    assert part.matrix[0] == ["2025-03-26", "2025-11-25", "2026-07-28"]


def test_the_client_may_be_the_users_own(started: Started) -> None:
    part = started("anyio", "own_client")
    assert part.counts == {"passed": 2}, part.text


def test_tests_in_classes_share_one_server_object(sharing: Case, started: Started) -> None:
    part = started(sharing.start, sharing.part)
    assert part.counts == {"passed": 10}, part.text


def test_another_event_loop_than_that_of_asyncio_is_left_out(started: Started) -> None:
    part = started("anyio", "two_loops")
    assert part.counts == {"passed": 1, "skipped": 1}, part.text
    assert "mcp_session runs on asyncio" in part.text


def test_a_revision_that_the_server_does_not_speak_is_skipped_among_all(started: Started) -> None:
    part = started("anyio", "two_revisions")
    assert part.counts == {"passed": 2, "skipped": 3}, part.text
    assert "the server does not speak 2024-11-05" in part.text


def test_a_revision_that_is_named_must_be_spoken(started: Started) -> None:
    part = started("anyio", "another_revision")
    assert part.counts == {"error": 1}, part.text
    assert "the server does not speak 2024-11-05" in part.text


@pytest.mark.parametrize(
    ("start", "part", "said"),
    [
        *(("anyio", name, said) for name, (_, said) in ERRORS.items()),
        ("anyio-http", "command", "a command is reached over stdio"),
        ("no-server", "none", "no server under test: write a fixture `mcp_server`"),
        ("no-server", "over", "mcp_over: expected memory, stdio or http, got 'pigeon'"),
        ("fail-on", "test", "mcp_fail_on: expected must, should or never, got 'maybe'"),
        (
            "no-runner",
            "test",
            "nothing runs `async def` tests here: install pytest-asyncio (or anyio)",
        ),
    ],
)
def test_an_error_says_in_one_line_what_to_do(
    start: str, part: str, said: str, started: Started
) -> None:
    found = started(start, part)
    assert found.counts == {"error": 1}
    assert any(said in line for line in found.text.split("\n")), found.text


def test_there_is_a_run_per_revision() -> None:
    assert len(mcp_wire.REVISIONS) == 5, "the numbers of tests above are those of revisions"

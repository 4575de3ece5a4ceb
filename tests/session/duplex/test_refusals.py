"""Log lines about refused messages are few, and none is lost without a word."""

from __future__ import annotations

import asyncio
import logging

import pytest

from mcp_gen import Server
from mcp_gen.core.errors import ParseError
from mcp_gen.session.duplex.refusals import MAX_LINES_PER_S, RefusalLog
from tests.support.frames import every_revision
from tests.support.peers.raw import talking

LOG = logging.getLogger("mcp_gen.test")


def lines_of(count: int, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the log lines of this number of refusals in one second."""
    loop = asyncio.new_event_loop()
    try:
        refusals = RefusalLog(LOG, loop)
        for _ in range(count):
            refusals.add(ParseError("not JSON"))
        refusals.end()
    finally:
        loop.close()
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("count", "last"),
    [
        (1, "refused a message: not JSON"),
        (MAX_LINES_PER_S, "refused a message: not JSON"),
        (MAX_LINES_PER_S + 1, "refused 1 more messages"),
        (100_000, f"refused {100_000 - MAX_LINES_PER_S} more messages"),
    ],
)
def test_few_refusals_have_a_line_and_the_others_are_counted(
    count: int, last: str, caplog: pytest.LogCaptureFixture
) -> None:
    said = lines_of(count, caplog)
    assert said[-1] == last
    assert len(said) <= MAX_LINES_PER_S + 1


def test_after_a_second_refusals_have_lines_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.new_event_loop()
    times = iter([0.0] * (MAX_LINES_PER_S + 3) + [1.0])
    monkeypatch.setattr(loop, "time", lambda: next(times))
    refusals = RefusalLog(LOG, loop)
    for _ in range(MAX_LINES_PER_S + 3):
        refusals.add(ParseError("not JSON"))
    loop.close()
    assert [record.getMessage() for record in caplog.records][-2:] == [
        "refused 2 more messages",
        "refused a message: not JSON",
    ]


@every_revision
async def test_a_flood_of_bad_messages_has_few_lines_and_an_answer_each(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(Server("s"), revision) as client:
        caplog.clear()
        for _ in range(500):
            client.send(b"nonsense")
        for _ in range(500):
            assert (await client.next())["error"]["code"] == ParseError.code
    said = [record.getMessage() for record in caplog.records if "refused" in record.getMessage()]
    assert len(said) < 250
    assert said[-1].endswith("more messages")

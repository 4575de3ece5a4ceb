"""Each bad server has the outcome of its row, in time, and leaves no resources behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import Client, RequestTimeout, text_of
from tests.client.bad_servers.misdeeds import MISDEEDS
from tests.client.bad_servers.table import TABLE, Row, rendered
from tests.client.bad_servers.ways import REDIRECTS, WAYS
from tests.support.frames import ALL

DOCS = Path(__file__).parents[3] / "docs/failures.md"
AT_ONCE_S = 5.0
"""Time limit of rows that end at once: far below every timeout here, enough for a busy machine."""
TIMEOUT_S = 0.15
PROBE_TIMEOUT_S = 0.1
MAX_PAGES = 5

CELLS = [
    pytest.param(row, way, revision, id=f"{row.does}, {way}, {revision}")
    for row in TABLE
    for way in row.ends
    for revision in (ALL[:1] if way == "HTTP+SSE" else row.revisions)
]


async def outcome(row: Row, target: Any, revision: str, client: Client, slow: bool) -> str:
    """Run the step of a row with a server, and return its outcome."""
    limits: dict[str, Any] = {}
    if row.doing == "connect":
        if slow:
            limits = {"timeout_s": TIMEOUT_S, "probe_timeout_s": PROBE_TIMEOUT_S}
        await client.connect(target, **limits)
        return ""
    session = await client.connect(target, revision=revision)
    if row.doing == "list":
        return str([tool async for tool in session.tools()])
    if slow:
        limits = {"timeout_s": TIMEOUT_S}
    return text_of(await session.call_tool("t", **limits))


@pytest.mark.parametrize(("row", "way", "revision"), CELLS)
async def test_a_server_that(
    row: Row, way: str, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A flooding program does not notice that its stdin is closed: a signal ends it.
    monkeypatch.setattr("mcp_gen.transports.command.CLOSE_STDIN_WAIT_S", 0.1)
    end = row.ends[way]
    with nothing_left():
        async with (
            WAYS[way](row.does, revision) as target,
            Client("c", max_pages=MAX_PAGES) as client,
            asyncio.timeout(AT_ONCE_S),
        ):
            # If no timeout ends the row, no timeout may be close.
            use = partial(outcome, row, target, revision, client, end.raises is RequestTimeout)
            if end.raises is None:
                assert await use() in ("", "right")
            else:
                with pytest.raises(end.raises, match=end.says) as caught:
                    await use()
                assert type(caught.value) is end.raises
        await settled()


def test_the_table_has_every_bad_server() -> None:
    assert {row.does for row in TABLE} == {*MISDEEDS, *REDIRECTS}


def test_the_docs_have_the_table() -> None:
    assert rendered() in DOCS.read_text()


# --- leftovers ---


@contextmanager
def nothing_left() -> Iterator[None]:
    """Check that no tasks, open files or processes are left after the test."""
    before = things()
    yield
    assert things() - before == set()


async def settled() -> None:
    """Let the event loop finish the closing of transports, which takes a turn."""
    async with asyncio.timeout(AT_ONCE_S):
        for _ in range(5):
            await asyncio.sleep(0)


def things() -> set[Any]:
    """Return the tasks, open files and child processes of this process."""
    found: set[Any] = set(asyncio.all_tasks())
    proc = Path("/proc/self")
    if proc.exists():
        found |= {f"file {one}" for one in os.listdir(proc / "fd") if (proc / "fd" / one).exists()}
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(status.read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it has just ended
            if parent == os.getpid():
                found.add(f"program {status.parent.name}")
    return found

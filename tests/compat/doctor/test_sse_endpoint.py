"""The stream of a server with two endpoints is found if the URL of another endpoint is known."""

from __future__ import annotations

import asyncio

import pytest

from examples.everything_server import server as everything
from mcp_gen.compat.checks.found import Found
from mcp_gen.compat.checks.servers.http_sessions import the_stream_says_where_messages_go
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.wire.openers import HttpOpener
from mcp_gen.core.errors import TransportError
from mcp_wire import REVISIONS, profile
from tests.support.http.loopback import Got, Line, scripted_web, serving

PAIRED = next(one for one in REVISIONS if profile(one).http_transport == "sse_pair")


async def agreed(opens: HttpOpener) -> str | None:
    client = ReferenceClient(opens(PAIRED), PAIRED)
    try:
        await client.open()
    finally:
        await client.aclose()
    return client.agreed


@pytest.mark.parametrize(
    ("stream", "known"),
    [("/sse", "/mcp"), ("/sse", "/sse"), ("/api/sse", "/api/mcp"), ("/sse", "/api/mcp")],
)
async def test_the_stream_is_found_at_the_url_beside_it_and_at_the_root(
    stream: str, known: str
) -> None:
    async with serving(everything.asgi("/mcp", legacy_sse_path=stream)) as web:
        assert await agreed(HttpOpener(f"{web.origin}{known}")) == PAIRED


async def test_it_is_looked_for_once_and_then_its_absence_is_told_with_the_option() -> None:
    asked: list[str] = []

    async def without(got: Got, line: Line) -> None:
        asked.append(got.path)
        await line.answer(404)

    async with scripted_web(without) as web:
        opens = HttpOpener(web.url)
        with pytest.raises(TransportError, match="got status 404"):
            await agreed(opens)
        looked = len(asked)
        for _ in range(2):
            with pytest.raises(TransportError, match="use --sse-url"):
                await agreed(opens)
        assert len(asked) == looked


async def test_connections_that_are_opened_at_once_look_for_it_together() -> None:
    async with serving(everything.asgi("/mcp", legacy_sse_path="/sse")) as web:
        opens = HttpOpener(web.url)
        assert await asyncio.gather(*(agreed(opens) for _ in range(3))) == 3 * [PAIRED]


async def test_a_url_that_is_given_is_not_looked_for() -> None:
    async with serving(everything.asgi("/mcp", legacy_sse_path="/elsewhere")) as web:
        assert await agreed(HttpOpener(web.url, sse_url=f"{web.origin}/elsewhere")) == PAIRED
        with pytest.raises(TransportError):
            await agreed(HttpOpener(web.url))


@pytest.mark.parametrize(
    ("said", "is_wrong"),
    [
        (b"/messages?id=1", False),
        (b"https://example.org/messages", False),
        (b'"/messages"', True),
        (b" /messages", True),
        (b"/my messages", True),
        (b"/messages/{id}", True),
    ],
)
def test_the_event_that_says_where_messages_go_holds_a_uri_and_nothing_else(
    said: bytes, is_wrong: bool
) -> None:
    transcript, found = Transcript(PAIRED, "http"), Found()
    transcript.add("server", "sse", said, exchange=1, about="event: endpoint")
    the_stream_says_where_messages_go(transcript, found)
    assert [one.came for one in found.findings] == [repr(said.decode())] * is_wrong

"""Each surface finds nothing wrong with the library, and something with a planted fault."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from mcp_gen import Client
from mcp_gen.client.session.session import ClientSession
from mcp_gen.core import envelope
from mcp_gen.transports.http_server.asgi import Receive, Scope, Send
from tests.fuzz import target
from tests.fuzz.findings import BLOCK, Block, Finding, Findings
from tests.fuzz.surfaces import duplex, http, sockets
from tests.fuzz.surfaces.all import SURFACES, make
from tests.fuzz.surfaces.client import Far
from tests.fuzz.surfaces.http import Http
from tests.fuzz.surfaces.stdio import Stdio
from tests.fuzz.surfaces.surface import Complaints, Surface
from tests.fuzz.worker import run_block
from tests.support.frames import ALL as REVISIONS
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, encoded


async def found_on(surface: Surface, name: str, number: int, inputs: int = BLOCK) -> list[Finding]:
    """Run the first inputs of a block."""
    block = Block.number(7, name, number)
    complaints = Complaints()
    with complaints.installed():
        async with surface:
            return await run_block(surface, block.only(block.indexes[:inputs]), complaints)


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
@pytest.mark.parametrize("name", SURFACES)
async def test_a_surface_finds_nothing_wrong(name: str, revision: str) -> None:
    assert await found_on(make(name), name, REVISIONS.index(revision)) == []


async def test_the_oldest_transport_is_fuzzed_over_http_too() -> None:
    assert await found_on(make("http"), "http", 0) == []


async def test_a_question_that_nobody_answers_is_no_fault_of_the_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never(session: ClientSession, params: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(target, "ASK_S", 0.02)
    handler: Any = never
    async with Client("silent", elicitation=handler) as client:
        session = await client.connect(target.make_server(), revision=HANDSHAKE)
        read: Any = await session.read_resource("note://b")
    assert read.contents[0].text == "not asked"


async def test_a_late_answer_to_a_request_of_doubtful_length_is_no_fault_of_the_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sockets, "ODD_WAIT_S", 0.0)
    assert await found_on(make("sockets"), "sockets", 1) == []


def test_the_answer_to_a_question_of_a_lost_session_is_not_judged_in_the_next() -> None:
    question = encoded({"jsonrpc": "2.0", "id": "old", "method": "ping"})
    answer = encoded({"jsonrpc": "2.0", "id": "old", "result": {}})
    block = Block.number(7, "client", REVISIONS.index(HANDSHAKE))
    far: Any = Far(block, Findings(block))
    far._check(answer)
    assert [one.kind for one in far._findings.found] == ["invalid"]
    far = Far(block, Findings(block))
    far._note_id(question)
    far._check(Speaker(HANDSHAKE).initialize(1))
    far._check(answer)
    assert far._findings.found == []


async def test_a_process_that_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplex, "ANSWER_S", 1.0)
    found = await found_on(Stdio("tests.fuzz.planted"), "stdio", 3)
    ends = [one.what for one in found if one.what == "the process ended with 3"]
    words = [one.what for one in found if one.kind == "traceback"]
    assert (len(ends), words) == (1, ["ERROR planted: the end"])


async def fails(scope: Scope, receive: Receive, send: Send) -> None:
    raise KeyError("planted")


async def says_500(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 500, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def says_nothing(scope: Scope, receive: Receive, send: Send) -> None:
    pass


async def says_it_twice(scope: Scope, receive: Receive, send: Send) -> None:
    for _ in range(2):
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": b""})


async def has_no_end(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 202, "headers": []})
    await send({"type": "http.response.body", "body": b"", "more_body": True})


@pytest.mark.parametrize(
    ("app", "kind", "what"),
    [
        (fails, "wrong", "the app raised KeyError('planted')"),
        (says_500, "internal", "HTTP status 500"),
        (says_nothing, "wrong", "the request got no response"),
        (says_it_twice, "wrong", "a response began twice"),
        (has_no_end, "wrong", "the response has no end"),
    ],
)
async def test_an_app_that_breaks_http_is_found(
    app: Callable[..., Any], kind: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplex, "ANSWER_S", 0.1)
    monkeypatch.setattr(http, "ANSWER_S", 0.5)
    surface = Http()
    surface.app, app_of_server = app, surface.app
    try:
        found = await found_on(surface, "http", REVISIONS.index(PER_REQUEST), 10)
    finally:
        await app_of_server.aclose()
    assert (kind, what) in {(one.kind, one.what) for one in found}


def nobody(scope: Scope) -> str | None:
    """Return no principal: every session is everybody's."""
    return None


async def test_a_session_that_anybody_may_use_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_principal", nobody)
    start = REVISIONS.index(HANDSHAKE) * BLOCK
    block = Block(7, "http", tuple(range(start, start + 4 * BLOCK)))
    complaints = Complaints()
    with complaints.installed():
        async with make("http") as surface:
            found = await run_block(surface, block, complaints)
    assert any(one.what.endswith("in a session of someone else") for one in found)


async def test_a_client_that_raises_what_it_does_not_document_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def raises(self: object, *args: object, **named: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(ClientSession, "list_tools", raises)
    found = await found_on(make("client"), "client", 3)
    assert ("wrong", "tools/list raised KeyError: 'planted'") in {
        (one.kind, one.what) for one in found
    }


async def test_a_decoder_that_raises_what_it_does_not_document_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raises(data: bytes) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(envelope, "read", raises)
    found = await found_on(make("decoders"), "decoders", 3)
    assert ("wrong", "try_frame: KeyError: 'planted'") in {(one.kind, one.what) for one in found}

"""Protocol violations of a server: ignored, reported, or an error; never the session's end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, ProtocolError, Violation
from tests.client.using import using
from tests.support.frames import every_revision, with_handshake
from tests.support.peers.scripted import MemoryPeer, opening

UNKNOWN = b'{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"a":1}}'
ODD_LOG = (
    b'{"jsonrpc":"2.0","method":"notifications/message",'
    b'"params":{"level":"info","data":1,"colour":"red"}}'
)


def result(revision: str, **members: Any) -> dict[str, Any]:
    hints = mcp_wire.profile(revision).cache_hints
    more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if hints else {}
    return {**more, **members}


def odd(revision: str) -> MemoryPeer:
    """Return a server whose tool has a field that no revision defines."""
    tool = {"name": "t", "inputSchema": {"type": "object"}, "colour": "red"}
    answer = result(revision, tools=[tool])
    return MemoryPeer({**opening(revision), "tools/list": lambda params: answer})


@every_revision
async def test_a_lenient_client_passes_it_over(revision: str, caplog: Any) -> None:
    server = odd(revision)
    client = Client("c")
    reports: list[Violation] = []
    client.on_violation(reports.append)
    async with using(client, await server.start(), revision) as session:
        server.say(UNKNOWN)
        assert (await session.list_tools()).tools[0].name == "t"
    assert reports == []
    assert [one for one in caplog.records if one.levelno > logging.INFO] == []


@every_revision
@pytest.mark.parametrize("validation", ["report", "strict"])
async def test_a_field_that_the_revision_lacks_is_reported(revision: str, validation: Any) -> None:
    client = Client("c", validation=validation)
    reports: list[tuple[str, str, str]] = []
    client.on_violation(lambda report: reports.append(report[1:]))
    async with using(client, await odd(revision).start(), revision) as session:
        if validation == "report":
            assert (await session.list_tools()).tools[0].name == "t"
        else:
            with pytest.raises(ProtocolError, match=r"^tools/list: \$\.result\.tools\[0\]\.colour"):
                await session.list_tools()
    assert reports == [("tools/list", "$.result.tools[0].colour", f"not a key at {revision}")]


@every_revision
async def test_a_strict_client_goes_on_after_an_error(revision: str) -> None:
    server = odd(revision)
    async with using(Client("c", validation="strict"), await server.start(), revision) as session:
        for _ in range(2):
            with pytest.raises(ProtocolError):
                await session.list_tools()


@every_revision
@pytest.mark.parametrize("validation", ["report", "strict"])
async def test_what_belongs_to_the_revision_is_not_reported(revision: str, validation: Any) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object", "x-own": 1}}
    answer = result(revision, tools=[tool], _meta={"a": 1})
    server = MemoryPeer({**opening(revision), "tools/list": lambda params: answer})
    client = Client("c", validation=validation)
    reports: list[Violation] = []
    client.on_violation(reports.append)
    async with using(client, await server.start(), revision) as session:
        server.say(ODD_LOG.replace(b',"colour":"red"', b""))
        await session.list_tools()
    assert reports == []


@every_revision
@pytest.mark.parametrize(
    ("message", "method", "path"),
    [
        (UNKNOWN, "notifications/unheard-of", "$.method"),
        (ODD_LOG, "notifications/message", "$.params.colour"),
        (b"nonsense", "", "$"),
        (b'{"jsonrpc":"2.0","id":99,"result":{}}', "", "$"),
    ],
    ids=["unknown", "odd", "nonsense", "stray"],
)
async def test_a_message_that_has_no_place_is_reported(
    revision: str, message: bytes, method: str, path: str
) -> None:
    server = MemoryPeer(opening(revision))
    client = Client("c", validation="report")
    reports: list[Violation] = []
    client.on_violation(reports.append)
    async with using(client, await server.start(), revision) as session:
        server.say(message)
        await _turns()
        (report,) = reports
        assert (report.session, report.method, report.path) == (session, method, path)


@with_handshake
async def test_a_request_with_a_field_too_many_is_reported_and_answered(revision: str) -> None:
    server = MemoryPeer(opening(revision))
    client = Client("c", validation="report")
    reports: list[Violation] = []

    @client.on_violation
    async def hear(report: Violation) -> None:
        await asyncio.sleep(0)
        reports.append(report)

    async with using(client, await server.start(), revision):
        server.say(b'{"jsonrpc":"2.0","id":"x","method":"ping","params":{"colour":1}}')
        await _turns()
        assert [one["result"] for one in server.asked if one.get("id") == "x"] == [{}]
    assert [report.path for report in reports] == ["$.params.colour"]


@every_revision
async def test_what_nobody_hears_is_logged(revision: str, caplog: Any) -> None:
    server = odd(revision)
    async with using(Client("c", validation="report"), await server.start(), revision) as session:
        await session.list_tools()
    assert "tools/list: $.result.tools[0].colour: not a key" in caplog.text


async def _turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)

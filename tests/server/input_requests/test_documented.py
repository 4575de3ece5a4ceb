"""Checks that the programs in docs/asking.md run as documented."""

from __future__ import annotations

from tests.docs.programs import program
from tests.support.peers.answering import accept, answering, asks


@asks
async def test_the_first_program_books(revision: str) -> None:
    with program("asking", "travel") as travel:
        async with answering(travel.server, revision, lambda asked: accept(city="Oslo")) as client:
            assert await client.text("book") == "booked: Oslo, window"
    assert client.asked[0].params["requestedSchema"]["properties"]["city"] == {
        "type": "string",
        "title": "City",
        "minLength": 2,
    }


@asks
async def test_the_plain_program_scans(revision: str) -> None:
    with program("asking", "scan") as scan:
        async with answering(scan.server, revision, lambda asked: {"roots": []}) as client:
            assert await client.text("scan") == "scan 1: 0 folders"

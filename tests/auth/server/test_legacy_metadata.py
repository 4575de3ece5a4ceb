"""The authorization server's metadata, served by the resource for clients of 2025-03-26."""

from __future__ import annotations

import asyncio
import logging

import msgspec
import pytest

from mcp_gen import UsageError
from mcp_gen.auth import ResourceServer, StaticTokens
from mcp_gen.core.errors import TransportError
from tests.auth.server.requests import ISSUER, RESOURCE, Clock, scope
from tests.auth.verifiers.issuers import METADATA_URL, Documents

PATH = "/.well-known/oauth-authorization-server"
METADATA = {"issuer": ISSUER, "token_endpoint": f"{ISSUER}/token", "x_other": [1]}


def gate(
    documents: Documents, clock: Clock | None = None, *, legacy: bool = True
) -> ResourceServer:
    return ResourceServer(
        ISSUER,
        audience=RESOURCE,
        verifier=StaticTokens({"token-of-alice": "alice"}),
        legacy_metadata=legacy,
        fetcher=documents,
        clock=clock or Clock(),
    )


def issuer() -> Documents:
    documents = Documents()
    documents.put(METADATA_URL, METADATA)
    return documents


async def test_all_members_of_the_metadata_are_served_as_they_are() -> None:
    found = await gate(issuer()).document(scope(path=PATH), PATH)
    assert msgspec.json.decode(found or b"") == METADATA


async def test_it_is_served_if_that_is_asked_for_alone_and_at_its_path_alone() -> None:
    assert await gate(issuer(), legacy=False).document(scope(path=PATH), PATH) is None
    assert await gate(issuer()).document(scope(path=PATH), PATH + "/mcp") is None


async def test_it_is_fetched_once_in_ten_minutes() -> None:
    documents, clock = issuer(), Clock()
    server = gate(documents, clock)
    for _ in range(3):
        await server.document(scope(path=PATH), PATH)
    assert documents.count(METADATA_URL) == 1
    clock.now += 600
    await server.document(scope(path=PATH), PATH)
    assert documents.count(METADATA_URL) == 2


async def test_an_old_copy_is_served_while_there_is_no_newer_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    documents, clock = issuer(), Clock()
    server = gate(documents, clock)
    first = await server.document(scope(path=PATH), PATH)
    documents.table[METADATA_URL] = TransportError("no answer")
    clock.now += 600
    with caplog.at_level(logging.WARNING, "mcp_gen.auth"):
        assert await server.document(scope(path=PATH), PATH) == first
        assert await server.document(scope(path=PATH), PATH) == first
    assert documents.count(METADATA_URL) == 2
    assert len(caplog.records) == 1


async def test_there_is_no_document_if_none_could_be_fetched_until_one_can() -> None:
    documents, clock = Documents(), Clock()
    server = gate(documents, clock)
    assert await server.document(scope(path=PATH), PATH) is None
    documents.put(METADATA_URL, METADATA)
    assert await server.document(scope(path=PATH), PATH) is None
    clock.now += 10
    assert await server.document(scope(path=PATH), PATH) is not None


async def test_the_metadata_of_another_issuer_is_not_served() -> None:
    documents = Documents()
    documents.put(METADATA_URL, METADATA | {"issuer": "https://evil.example"})
    assert await gate(documents).document(scope(path=PATH), PATH) is None


def test_it_needs_an_issuer() -> None:
    with pytest.raises(UsageError, match="expected an issuer"):
        ResourceServer(
            audience=RESOURCE,
            verifier=StaticTokens({"token-of-alice": "alice"}),
            legacy_metadata=True,
        )


async def test_closing_ends_a_fetch_that_runs() -> None:
    documents = issuer()
    held = documents.hold()
    server = gate(documents)
    asking = asyncio.create_task(server.document(scope(path=PATH), PATH))
    await held.reached.wait()
    await server.aclose()
    assert await asking is None

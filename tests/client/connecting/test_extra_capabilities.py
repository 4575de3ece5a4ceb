"""Capabilities that a server declares and its revision does not name: a client keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen import Client
from mcp_gen.core.relay import relay_of
from tests.client.scripted import CannedServer, opening
from tests.client.using import using
from tests.support.frames import every_revision

EXTRA = {"com.example/x": {"a": [1, None]}, "y": None}


def declaring(revision: str, **members: Any) -> CannedServer:
    """Return a server that declares capabilities beside tools."""

    def reply(params: Any) -> dict[str, Any]:
        answer: Any = was(params)
        answer["result"]["capabilities"] = {"tools": {}, **EXTRA, **members}
        return answer

    server = CannedServer(revision)
    ((method, was),) = opening(revision).items()
    # Else the probe of a client that is free to choose would wait for an answer.
    unknown = {"error": {"code": -32601, "message": "no such method"}}
    return server.on("server/discover", unknown).on(method, reply)


@every_revision
@pytest.mark.parametrize("pinned", [True, False], ids=["pinned", "negotiated"])
async def test_a_session_has_every_capability_of_its_server(revision: str, pinned: bool) -> None:
    server = declaring(revision)
    async with using(Client("c"), server, revision if pinned else None) as session:
        found = session.server_capabilities
    assert (found.extra, found.tools is not None) == (EXTRA, True)


@every_revision
async def test_a_relay_has_every_capability_of_its_server(revision: str) -> None:
    async with using(Client("c"), declaring(revision), revision) as session:
        assert relay_of(session).capabilities.extra == EXTRA


@every_revision
async def test_capabilities_that_the_revision_does_not_name_are_no_violation(revision: str) -> None:
    seen: list[Any] = []
    client = Client("c", validation="strict")
    client.on_violation(lambda *told: seen.append(told))
    async with using(client, declaring(revision), revision) as session:
        assert session.server_capabilities.extra == EXTRA
    assert seen == []


async def test_a_capability_that_only_a_later_revision_names_is_an_attribute() -> None:
    server = declaring("2024-11-05", completions={})
    async with using(Client("c"), server, "2024-11-05") as session:
        found = session.server_capabilities
    assert (found.completions, found.extra) == ({}, EXTRA)


async def test_a_capability_that_only_an_earlier_revision_names_is_in_extra() -> None:
    server = declaring("2025-11-25", tasks={"list": {}})
    async with using(Client("c"), server, "2025-11-25") as session:
        assert session.server_capabilities.extra == {**EXTRA, "tasks": {"list": {}}}

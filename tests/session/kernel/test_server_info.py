"""Every result names the server where the revision requires it, beside the handler's `_meta`."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import Server, types
from tests.support.peers.raw import talking

KEYS = {revision: mcp_wire.profile(revision).server_info_key for revision in mcp_wire.REVISIONS}
WITH_IDENTITY = [revision for revision, key in KEYS.items() if key]
WITHOUT_IDENTITY = [revision for revision, key in KEYS.items() if not key]
IDENTITY = {"name": "inventory", "version": "1.0.0"}


async def meta_of_a_call(revision: str, meta: dict[str, Any] | None) -> Any:
    """Return `_meta` of the response to a tool whose result has this one."""
    server = Server("inventory", "1.0.0")

    @server.tool
    async def count() -> types.CallToolResult:
        return types.CallToolResult(content=[], meta=meta)

    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "count"))
        return answer["result"].get("_meta")


@pytest.mark.parametrize("revision", WITH_IDENTITY)
async def test_a_result_without_metadata_names_the_server(revision: str) -> None:
    assert await meta_of_a_call(revision, None) == {KEYS[revision]: IDENTITY}


@pytest.mark.parametrize("revision", WITH_IDENTITY)
@pytest.mark.parametrize("meta", [{}, {"com.example/cost": [1, None]}])
async def test_a_result_with_metadata_names_the_server_beside_it(
    revision: str, meta: dict[str, Any]
) -> None:
    assert await meta_of_a_call(revision, meta) == {KEYS[revision]: IDENTITY, **meta}


@pytest.mark.parametrize("revision", WITH_IDENTITY)
async def test_a_handler_may_name_the_server_otherwise(revision: str) -> None:
    meta = {KEYS[revision]: {"name": "behind it", "version": "2"}}
    assert await meta_of_a_call(revision, meta) == meta


@pytest.mark.parametrize("revision", WITHOUT_IDENTITY)
@pytest.mark.parametrize("meta", [None, {"com.example/cost": 1}])
async def test_elsewhere_metadata_is_what_the_handler_says(
    revision: str, meta: dict[str, Any] | None
) -> None:
    assert await meta_of_a_call(revision, meta) == meta

"""Output schemas of servers that cost much to check: a deadline, an error, and a report."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mcp_gen import Client, InvalidResult, UncheckedResult, Violation
from mcp_gen.client.requests.settings import Validation
from mcp_gen.schemas.process import WORKER
from tests.client.scripted import CannedServer
from tests.support.frames import PER_REQUEST

DEADLINE_S = 0.3
OPTIONAL = {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}
RECURSIVE: dict[str, Any] = {
    "type": "object",
    "properties": {"next": OPTIONAL},
    "$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer"}}}},
}
RECURSIVE["$defs"]["node"]["properties"]["next"] = OPTIONAL
WRONG_NAME = "t: not what the tool promised: "


def endless() -> dict[str, Any]:
    """Return a schema that takes exponential time."""
    part: Any = {"properties": {"a": True}}
    for _ in range(40):
        part = {"allOf": [part], "unevaluatedProperties": False}
    return {"type": "object", **part}


def promising(schema: Any, value: Any) -> CannedServer:
    """Return a server whose tool declares an output schema, and returns a value."""
    server = CannedServer(PER_REQUEST)
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}
    listed: dict[str, Any] = {"tools": [tool], "ttlMs": 0, "cacheScope": "private"}
    server.on("tools/list", server.complete(listed))
    result: dict[str, Any] = {"content": [], "structuredContent": value}
    return server.on("tools/call", server.complete(result))


async def data(client: Client, schema: Any, value: Any) -> Any:
    """Return the data of a call with `returns=`."""
    async with client, asyncio.timeout(10):
        session = await client.connect(promising(schema, value))
        return await session.call_tool("t", returns=dict[str, Any])


async def test_data_that_fits_a_recursive_schema_is_returned() -> None:
    value = {"next": {"value": 1, "next": None}}
    assert await data(Client("c"), RECURSIVE, value) == value


async def test_data_that_does_not_fit_a_recursive_schema_is_an_error_with_its_path() -> None:
    with pytest.raises(InvalidResult, match=r"not what the tool promised: .* at `\$\.next`"):
        await data(Client("c"), RECURSIVE, {"next": {"value": "x"}})


async def test_a_check_that_takes_too_long_is_an_error_that_names_the_servers_schema() -> None:
    with pytest.raises(UncheckedResult) as caught:
        await data(Client("c", schema_timeout_s=DEADLINE_S), endless(), {"a": 1})
    assert str(caught.value) == (
        "t: the result was not checked by the server's output schema: the schema takes more than "
        f"{DEADLINE_S} s to check; more than 4000 subschemas apply to one value"
    )


@pytest.mark.parametrize("validation", ["lenient", "report", "strict"])
async def test_a_schema_that_takes_too_long_is_reported(validation: Validation) -> None:
    client = Client("c", schema_timeout_s=DEADLINE_S, validation=validation)
    heard: list[Violation] = []
    client.on_violation(heard.append)
    with pytest.raises(UncheckedResult):
        await data(client, endless(), {"a": 1})
    assert [(one.path, one.what.partition(";")[0]) for one in heard] == [
        ("$.tools['t'].outputSchema", f"the schema takes more than {DEADLINE_S} s to check")
    ]


async def test_without_a_handler_the_report_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(UncheckedResult):
        await data(Client("c", schema_timeout_s=DEADLINE_S), endless(), {"a": 1})
    assert any("$.tools['t'].outputSchema" in one for one in caplog.messages)


async def test_a_plain_schema_needs_no_other_process() -> None:
    await asyncio.to_thread(WORKER.close)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert await data(Client("c"), schema, {"a": 1}) == {"a": 1}
    with pytest.raises(InvalidResult, match=WRONG_NAME):
        await data(Client("c"), schema, {"a": "x"})
    assert WORKER.pid is None

"""Extension results of the protocol's requests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcp_gen import Client, InvalidResult, McpError, ProtocolError, Server
from tests.client.scripted import CannedServer
from tests.extensions.invented import parcels
from tests.extensions.shop import EXTENSION, client_of, entered, shop
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.peers.raw import talking


async def test_it_goes_out_as_it_is_with_who_the_server_is() -> None:
    async with talking(shop(), PER_REQUEST) as client:
        meta = {
            "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION.identifier: {}}}
        }
        params = {"name": "order", "arguments": {"item": "p1"}, "_meta": meta}
        result = (await client.ask(client.speaker.request(1, "tools/call", params)))["result"]
    info = result.pop("_meta")
    assert result == {"resultType": "parcel", "parcelId": "p1"}
    assert info["io.modelcontextprotocol/serverInfo"]["name"] == "shop"


async def test_a_client_that_has_not_declared_it_never_sees_it() -> None:
    server = shop()
    told: list[str] = []
    server.hooks.on_error(lambda ctx, method, params, error: told.append(method))
    async with talking(server, PER_REQUEST) as client:
        error = (await client.ask(client.speaker.call(1, "order", item="p1")))["error"]
    assert (error["code"], told) == (-32021, ["tools/call"])


async def test_no_hook_can_smuggle_it_to_a_client_without_the_extension() -> None:
    server = shop()
    server.hooks.after_call_tool(lambda ctx, params, result: parcels.ParcelResult(parcel_id="p"))
    told: list[str] = []
    server.hooks.on_success(lambda ctx, method, params, result: told.append("success"))
    server.hooks.on_error(lambda ctx, method, params, error: told.append("error"))
    async with talking(server, PER_REQUEST) as client:
        error = (await client.ask(client.speaker.call(1, "price", item="y")))["error"]
    assert (error["code"], told) == (-32021, ["error"])


@pytest.mark.parametrize("sends", [False, True], ids=["answered", "sent"])
async def test_a_hook_may_return_it_where_both_have_the_extension(sends: bool) -> None:
    server, client = shop(), client_of()
    hooks: Any = client.hooks.outbound if sends else server.hooks
    hooks.after_call_tool(lambda ctx, params, result: parcels.ParcelResult(parcel_id="p"))
    told: list[str] = []
    hooks.on_success(lambda ctx, method, params, result: told.append(type(result).__name__))
    async with entered(server, client=client) as session:
        told.clear()
        result: Any = await session.call_tool("price", {"item": "y"})
    assert (result.parcel_id, told) == ("p", ["ParcelResult"])


async def test_where_results_do_not_say_what_they_are_there_is_none() -> None:
    async with entered(shop(), HANDSHAKE) as session:
        with pytest.raises(McpError):
            await session.call_tool("order", {"item": "p1"})


async def test_a_tool_that_promises_data_may_answer_with_it() -> None:
    async with entered(shop()) as session:
        assert (await session.call_tool("price", {"item": "y"})).structured_content == {"price": 3}
        result: Any = await session.call_tool("price", {"item": "x"})
    assert result.parcel_id == "x"


async def test_hooks_see_it_as_a_success_of_its_type() -> None:
    server = shop()
    seen: list[str] = []
    server.hooks.on_success(lambda ctx, method, params, result: seen.append(type(result).__name__))
    async with entered(server) as session:
        seen.clear()
        await session.call_tool("order", {"item": "p1"})
    assert seen == ["ParcelResult"]


async def test_middleware_sees_it_and_passes_it_on() -> None:
    server = shop()
    seen: list[str] = []

    @server.middleware
    async def look(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        seen.append(type(result).__name__)
        return result

    async with entered(server) as session:
        seen.clear()
        result: Any = await session.call_tool("order", {"item": "p1"})
    assert (seen, result.parcel_id) == (["ParcelResult"], "p1")


async def test_a_value_cannot_be_read_from_it() -> None:
    async with entered(shop()) as session:
        with pytest.raises(ProtocolError, match="ParcelResult"):
            await session.call_tool("order", {"item": "p1"}, returns=dict)


async def test_a_client_pinned_to_older_types_gets_it_all_the_same() -> None:
    async with client_of() as client:
        session = await client.connect(shop(), result_revision=HANDSHAKE)
        result: Any = await session.call_tool("order", {"item": "p1"})
    assert type(result) is parcels.ParcelResult


def answering(result: dict[str, Any]) -> CannedServer:
    server = CannedServer(PER_REQUEST)
    return server.on("tools/call", {"result": result})


async def test_a_client_without_the_extension_takes_it_for_what_it_is_an_error() -> None:
    server = answering({"resultType": "parcel", "parcelId": "p1"})
    async with entered(server, client=Client("plain")) as session:
        with pytest.raises(InvalidResult):
            await session.call_tool("order", {"item": "p1"})


async def test_a_kind_that_no_extension_has_is_an_error_with_the_extension_too() -> None:
    server = answering({"resultType": "letter", "parcelId": "p1"})
    async with entered(server) as session:
        with pytest.raises(InvalidResult):
            await session.call_tool("order", {"item": "p1"})


async def test_it_answers_the_requests_alone_that_it_is_for() -> None:
    server = Server("s")
    server.add_extension(EXTENSION)

    @server.hooks.after_list_tools
    async def parcel(ctx: Any, params: Any, result: Any) -> Any:
        return parcels.ParcelResult(parcel_id="p")

    @server.tool
    async def some() -> None: ...

    told: list[BaseException] = []
    server.hooks.on_error(lambda ctx, method, params, error: told.append(error))
    async with entered(server) as session:
        with pytest.raises(McpError, match="internal error"):
            await session.list_tools()
    assert "returned ParcelResult; expected ListToolsResult, or None" in str(told)


@pytest.mark.parametrize("validation", ["report", "strict"])
async def test_a_client_that_looks_closely_finds_nothing_wrong(validation: Any) -> None:
    client = Client("c", extensions=[EXTENSION], validation=validation)
    reports: list[Any] = []
    client.on_violation(reports.append)
    async with entered(shop(), client=client) as session:
        await session.call_tool("order", {"item": "p1"})
        await parcels.ToServer(session).track_parcel("p1")
    assert reports == []


async def test_an_annotation_may_name_it_beside_the_data_that_is_promised() -> None:
    server = Server("s")
    server.add_extension(EXTENSION)

    # The package is made when the tests run: type checkers know nothing of it.
    @server.tool
    async def price() -> dict[str, int] | parcels.ParcelResult:  # type: ignore[name-defined]
        return {"price": 3}

    async with entered(server) as session:
        (tool,) = [tool async for tool in session.tools()]
        assert msgspec.to_builtins(tool.output_schema)["type"] == "object"
        assert (await session.call_tool("price")).structured_content == {"price": 3}


def with_letters() -> Server:
    server = Server("s")
    server.add_extension(EXTENSION)

    @server.resource("letter://a")
    async def letter() -> Any:
        return parcels.ParcelResult(parcel_id="p1", ttl_ms=60_000)

    @server.prompt
    async def write() -> Any:
        return parcels.ParcelResult(parcel_id="p2")

    return server


async def test_prompts_and_resources_may_be_answered_with_it() -> None:
    async with entered(with_letters()) as session:
        read: Any = await session.read_resource("letter://a")
        written: Any = await session.get_prompt("write")
    assert (read.parcel_id, written.parcel_id) == ("p1", "p2")


@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": "letter://a"}), ("prompts/get", {"name": "write"})],
)
async def test_nor_do_others_see_it_there(method: str, params: dict[str, Any]) -> None:
    server = with_letters()
    told: list[str] = []
    server.hooks.on_error(lambda ctx, method, params, error: told.append(method))
    async with talking(server, PER_REQUEST) as client:
        error = (await client.ask(client.speaker.request(1, method, params)))["error"]
    assert (error["code"], told) == (-32021, [method])


async def test_it_is_never_kept_for_later() -> None:
    server = with_letters()
    asked: list[str] = []
    server.hooks.before_read_resource(lambda ctx, params: asked.append(params.uri))
    async with entered(server) as session:
        await session.read_resource("letter://a")
        await session.read_resource("letter://a")
    assert len(asked) == 2

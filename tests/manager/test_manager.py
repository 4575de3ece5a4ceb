"""ClientManager: names, lists and calls of many servers; adding and removing them."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from typing import Any

import pytest

import mcp_wire
from mcp_gen import (
    Client,
    ClientManager,
    Context,
    McpError,
    Server,
    ServerConfig,
    SessionLost,
    ToolError,
    TransportError,
    UsageError,
)
from mcp_gen.core.transport.protocols import Duplex
from mcp_gen.types import ElicitResult, Tool
from tests.manager.managed_servers import AT_ONCE, Wire, managing, named_server
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision
from tests.support.requirement import requirement

REFUSED = TransportError("not today")


@dataclass
class Form:
    name: str


class Silent:
    """Receiver that ignores every message."""

    async def serve(self, transport: Duplex) -> None:
        self._over = asyncio.Event()
        await transport.start(self)
        await self._over.wait()

    def receive(self, message: bytes) -> None:
        pass

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        pass

    def closed(self, error: BaseException | None) -> None:
        self._over.set()


def two(**options: Any) -> dict[str, Any]:
    return {name: named_server(name, **options) for name in ("left", "right")}


# --- names and calls ---


@requirement("tools:client:names:many-servers")
@every_revision
async def test_tools_of_all_servers_are_listed_and_called_by_name(revision: str) -> None:
    async with managing(two(revisions=(revision,))) as (manager, _):
        names = [one.name for one in await manager.tools()]
        said = [await manager.call_tool(name, {"text": "!"}, returns=str) for name in names]
    assert names == ["mcp__left__who", "mcp__right__who"]
    assert said == ["left!", "right!"]


async def test_prompts_of_all_servers_are_listed_and_filled_in_by_name() -> None:
    async with managing(two()) as (manager, _):
        names = [one.name for one in await manager.prompts()]
        result = await manager.get_prompt("mcp__right__ask", {"topic": "tea"})
    assert names == ["mcp__left__ask", "mcp__right__ask"]
    assert result.messages[0].content.text == "right on tea"


async def test_resources_of_all_servers_are_listed_and_read_from_whoever_has_them() -> None:
    async with managing(two()) as (manager, _):
        found = [(one.server, one.resource.uri) for one in await manager.resources()]
        read = await manager.read_resource("right://page")
    assert found == [("left", "left://page"), ("right", "right://page")]
    assert read.contents[0].text == "the page of right"


@pytest.mark.parametrize("change", ["tool_list_changed", "resource_list_changed"])
async def test_a_change_of_tools_or_resources_drops_what_was_read_of_that_server_alone(
    change: str,
) -> None:
    server, reads = Server("notes", revisions=[HANDSHAKE]), list[str]()

    @server.resource("notes://{name}")
    async def note(name: str) -> str:
        reads.append(name)
        return name

    @server.tool
    async def nothing() -> None: ...

    async with managing({"one": server, "two": named_server("two")}) as (manager, told):
        for _ in range(2):
            await manager.read_resource("notes://a", server="one")
        assert reads == ["a"]
        getattr(server.notify, change)()
        await told.next("tools_changed" if change.startswith("tool") else "resources_changed")
        await manager.read_resource("notes://a", server="one")
    assert reads == ["a", "a"]


async def test_the_handlers_of_a_managers_client_see_its_name_of_the_server() -> None:
    server = Server("notes")
    async with managing({"one": server}) as (manager, _):
        assert (await manager.session("one")).server_name == "one"


async def test_resource_templates_say_whose_they_are() -> None:
    server = Server("notes")

    @server.resource("notes://{name}")
    async def note(name: str) -> str:
        return name

    async with managing({"notes": server, "other": named_server("other")}) as (manager, _):
        (found,) = await manager.resource_templates()
        assert (found.server, found.template.uri_template) == ("notes", "notes://{name}")


async def test_a_resource_that_several_may_have_needs_the_name_of_one() -> None:
    async with managing(two()) as (manager, _):
        with pytest.raises(UsageError, match=r"'left', 'right' may have it; name one"):
            await manager.read_resource("other://page")
        with pytest.raises(McpError):
            await manager.read_resource("right://page", server="left")


async def test_odd_names_of_servers_and_tools_are_made_fit_for_models() -> None:
    server = Server("odd")

    async def answer(ctx: Any, arguments: dict[str, Any]) -> str:
        return "dotted"

    server.add_tool(Tool(name="a.b", input_schema={"type": "object"}), answer)
    async with managing({"my __ server!": server}) as (manager, _):
        (tool,) = await manager.tools()
        result = await manager.call_tool(tool.name)
    assert (tool.name, tool.server, tool.tool.name) == (
        "mcp__my_server__a_b",
        "my __ server!",
        "a.b",
    )
    assert result.content[0].text == "dotted"


@pytest.mark.parametrize("name", ["who", "mcp__left", "mcp____who", "left__who", ""])
async def test_a_name_that_is_none_is_a_mistake_of_the_caller(name: str) -> None:
    async with managing({"left": named_server("left")}) as (manager, _):
        with pytest.raises(UsageError, match="expected a name like mcp__server__name"):
            await manager.call_tool(name)


async def test_a_server_that_is_not_there_is_a_mistake_of_the_caller() -> None:
    async with managing(two()) as (manager, _):
        with pytest.raises(UsageError, match="no such server; there are 'left', 'right'"):
            await manager.call_tool("mcp__middle__who")
        with pytest.raises(UsageError, match="no server 'middle'"):
            await manager.session("middle")


async def test_a_tool_that_is_not_listed_is_asked_for_all_the_same() -> None:
    async with managing(two(revisions=(PER_REQUEST,))) as (manager, _):
        with pytest.raises((McpError, ToolError)):
            await manager.call_tool("mcp__left__none", returns=str)


async def test_handlers_of_a_client_of_ones_own_are_asked() -> None:
    server = Server("asks")

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Which?", Form)).action

    client = Client("own", elicitation=lambda session, form: ElicitResult(action="decline"))
    async with client, managing({"asks": server}, client=client) as (manager, _):
        assert await manager.call_tool("mcp__asks__ask", returns=str) == "decline"


# --- lists ---


async def test_a_list_is_asked_for_once_and_again_after_a_change() -> None:
    server = named_server("left")
    listed: list[str] = []
    client = Client("test")

    @client.hooks.outbound.before_list_tools
    def count(ctx: Any, params: Any) -> None:
        listed.append("tools")

    async def extra() -> str:
        return ""

    async with client, managing({"left": server}, client=client) as (manager, told):
        for _ in range(3):
            assert len(await manager.tools()) == 1
        assert len(listed) == 1
        server.add_tool(extra)
        assert (await told.next("tools_changed")).server == "left"
        assert [one.tool.name for one in await manager.tools()] == ["who", "extra"]


@pytest.mark.parametrize("what", ["tools", "prompts", "resources", "resource_templates"])
async def test_a_list_whose_changes_are_told_is_kept_however_soon_others_are_asked_for_again(
    what: str,
) -> None:
    listed: list[str] = []
    client = Client("test")
    before = getattr(client.hooks.outbound, f"before_list_{what}")
    before(lambda ctx, params: listed.append(what))
    options: dict[str, Any] = {"client": client, "list_ttl_s": 0}
    async with client, managing({"left": named_server("left")}, **options) as (manager, _):
        for _ in range(3):
            await getattr(manager, what)()
    assert listed == [what]


@every_revision
async def test_changes_are_told_at_every_revision(revision: str) -> None:
    server = named_server("left", revisions=(revision,))
    async with managing({"left": server}) as (manager, told):
        await manager.tools()
        await manager.prompts()
        await manager.resources()
        server.remove_tool("who")
        server.remove_prompt("ask")
        server.remove_resource("left://page")
        for _ in range(3):
            await told.next("tools_changed", "prompts_changed", "resources_changed")
        left = (await manager.tools(), await manager.prompts(), await manager.resources())
        assert left == ([], [], [])


async def test_a_list_that_changes_while_it_is_asked_for_is_asked_for_again() -> None:
    server = named_server("left")
    begun, go_on = asyncio.Event(), asyncio.Event()
    hold = [True, False]
    client = Client("test")

    @client.hooks.outbound.after_list_tools
    async def wait(ctx: Any, params: Any, result: Any) -> Any:
        if hold and hold.pop(0):
            begun.set()
            await go_on.wait()
        return result

    async def extra() -> str:
        return ""

    async with client, managing({"left": server}, client=client) as (manager, _):
        first = asyncio.create_task(manager.tools())
        await begun.wait()
        second = asyncio.create_task(manager.tools())
        manager._servers["left"].on_change("tools")
        server.add_tool(extra)
        third = asyncio.create_task(manager.tools())
        await asyncio.sleep(0)
        go_on.set()
        await first
        assert [len(await one) for one in (second, third)] == [2, 2]


async def test_a_server_that_does_not_tell_of_changes_is_asked_again_after_a_while() -> None:
    listed: list[int] = []
    server = named_server("left", revisions=(mcp_wire.REVISIONS[0],))
    client = Client("test")
    client.hooks.outbound.before_list_tools(lambda ctx, params: listed.append(1))
    options: dict[str, Any] = {"client": client, "list_ttl_s": 0}
    async with client, managing({"left": server}, **options) as (manager, _):
        manager._servers["left"].tells = frozenset()
        for _ in range(2):
            await manager.tools()
            manager._servers["left"].tells = frozenset()
    assert len(listed) == 2


async def test_a_server_whose_list_cannot_be_had_keeps_nobody_from_being_listed() -> None:
    bad = named_server("bad")

    @bad.hooks.before_list_tools
    def refuse(ctx: Any, params: Any) -> None:
        raise McpError(-1, "no list")

    async with managing({"bad": bad, "good": named_server("good")}) as (manager, told):
        for _ in range(2):
            assert [one.server for one in await manager.tools()] == ["good"]
    # It is not retried for a while, and reported once.
    assert told.kinds.count(("list_failed", "bad")) == 1


async def test_a_list_that_a_broken_connection_kept_back_is_asked_for_again_at_once() -> None:
    client, broken = Client("test"), [REFUSED]

    @client.hooks.outbound.before_list_tools
    def breaks_off(ctx: Any, params: Any) -> None:
        if broken:
            raise broken.pop()

    async with client, managing({"good": named_server("good")}, client=client) as (manager, _):
        assert await manager.tools() == []
        assert [one.server for one in await manager.tools()] == ["good"]


async def test_a_server_whose_list_does_not_come_keeps_nobody_waiting_for_long() -> None:
    bad = named_server("bad")

    @bad.hooks.before_list_tools
    async def hold(ctx: Any, params: Any) -> None:
        await asyncio.Event().wait()

    servers = {"bad": bad, "good": named_server("good")}
    async with managing(servers, list_timeout_s=0.05) as (manager, told):
        assert [one.server for one in await manager.tools()] == ["good"]
        assert (await told.next("list_failed")).server == "bad"


async def test_what_a_server_does_not_have_is_not_asked_for() -> None:
    asked: list[str] = []
    client = Client("test")
    client.hooks.outbound.before_any(lambda ctx, method, params: asked.append(method))
    async with client, managing({"empty": Server("empty")}, client=client) as (manager, _):
        assert await manager.tools() == []
        assert await manager.resource_templates() == []
    assert [one for one in asked if one.endswith("/list")] == []


# --- the servers themselves ---


async def test_a_server_that_cannot_be_connected_to_is_told_of_and_left_out() -> None:
    wire = Wire(named_server("bad"))
    wire.refusal = ValueError("a bug of the program")
    servers = {"bad": wire, "good": named_server("good")}
    async with managing(servers) as (manager, told):
        status = manager.servers()
        assert [one.server for one in await manager.tools()] == ["good"]
        with pytest.raises(SessionLost, match="bad is failed: a bug of the program"):
            await manager.call_tool("mcp__bad__who")
    assert (status["bad"].state, status["good"].state) == ("failed", "connected")
    assert ("connect_failed", "bad") in told.kinds


async def test_a_silent_server_does_not_keep_the_others_from_being_used() -> None:
    servers = {"silent": Silent(), "good": named_server("good")}
    options = {"start_wait_s": 0.05, "connect_timeout_s": 30}
    async with managing(servers, **options) as (manager, _):
        assert manager.servers()["silent"].state == "connecting"
        assert await manager.call_tool("mcp__good__who", returns=str) == "good"
        with pytest.raises(SessionLost, match="silent: connecting for"):
            await manager.call_tool("mcp__silent__who", timeout_s=0.01)


async def test_connecting_takes_no_longer_than_it_may() -> None:
    servers = {"silent": ServerConfig(target=Silent(), connect_timeout_s=0.05)}
    async with managing(servers, reconnect=None) as (manager, _):
        status = manager.servers()["silent"]
    assert (status.state, str(status.error)) == ("failed", "silent: not connected within 0.05 s")


async def test_only_so_many_are_connected_to_at_a_time() -> None:
    at_once: list[int] = [0, 0]

    class Slow:
        async def serve(self, transport: Duplex) -> None:
            at_once[0] += 1
            at_once[1] = max(at_once)
            # Others would start now if the limit allowed it.
            for _ in range(10):
                await asyncio.sleep(0)
            at_once[0] -= 1
            await Server("slow").serve(transport)

    servers = {str(number): Slow() for number in range(6)}
    async with managing(servers, max_commands=1, max_remote=1) as (manager, _):
        states = {one.state for one in manager.servers().values()}
    assert (states, at_once[1]) == ({"connected"}, 2)


async def test_a_disabled_server_is_known_and_not_connected_to() -> None:
    wire = Wire(named_server("off"))
    servers = {"off": ServerConfig(target=wire, disabled=True)}
    async with managing(servers) as (manager, _):
        assert manager.servers()["off"].state == "disabled"
        assert await manager.tools() == []
        assert wire.dials == 0
        assert (await manager.reconnect("off")).state == "connected"
        assert len(await manager.tools()) == 1


async def test_servers_are_added_and_removed_while_it_runs() -> None:
    async with managing({"left": named_server("left")}) as (manager, told):
        added = await manager.add("right", named_server("right"))
        assert added.state == "connected"
        assert [one.server for one in await manager.tools()] == ["left", "right"]
        await manager.remove("left")
        assert [one.server for one in await manager.tools()] == ["right"]
        with pytest.raises(UsageError):
            await manager.call_tool("mcp__left__who")
    assert told.kinds[-1] == ("server_removed", "left")


async def test_adding_a_name_twice_is_a_mistake() -> None:
    async with managing({"left": named_server("left")}) as (manager, _):
        with pytest.raises(UsageError, match="there is a server 'left'"):
            await manager.add("left", named_server("left"))


async def test_a_server_that_cannot_be_reached_when_it_is_added_says_so_in_its_status() -> None:
    wire = Wire(None)
    wire.refusal = REFUSED
    async with managing({}, reconnect=None) as (manager, _):
        status = await manager.add("bad", wire)
    assert (status.state, status.error) == ("failed", REFUSED)


@requirement("tools:client:names:many-servers")
async def test_two_servers_of_one_part_get_names_of_their_own() -> None:
    servers = {"a b": named_server("first"), "a_b": named_server("second")}
    async with managing(servers) as (manager, _):
        names = [one.name for one in await manager.tools()]
        said = [await manager.call_tool(name, returns=str) for name in names]
    assert (names, said) == (["mcp__a_b__who", "mcp__a_b_2__who"], ["first", "second"])


async def test_a_call_that_waits_for_a_server_that_is_removed_ends() -> None:
    async with managing({"silent": Silent()}, start_wait_s=0) as (manager, _):
        waiting = asyncio.create_task(manager.call_tool("mcp__silent__who"))
        await asyncio.sleep(0)
        await manager.remove("silent")
        with pytest.raises(SessionLost, match="let go of"):
            await waiting


async def test_a_manager_that_has_not_begun_says_what_to_write() -> None:
    with pytest.raises(UsageError, match="async with ClientManager"):
        await ClientManager().add("left", named_server("left"))


async def test_a_manager_begins_once() -> None:
    manager = ClientManager({})
    async with manager:
        pass
    with pytest.raises(UsageError, match="begun before"):
        await manager.__aenter__()


async def test_a_server_that_was_removed_is_forgotten() -> None:
    wire = Wire(named_server("left"))
    client = Client("test")
    async with client, managing({}, client=client) as (manager, _):
        for _ in range(5):
            await manager.add("left", wire)
            await manager.remove("left")
        gc.collect()
        assert len(client._links) <= 1


# --- listeners ---


def test_a_listener_stays_a_function_of_its_module() -> None:
    def hear(event: Any) -> None: ...

    manager = ClientManager({})
    assert [manager.on_event(hear), manager.on_event("connected")(hear)] == [hear, hear]


def test_a_manager_that_has_not_begun_has_nothing_to_forget() -> None:
    ClientManager({"left": named_server("left")}).forget_resources()


async def test_what_a_listener_returns_does_not_matter(caplog: pytest.LogCaptureFixture) -> None:
    manager = ClientManager({"left": named_server("left")})
    heard: list[str] = []

    @manager.on_event
    def hear(event: Any) -> str:
        heard.append(event.kind)
        return event.kind

    async with manager:
        await manager.call_tool("mcp__left__who")
    assert heard == ["connected"]
    assert caplog.records == []


async def test_what_a_listener_raises_is_logged_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = ClientManager({"left": named_server("left")}, reconnect=AT_ONCE)
    heard: list[str] = []

    @manager.on_event
    def fail(event: Any) -> None:
        raise ZeroDivisionError

    @manager.on_event
    async def fail_later(event: Any) -> None:
        raise ZeroDivisionError

    @manager.on_event("connected", "server_removed")
    async def hear(event: Any) -> None:
        heard.append(event.kind)

    async with manager:
        await manager.call_tool("mcp__left__who")
        await manager.remove("left")
    assert heard == ["connected", "server_removed"]
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == [
        f"a listener failed at {kind} of left"
        for kind in ("connected", "connected", "server_removed", "server_removed")
    ]

"""MCP Apps: metadata of tools and resources, visibility, and errors."""

from __future__ import annotations

import re
import runpy
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from mcp_gen import (
    Client,
    ClientSession,
    Contents,
    Context,
    McpError,
    Server,
    UsageError,
    transformed,
)
from mcp_gen.apps import (
    APPS,
    EXTENSION,
    MIME_TYPE,
    McpUiResourceCsp,
    McpUiResourceMeta,
    McpUiToolMeta,
    client_supports_apps,
    is_visible_to,
    resource_ui,
    tool_ui,
    visible_to,
)
from mcp_wire import latest
from tests.docs.programs import program
from tests.support.frames import ALL, Speaker, every_revision
from tests.support.http.asgi import request
from tests.support.peers.raw import talking
from tests.support.peers.scripted import served

ROOT = Path(__file__).parents[3]
PAGE = "<!DOCTYPE html><html><body>12:00</body></html>"
FACE = "ui://clock/face"

WITH_APPS = [one for one in ALL if one in EXTENSION.revisions]
WITHOUT = [one for one in ALL if one not in EXTENSION.revisions]
where_apps_are = pytest.mark.parametrize("revision", WITH_APPS)
where_none_are = pytest.mark.parametrize("revision", WITHOUT)


def clock(**described: Any) -> Server:
    """Return a server with an app, a tool linked to it, and a tool for the app alone."""
    server = Server("clock")
    server.add_ui_resource(FACE, PAGE, **described)

    @server.tool(ui=FACE)
    async def time(ctx: Context) -> str:
        """Return the time."""
        return f"12:00 {client_supports_apps(ctx)}"

    @server.tool(ui=McpUiToolMeta(resource_uri=FACE, visibility=["app"]))
    async def wind() -> str:
        """Move the hands."""
        return "done"

    return server


def nothing() -> None: ...


@asynccontextmanager
async def host(server: Server, revision: str) -> AsyncIterator[ClientSession]:
    """Connect a client that supports apps; every frame is checked."""
    async with served(server, revision, extensions=[APPS]) as session:
        yield session


# --- what is said ---


@where_apps_are
async def test_a_tool_names_its_app(revision: str) -> None:
    async with host(clock(), revision) as session:
        time, wind = (await session.list_tools()).tools
    assert time.meta == {"ui": {"resourceUri": FACE}, "ui/resourceUri": FACE}
    assert wind.meta == {
        "ui": {"resourceUri": FACE, "visibility": ["app"]},
        "ui/resourceUri": FACE,
    }


@where_none_are
async def test_where_tools_have_no_metadata_they_are_tools_like_any_other(revision: str) -> None:
    async with served(clock(), revision) as session:
        (time,) = (await session.list_tools()).tools
        result = await session.call_tool("time")
    assert getattr(time, "meta", None) is None
    assert tool_ui(time) is None
    assert result.content[0].text == "12:00 False"


@every_revision
async def test_an_app_is_read_as_html_of_its_kind(revision: str) -> None:
    async with served(clock(), revision) as session:
        (listed,) = (await session.list_resources()).resources
        (page,) = (await session.read_resource(FACE)).contents
    assert (listed.uri, listed.mime_type) == (FACE, MIME_TYPE)
    assert (page.uri, page.mime_type, page.text) == (FACE, MIME_TYPE, PAGE)


WANTS = {
    "csp": {"connectDomains": ["https://api.example.com"], "frameDomains": ["https://*.a.b:8000"]},
    "permissions": {"camera": {}, "clipboardWrite": {}},
    "domain": "clock.example.com",
    "prefersBorder": False,
}


def wanting() -> Server:
    csp = McpUiResourceCsp(
        connect_domains=["https://api.example.com"], frame_domains=["https://*.a.b:8000"]
    )
    return clock(
        csp=csp,
        permissions=["camera", "clipboard_write"],
        domain="clock.example.com",
        prefers_border=False,
        meta={"own": 1},
    )


@where_apps_are
async def test_what_an_app_needs_stands_on_the_list_and_beside_it(revision: str) -> None:
    async with host(wanting(), revision) as session:
        (listed,) = (await session.list_resources()).resources
        (page,) = (await session.read_resource(FACE)).contents
    assert listed.meta == {"ui": WANTS, "own": 1}
    assert page.meta == {"ui": WANTS}


@where_none_are
async def test_where_resources_have_no_metadata_it_is_left_out(revision: str) -> None:
    async with served(wanting(), revision) as session:
        (listed,) = (await session.list_resources()).resources
        (page,) = (await session.read_resource(FACE)).contents
    assert getattr(listed, "meta", None) is None
    assert getattr(page, "meta", None) is None


async def test_an_app_may_be_bytes() -> None:
    server = Server("clock")

    @server.ui_resource(FACE)
    def face() -> bytes:
        """The hands."""
        return PAGE.encode()

    async with served(server) as session:
        (listed,) = (await session.list_resources()).resources
        (page,) = (await session.read_resource(FACE)).contents
    assert (listed.name, listed.description, listed.mime_type) == ("face", "The hands.", MIME_TYPE)
    assert face() == PAGE.encode()
    assert isinstance(page, latest.BlobResourceContents)
    assert (b64decode(page.blob), page.mime_type) == (PAGE.encode(), MIME_TYPE)


async def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "face.html"
    path.write_text("old", "utf-8")
    server = Server("clock")
    server.add_ui_resource(FACE, path)
    path.write_text("new", "utf-8")
    async with served(server) as session:
        (page,) = (await session.read_resource(FACE)).contents
    assert page.text == "new"


async def test_one_reading_may_say_anew_what_it_needs() -> None:
    server = Server("clock")

    @server.ui_resource(FACE, prefers_border=True)
    async def face(ctx: Context) -> Contents:
        return Contents(PAGE, meta={"ui": {"prefersBorder": False}})

    async with served(server) as session:
        (page,) = (await session.read_resource(FACE)).contents
    assert (page.text, page.mime_type) == (PAGE, MIME_TYPE)
    assert page.meta == {"ui": {"prefersBorder": False}}


async def test_an_app_that_is_no_html_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("clock")

    @server.ui_resource(FACE)
    def face() -> Any:
        return {"html": PAGE}

    async with served(server) as session:
        with pytest.raises(McpError):
            await session.read_resource(FACE)
    assert "expected HTML as str or bytes, got dict" in caplog.text


async def test_the_rest_of_a_tools_metadata_stays() -> None:
    server = clock()

    @server.tool(ui=FACE, meta={"own": 1, "ui": {"resourceUri": "ui://old"}})
    def more() -> str:
        return ""

    tool = latest.Tool(name="raw", input_schema={"type": "object"}, meta={"own": 2})
    server.add_tool(tool, lambda ctx, arguments: "", ui=FACE)
    metas = [server.tools[name].tool.meta for name in ("more", "raw")]
    assert metas == [
        {"own": n, "ui": {"resourceUri": FACE}, "ui/resourceUri": FACE} for n in (1, 2)
    ]
    assert tool.meta == {"own": 2}


async def test_a_tool_offered_in_another_way_keeps_its_app() -> None:
    other = clock()
    server = Server("other")
    server.add_ui_resource(FACE, PAGE)
    server.add_ui_resource("ui://other", PAGE)
    server.add_tool(transformed(other.tools["wind"], name="turn", meta={"own": 1}))
    server.add_tool(transformed(other.tools["time"], ui="ui://other"))
    async with served(server) as session:
        (time,) = (await session.list_tools()).tools
    async with host(server, mcp_wire.LATEST) as session:
        turn, _ = (await session.list_tools()).tools
    assert (turn.name, turn.meta and turn.meta["own"]) == ("turn", 1)
    assert tool_ui(turn) == McpUiToolMeta(resource_uri=FACE, visibility=["app"])
    assert tool_ui(time) == McpUiToolMeta(resource_uri="ui://other")


# --- visibility ---


@where_apps_are
async def test_a_tool_knows_whether_its_app_is_shown(revision: str) -> None:
    async with host(clock(), revision) as session:
        shown = await session.call_tool("time")
    async with served(clock(), revision) as session:
        other = await session.call_tool("time")
    assert [one.content[0].text for one in (shown, other)] == ["12:00 True", "12:00 False"]


@where_apps_are
async def test_a_client_that_shows_other_apps_shows_none_of_these(revision: str) -> None:
    others = (EXTENSION, {"mimeTypes": ["text/uri-list"]})
    async with served(clock(), revision, extensions=[others]) as session:
        result = await session.call_tool("time")
        names = [tool.name for tool in (await session.list_tools()).tools]
    assert (result.content[0].text, names) == ("12:00 False", ["time"])


@every_revision
async def test_tools_for_apps_alone_are_unknown_where_none_are_shown(revision: str) -> None:
    async with served(clock(), revision) as session:
        names = [tool.name for tool in (await session.list_tools()).tools]
        with pytest.raises(McpError, match="unknown tool: wind"):
            await session.call_tool("wind")
    assert names == ["time"]


@where_apps_are
async def test_a_host_calls_tools_for_apps_alone(revision: str) -> None:
    async with host(clock(), revision) as session:
        result = await session.call_tool("wind")
    assert result.content[0].text == "done"


@pytest.mark.parametrize("place", ["extensions", "experimental"])
@pytest.mark.parametrize("revision", [one for one in WITH_APPS if mcp_wire.profile(one).handshake])
async def test_a_host_is_known_wherever_it_declares_apps(revision: str, place: str) -> None:
    told = {place: {EXTENSION.identifier: {"mimeTypes": [MIME_TYPE]}}}
    speaker = Speaker(revision)
    async with talking(clock(), revision, opened=False) as client:
        params = {
            "protocolVersion": revision,
            "capabilities": told,
            "clientInfo": {"name": "host", "version": "1"},
        }
        opened = await client.ask(speaker.request(0, "initialize", params))
        client.send(*speaker.opening[1:])
        listed = await client.ask(speaker.request(1, "tools/list"))
    assert [tool["name"] for tool in listed["result"]["tools"]] == ["time", "wind"]
    declared = opened["result"]["capabilities"]["experimental"]
    assert declared == {EXTENSION.identifier: {"mimeTypes": [MIME_TYPE]}}


async def test_a_server_without_apps_declares_none() -> None:
    server = Server("plain")
    server.add_tool(nothing)
    assert EXTENSION not in server.runtime.kernel.extensions
    assert server.apps is None


async def test_a_list_that_hosts_alone_see_is_theirs() -> None:
    async with host(clock(), mcp_wire.LATEST) as session:
        assert (await session.list_tools()).cache_scope == "private"


async def test_a_list_without_tools_for_apps_alone_is_the_same_for_all() -> None:
    server = Server("clock")
    server.add_ui_resource(FACE, PAGE)
    server.add_tool(transformed(clock().tools["time"]))
    assert not server.tools.listing.filters


# --- refusals ---


@pytest.mark.parametrize("uri", ["https://a.b", "UI://a", "ui://", "clock/face", "ui://a/{b}"])
def test_an_app_has_a_uri_of_its_own_scheme(uri: str) -> None:
    with pytest.raises(UsageError, match="expected a URI such as `ui://clock/face`"):
        Server("clock").add_ui_resource(uri, PAGE)
    with pytest.raises(UsageError, match="expected a URI such as `ui://clock/face`"):
        Server("clock").add_tool(nothing, ui=uri)


@pytest.mark.parametrize(
    "origin",
    [
        "example.com",
        "https://a.b/c",
        "https://a.b; script-src *",
        "https://a.b 'unsafe-eval'",
        "*",
        "data:",
        "https://a.*",
        "",
    ],
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(UsageError, match="csp: expected an origin"):
        clock(csp=McpUiResourceCsp(resource_domains=["https://a.b", origin]))


@pytest.mark.parametrize(
    ("described", "said"),
    [
        (
            {"permissions": ["camera", "clipboardWrite"]},
            "permission 'clipboardWrite'",
        ),
        ({"size": 3}, "`size` is not for apps to say"),
        ({"mime_type": "text/plain"}, "`mime_type` is not for apps to say"),
    ],
)
def test_what_an_app_cannot_say_is_refused(described: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        clock(**described)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        Server("clock").add_ui_resource(FACE, tmp_path / "none.html")


def test_a_tool_that_nobody_may_call_is_refused() -> None:
    with pytest.raises(UsageError, match="nobody may call it"):
        Server("clock").add_tool(nothing, ui=McpUiToolMeta(visibility=[]))


def without_its_app() -> Server:
    server = clock()
    server.transform_tool("time", ui="ui://clock/fase")
    return server


NOT_THERE = r"tool time: ui: there is no app 'ui://clock/fase': did you mean 'ui://clock/face'\?"


async def test_a_server_does_not_start_without_an_app_that_a_tool_names() -> None:
    with pytest.raises(UsageError, match=NOT_THERE):
        async with served(without_its_app()):
            pass


async def test_nor_does_it_over_http(caplog: pytest.LogCaptureFixture) -> None:
    speaker = Speaker(mcp_wire.LATEST)
    reply = await request(without_its_app().asgi(), speaker.request(1, "tools/list"))
    assert reply.status == 503
    assert re.search(NOT_THERE, caplog.text)


async def test_an_app_may_be_added_after_its_tool() -> None:
    server = Server("clock")
    server.add_tool(transformed(clock().tools["time"], ui=FACE))
    server.add_ui_resource(FACE, PAGE)
    async with served(server) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["time"]


async def test_a_session_that_gets_a_tool_of_its_own_keeps_nobody_out() -> None:
    server = Server("clock", declare=["tools"])

    @server.tool
    async def add(ctx: Context) -> str:
        mine = server.for_session(ctx.session)
        mine.add_tool(nothing, ui=FACE)
        return ""

    server.add_ui_resource("ui://other", PAGE)
    revision = [one for one in WITH_APPS if mcp_wire.profile(one).handshake][-1]
    async with served(server, revision) as session:
        await session.call_tool("add")
        assert len((await session.list_tools()).tools) == 2
        async with served(server, revision) as other:
            assert len((await other.list_tools()).tools) == 1


# --- in a server that another one is mounted in ---


@where_apps_are
async def test_apps_of_a_mounted_server_pass(revision: str) -> None:
    outer = Server("outer", extensions=[APPS])
    outer.mount("in", wanting())
    async with host(outer, revision) as session:
        tools = {tool.name: tool_ui(tool) for tool in (await session.list_tools()).tools}
        (page,) = (await session.read_resource(FACE)).contents
        assert (await session.call_tool("in_wind")).content[0].text == "done"
        assert session.declares(EXTENSION)
    assert list(tools) == ["in_time", "in_wind"]
    assert tools["in_time"] == McpUiToolMeta(resource_uri=FACE)
    assert page.meta == {"ui": WANTS}
    async with served(outer, revision) as session:
        assert [tool.name for tool in (await session.list_tools()).tools] == ["in_time"]


@where_apps_are
async def test_tools_for_apps_alone_of_a_far_server_can_be_kept_back(revision: str) -> None:
    async with Client("gateway", extensions=[APPS]) as client:
        outer = Server("outer", extensions=[APPS])
        # Without a handshake a remote server does not get the extensions of the gateway's client.
        inside = [one for one in WITH_APPS if mcp_wire.profile(one).handshake][-1]
        outer.mount("far", await client.connect(clock(), revision=inside))
        outer.filter_tools(is_visible_to)
        async with host(outer, revision) as session:
            seen = [tool.name for tool in (await session.list_tools()).tools]
        async with served(outer, revision) as session:
            others = [tool.name for tool in (await session.list_tools()).tools]
            with pytest.raises(McpError, match="unknown tool"):
                await session.call_tool("far_wind")
        outer.unmount("far")
    assert (seen, others) == (["far_time", "far_wind"], ["far_time"])


# --- reading it, as hosts do ---


def tool_with(meta: Any) -> latest.Tool:
    return latest.Tool(name="a", input_schema={"type": "object"}, meta=meta)


def page_with(meta: Any) -> latest.TextResourceContents:
    return latest.TextResourceContents(uri=FACE, text=PAGE, meta=meta)


@pytest.mark.parametrize(
    ("meta", "read"),
    [
        (None, None),
        ({"other": 1}, None),
        ({"ui": {"resourceUri": FACE}}, McpUiToolMeta(resource_uri=FACE)),
        ({"ui/resourceUri": FACE}, McpUiToolMeta(resource_uri=FACE)),
        (
            {"ui": {"resourceUri": FACE}, "ui/resourceUri": "ui://b"},
            McpUiToolMeta(resource_uri=FACE),
        ),
        (
            {"ui": {"visibility": ["app"]}, "ui/resourceUri": FACE},
            McpUiToolMeta(resource_uri=FACE, visibility=["app"]),
        ),
        ({"ui": {"resourceUri": 1}}, None),
        ({"ui": "x", "ui/resourceUri": 1}, None),
    ],
)
def test_what_a_tool_says_of_its_app_is_read(meta: Any, read: Any) -> None:
    assert tool_ui(tool_with(meta)) == read


@pytest.mark.parametrize(
    ("visibility", "model", "app"),
    [(None, True, True), (["model"], True, False), (["app"], False, True), ([], False, False)],
)
def test_who_may_call_a_tool_is_read(visibility: Any, model: bool, app: bool) -> None:
    ui = {} if visibility is None else {"visibility": visibility}
    tool = tool_with({"ui": ui})
    assert (visible_to(tool, "model"), visible_to(tool, "app")) == (model, app)


def test_what_was_read_of_an_app_goes_before_its_entry() -> None:
    ui = {"prefersBorder": True, "domain": "a.b"}
    entry = latest.Resource(name="a", uri=FACE, meta={"ui": ui})
    without = McpUiResourceMeta(prefers_border=False)
    assert resource_ui(page_with({"ui": {"prefersBorder": False}}), entry) == without
    assert resource_ui(page_with(None), entry).domain == "a.b"
    assert resource_ui(page_with(None)) == McpUiResourceMeta()


# --- output ---


@every_revision
async def test_the_example_mixes_a_colour_for_all_and_adjusts_it_for_its_app(revision: str) -> None:
    server: Server = runpy.run_path(str(ROOT / "examples/apps_server.py"))["server"]
    async with served(server, revision, extensions=[APPS]) as session:
        tools = [tool.name for tool in (await session.list_tools()).tools]
        result = await session.call_tool("mix", {"red": 255, "green": 128, "blue": 0})
        (page,) = (await session.read_resource("ui://palette/palette.html")).contents
    apps = revision in EXTENSION.revisions
    assert tools == (["mix", "adjust"] if apps else ["mix"])
    said = "#ff8000, of the family of yellow"
    assert result.content[0].text == (f"{said}; the user sees it" if apps else said)
    assert page.text.startswith("<!DOCTYPE html>")
    # The page is self-contained.
    assert not re.search(r"(src|href)\s*=|https?://|url\(", page.text)


async def test_the_documented_server_is_shown_by_the_documented_host(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with program("apps", "host") as shown:
        await shown.main()
    assert capsys.readouterr().out == f"time_in {MIME_TYPE} None None\n"

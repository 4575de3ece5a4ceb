"""Client over HTTP, with our servers behind real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

import mcp_wire
from mcp_gen import CacheHints, Client, Context, RequestTimeout, Server, SessionLost
from mcp_gen.client.session.session import ClientSession
from mcp_gen.transports.http_client.pool import origin_of
from tests.client.scripted import client_violations
from tests.support.frames import HANDSHAKE, PER_REQUEST, STREAMABLE, every_revision
from tests.support.http.loopback import Web, serving
from tests.support.peers.talker import soon
from tests.support.requirement import requirement

ALL = mcp_wire.REVISIONS
streamable = pytest.mark.parametrize("revision", STREAMABLE)
SESSIONS = [one for one in STREAMABLE if mcp_wire.profile(one).session_header]
with_sessions = pytest.mark.parametrize("revision", SESSIONS)


class Tools:
    """Server whose tools a test can hold."""

    def __init__(self, *revisions: str) -> None:
        self.revisions = revisions or ALL
        self.server = Server("web", "1.0.0", revisions=self.revisions)
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.server.tool(self.echo)
        self.server.tool(self.wait)
        self.server.tool(self.count)
        self.server.tool(self.hang_up)

    async def echo(self, text: str) -> str:
        return text

    async def wait(self) -> str:
        self.begun.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "waited"

    async def count(self, ctx: Context) -> str:
        for step in (1, 2):
            await ctx.report_progress(step, 2)
        return "counted"

    async def hang_up(self, ctx: Context) -> str:
        await ctx.close_stream(retry_ms=10)
        return "late"

    def app(self, **options: Any) -> Any:
        paired = any(mcp_wire.profile(one).handshake for one in self.revisions)
        return self.server.asgi(legacy_sse_path="/sse" if paired else None, **options)


def url_of(web: Web, revision: str) -> str:
    older = mcp_wire.profile(revision).http_transport == "sse_pair"
    return f"{web.origin}/sse" if older else web.url


@asynccontextmanager
async def connected(
    revision: str, tools: Tools | None = None, **options: Any
) -> AsyncIterator[tuple[ClientSession, Web]]:
    """Connect a session at one revision; every client message is checked at the end."""
    async with serving((tools or Tools()).app()) as web:
        async with Client("test", "1.0.0") as client:
            session = await client.connect(url_of(web, revision), revision=revision, **options)
            yield session, web
        assert client_violations(revision, web.frames()) == []


# --- every revision ---


@every_revision
async def test_a_pinned_revision_is_spoken(revision: str) -> None:
    async with connected(revision) as (session, _):
        answer = await session.call_tool("echo", {"text": "grüße"})
        assert (session.revision, answer.content[0].text) == (revision, "grüße")


@every_revision
async def test_the_newest_revision_of_a_server_is_found(revision: str) -> None:
    tools = Tools(*ALL[: ALL.index(revision) + 1])
    async with serving(tools.app()) as web, Client("test") as client:
        session = await client.connect(url_of(web, revision))
        answer = await session.call_tool("echo", {"text": "a"})
        assert (session.revision, answer.content[0].text) == (revision, "a")


@every_revision
async def test_many_calls_at_once_get_their_own_answers(revision: str) -> None:
    async with connected(revision) as (session, _):
        calls = [session.call_tool("echo", {"text": str(one)}) for one in range(20)]
        answers = await asyncio.gather(*calls)
        assert [one.content[0].text for one in answers] == [str(one) for one in range(20)]


@every_revision
async def test_progress_arrives_before_the_result(revision: str) -> None:
    seen: list[float] = []

    def progress(value: float, total: float | None, message: str | None) -> None:
        seen.append(value)

    async with connected(revision) as (session, _):
        await session.call_tool("count", progress=progress)
        assert seen == [1, 2]


@requirement("http:client:cancels")
@every_revision
async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(revision: str) -> None:
    tools = Tools()
    async with connected(revision, tools) as (session, web):
        call = asyncio.get_running_loop().create_task(session.call_tool("wait"))
        await soon(tools.begun)
        call.cancel()
        await soon(tools.cancelled)
        told = len(web.asked("notifications/cancelled"))
        assert told == (0 if mcp_wire.profile(revision).stream_drop_cancels else 1)
        assert (await session.call_tool("echo", {"text": "on"})).content[0].text == "on"


@every_revision
async def test_a_call_that_takes_too_long_is_cancelled_at_the_server(revision: str) -> None:
    tools = Tools()
    async with connected(revision, tools) as (session, _):
        with pytest.raises(RequestTimeout, match=r"no answer in 0\.2 s"):
            await session.call_tool("wait", timeout_s=0.2)
        await soon(tools.cancelled)


@every_revision
async def test_leaving_the_client_ends_calls_that_wait(revision: str) -> None:
    tools = Tools()
    async with connected(revision, tools) as (session, _):
        call = asyncio.get_running_loop().create_task(session.call_tool("wait"))
        await soon(tools.begun)
        await session.aclose()
        with pytest.raises(SessionLost, match="closed"):
            await call
        tools.go_on.set()


# --- headers ---


@streamable
async def test_every_post_says_what_its_revision_wants_in_its_headers(revision: str) -> None:
    async with connected(revision) as (session, web):
        await session.call_tool("echo", {"text": "a"})
        (call,) = web.asked("tools/call")
        profile = mcp_wire.profile(revision)
        wanted = {
            profile.version_header: revision,
            profile.method_header: "tools/call",
            profile.name_header: "echo",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        for name, value in wanted.items():
            assert name is None or call.headers.get(name.lower()) == value
        assert bool(call.headers.get("mcp-session-id")) is bool(profile.session_header)


@with_sessions
async def test_the_handshake_names_no_session_and_no_revision(revision: str) -> None:
    async with connected(revision) as (_, web):
        (asked,) = web.asked("initialize")
        assert {"mcp-session-id", "mcp-protocol-version"} & asked.headers.keys() == set()


@with_sessions
async def test_the_server_is_ready_before_it_is_asked_anything(revision: str) -> None:
    async with connected(revision) as (session, web):
        await session.list_tools()
        said = [one.asks for one in web.by("POST")]
        assert said == ["initialize", "notifications/initialized", "tools/list"]


@requirement("http:client:session:deleted")
@with_sessions
async def test_a_session_is_ended_at_the_server(revision: str) -> None:
    async with connected(revision) as (session, web):
        id = web.asked("notifications/initialized")[0].headers["mcp-session-id"]
        await session.aclose()
        (ended,) = web.by("DELETE")
        assert ended.headers["mcp-session-id"] == id


@with_sessions
async def test_a_stream_is_opened_for_what_belongs_to_no_request(revision: str) -> None:
    tools = Tools()
    changed = asyncio.Event()
    async with serving(tools.app()) as web, Client("test") as client:

        @client.hooks.on_tool_list_changed
        async def heard(ctx: Any, params: Any) -> None:
            changed.set()

        await client.connect(web.url, revision=revision)
        await web.came("GET")
        tools.server.notify.tool_list_changed()
        await soon(changed)


@requirement("http:client:names-encoded")
@pytest.mark.parametrize("name", ["grüße", " a", "=?base64?YQ==?=", "tab\there"])
async def test_a_name_that_no_header_can_hold_is_encoded(name: str) -> None:
    async with connected(PER_REQUEST) as (session, web):
        with pytest.raises(Exception, match="unknown tool"):
            await session.call_tool(name)
        assert web.asked("tools/call")[0].headers["mcp-name"].startswith("=?base64?")


# --- options of the user ---


async def test_headers_of_the_user_go_with_every_request() -> None:
    async with connected(HANDSHAKE, headers={"X-Team": "blue"}, bearer_token="secret") as (
        session,
        web,
    ):
        await session.aclose()
        assert {one.method for one in web.got} >= {"POST", "DELETE"}
        assert {one.headers["x-team"] for one in web.got} == {"blue"}
        assert {one.headers["authorization"] for one in web.got} == {"Bearer secret"}


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_function_is_asked_for_headers_before_each_request(kind: str) -> None:
    count = iter(range(100))

    def plainly() -> dict[str, str]:
        return {"X-Count": str(next(count))}

    async def slowly() -> dict[str, str]:
        await asyncio.sleep(0)
        return plainly()

    given = plainly if kind == "sync" else slowly
    async with connected(PER_REQUEST, headers=given) as (session, web):
        await session.call_tool("echo", {"text": "a"})
        assert [one.headers["x-count"] for one in web.got] == ["0", "1"]


async def test_a_function_for_headers_that_fails_ends_the_call_alone() -> None:
    broken = False

    def given() -> dict[str, str]:
        if broken:
            raise LookupError("no token")
        return {}

    async with connected(PER_REQUEST, headers=given) as (session, _):
        broken = True
        with pytest.raises(Exception, match="no token") as caught:
            await session.call_tool("echo", {"text": "a"})
        assert isinstance(caught.value.__cause__, LookupError)
        broken = False
        await session.call_tool("echo", {"text": "a"})


async def test_a_header_of_two_lines_is_refused() -> None:
    async with serving(Tools().app()) as web, Client("test") as client:
        with pytest.raises(Exception, match="expected one line"):
            await client.connect(web.url, headers={"x-team": "blue\r\nx-admin: yes"})
        assert web.got == []


async def test_a_user_in_the_url_is_named_in_a_header() -> None:
    async with serving(Tools().app()) as web, Client("test") as client:
        await client.connect(web.url.replace("//", "//me:pass%21@"))
        assert web.got[0].headers["authorization"] == "Basic bWU6cGFzcyE="
        assert "@" not in web.got[0].headers["host"]


@requirement("caching:client:contexts")
@pytest.mark.parametrize("kind", ["sync", "async", "awaitable"])
async def test_what_was_kept_for_one_user_is_not_given_to_another(kind: str) -> None:
    user = "Ann"

    def plainly() -> dict[str, str]:
        return {"Authorization": f"Bearer {user}"}

    async def slowly() -> dict[str, str]:
        return plainly()

    given: Any = {"sync": plainly, "async": slowly, "awaitable": lambda: slowly()}[kind]
    tools = Tools()
    tools.server.cache_hints(list_tools=CacheHints(60_000))
    async with serving(tools.app()) as web, Client("test") as client:
        session = await client.connect(web.url, headers=given)
        await session.list_tools()
        user = "Bob"
        await session.list_tools()
        lists = web.asked("tools/list")
        assert [one.headers["authorization"] for one in lists] == ["Bearer Ann", "Bearer Bob"]
        await session.list_tools()
        assert len(web.asked("tools/list")) == (2 if kind == "sync" else 3)


@every_revision
async def test_a_client_that_is_given_sends_everything_and_stays_open(revision: str) -> None:
    async with httpx2.AsyncClient(headers={"x-from": "given"}, trust_env=False) as http_client:
        async with connected(revision, http_client=http_client) as (session, web):
            answer = await session.call_tool("echo", {"text": "grüße"})
            assert answer.content[0].text == "grüße"
            assert {one.headers["x-from"] for one in web.got} == {"given"}
        assert not http_client.is_closed


# --- ended sessions and interrupted streams ---


@requirement("http:client:polls")
@pytest.mark.parametrize("revision", [one for one in ALL if mcp_wire.profile(one).primes_streams])
async def test_a_client_comes_back_for_an_answer_when_the_server_hangs_up(revision: str) -> None:
    async with connected(revision) as (session, web):
        answer = await session.call_tool("hang_up")
        assert answer.content[0].text == "late"
        assert "last-event-id" in web.by("GET")[-1].headers


@requirement("http:client:session:anew")
@with_sessions
async def test_a_session_that_the_server_has_ended_begins_anew(revision: str) -> None:
    async with connected(revision) as (session, web):
        headers = web.asked("notifications/initialized")[0].headers
        async with httpx2.AsyncClient(trust_env=False) as other:
            mine = {"mcp-session-id": headers["mcp-session-id"]}
            assert (await other.delete(web.url, headers=mine)).status_code < 300
        answers = await asyncio.gather(
            *(session.call_tool("echo", {"text": str(one)}) for one in range(3))
        )
        assert [one.content[0].text for one in answers] == ["0", "1", "2"]
        assert len(web.asked("initialize")) == 2
        assert len(web.asked("notifications/initialized")) == 2


@pytest.mark.parametrize("revision", [HANDSHAKE])
async def test_a_session_that_begins_anew_is_what_it_was(revision: str) -> None:
    tools = Tools()

    @tools.server.resource("file:///a")
    async def read() -> str:
        return "a"

    async with serving(tools.app()) as web, Client("test", log_level="error") as client:
        session = await client.connect(web.url, revision=revision)
        async with session.watch("file:///a"):
            headers = web.asked("notifications/initialized")[0].headers
            async with httpx2.AsyncClient(trust_env=False) as other:
                await other.delete(web.url, headers={"mcp-session-id": headers["mcp-session-id"]})
            await session.call_tool("echo", {"text": "a"})
            assert len(web.asked("logging/setLevel")) == 2
            assert len(web.asked("resources/subscribe")) == 2


@every_revision
async def test_a_server_that_was_started_anew_is_spoken_to_as_before(revision: str) -> None:
    async with Client("test") as client:
        async with serving(Tools().app()) as web:
            session = await client.connect(url_of(web, revision), revision=revision)
        async with serving(Tools().app(), port=web.port):
            assert (await session.call_tool("echo", {"text": "a"})).content[0].text == "a"


# --- remembered revisions ---


async def test_what_a_server_speaks_is_remembered() -> None:
    async with serving(Tools(HANDSHAKE).app()) as web, Client("test") as client:
        await client.connect(web.url)
        assert len(web.asked("server/discover")) == 1
        await client.connect(web.url)
        assert len(web.asked("server/discover")) == 1
        assert len(web.asked("initialize")) == 2


@requirement("lifecycle:client:versions:remembered")
async def test_what_is_remembered_is_forgotten_when_it_is_wrong() -> None:
    async with Client("test") as client:
        async with serving(Tools(PER_REQUEST).app()) as web:
            await client.connect(web.url)
        async with serving(Tools(HANDSHAKE).app(), port=web.port):
            assert (await client.connect(web.url)).revision == HANDSHAKE
        async with serving(Tools(PER_REQUEST).app(), port=web.port):
            assert (await client.connect(web.url)).revision == PER_REQUEST


async def test_what_one_address_speaks_is_not_said_of_another() -> None:
    async with serving(Tools(*ALL[:-1]).app()) as web, Client("test") as client:
        assert (await client.connect(f"{web.origin}/sse")).revision == HANDSHAKE
        assert web.asked("initialize")[-1].path == "/sse/messages"
        await client.connect(web.url)
        assert web.asked("initialize")[-1].path == "/mcp"


# --- arguments mirrored in headers ---


def marked(name: str, **properties: Any) -> Any:
    return mcp_wire.types(PER_REQUEST).Tool(
        name=name, input_schema={"type": "object", "properties": properties}
    )


async def said(ctx: Any, arguments: Any) -> str:
    return "ok"


REGION = {"type": "string", "x-mcp-header": "Region"}


@requirement(
    "http:client:param-headers",
    "http:client:param-headers:omitted",
    "http:client:param-headers:encoded",
)
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ({"region": "eu"}, "eu"),
        ({"region": ""}, ""),
        ({"region": "süd"}, "=?base64?c8O8ZA==?="),
        ({"region": " eu"}, "=?base64?IGV1?="),
        ({"region": "=?base64?"}, "=?base64?"),
        ({"region": "=?base64?eA==?="}, "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ({"region": None}, None),
        ({}, None),
    ],
)
async def test_headers_repeat_the_arguments_that_a_schema_marks(
    arguments: Any, wanted: str | None
) -> None:
    tools = Tools()
    schema = {**REGION, "type": "string"}
    tools.server.add_tool(marked("where", region=schema, other={"type": "string"}), said)
    async with serving(tools.app()) as web, Client("test") as client:
        session = await client.connect(web.url)
        await session.list_tools()
        await session.call_tool("where", {**arguments, "other": "x"})
        headers = web.asked("tools/call")[0].headers
        assert headers.get("mcp-param-region") == wanted
        assert "mcp-param-other" not in headers


@requirement("http:client:param-headers")
@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [("boolean", True, "true"), ("boolean", False, "false"), ("integer", 42, "42")],
)
async def test_other_kinds_of_arguments_are_written_as_json_writes_them(
    kind: str, value: Any, wanted: str
) -> None:
    tools = Tools()
    inner = {"type": "object", "properties": {"it": {"type": kind, "x-mcp-header": "It"}}}
    tools.server.add_tool(marked("what", deep=inner), said)
    async with serving(tools.app()) as web, Client("test") as client:
        session = await client.connect(web.url)
        await session.list_tools()
        await session.call_tool("what", {"deep": {"it": value}})
        assert web.asked("tools/call")[0].headers["mcp-param-it"] == wanted


@requirement("http:client:param-headers:again")
async def test_a_tool_whose_schema_is_not_known_yet_is_looked_up_when_it_refuses() -> None:
    tools = Tools()
    tools.server.add_tool(marked("where", region=REGION), said)
    async with serving(tools.app()) as web, Client("test") as client:
        session = await client.connect(web.url)
        await session.call_tool("where", {"region": "eu"})
        calls = web.asked("tools/call")
        assert [one.headers.get("mcp-param-region") for one in calls] == [None, "eu"]
        assert len(web.asked("tools/list")) == 1


@pytest.mark.parametrize(("scheme", "port"), [("https", 443), ("http", 80)])
def test_a_url_without_a_port_has_the_port_of_its_scheme(scheme: str, port: int) -> None:
    assert origin_of(f"{scheme}://example.com/mcp") == (scheme, "example.com", port)
    assert origin_of(f"{scheme}://example.com:8080/mcp") == (scheme, "example.com", 8080)

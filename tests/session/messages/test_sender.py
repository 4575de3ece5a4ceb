"""RequestSender: typed calls on both sides, and errors for members that the revision lacks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, Context, McpError, RequestTimeout, Server, UsageError
from mcp_gen.compat.recording import RecordingTransport
from mcp_gen.session.duplex.server import ServerConnection
from mcp_gen.transports.memory import memory_pair
from mcp_wire import latest
from mcp_wire.peer_calls import ClientCaller, ServerCaller
from tests.support.frames import every_revision, server_violations, with_handshake
from tests.support.peers.minimal_peers import rows
from tests.support.peers.raw import WAIT_S

WITH_HANDSHAKE = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).handshake]


class Both:
    """A client's session, and the server's at the other end."""

    def __init__(self, server: Server, client: Client, session: ClientSession) -> None:
        self.server = server
        self.client = client
        self.session = session
        self.theirs: list[ServerConnection[Any]] = []


@asynccontextmanager
async def both(revision: str) -> AsyncIterator[Both]:
    """Connect both ends; `asked` records the requests. Every server frame is checked."""
    server = Server("calls")
    theirs: list[ServerConnection[Any]] = []
    server.hooks.session_opened(theirs.append)

    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool
    async def hold() -> None:
        await asyncio.Event().wait()

    ours, end = memory_pair()
    serving = asyncio.get_running_loop().create_task(server.serve(end))
    recorded = RecordingTransport(ours)
    async with Client("calls") as client:
        session = await client.connect(recorded, revision=revision)
        await session.list_tools()
        made = Both(server, client, session)
        made.theirs = theirs
        yield made
    await asyncio.wait_for(serving, WAIT_S)
    assert server_violations(revision, recorded.frames) == []


def public(caller: type) -> dict[str, inspect.Signature]:
    """Return the public calls of a caller class, by name."""
    functions = inspect.getmembers(caller, inspect.isfunction)
    return {name: inspect.signature(call) for name, call in functions if name[0] != "_"}


def calls(revision: str, side: str) -> Any:
    """Return the generated calls of a revision, to compare the public ones with."""
    requests = import_module(f"{mcp_wire.profile(revision).module}.requests")
    return requests.ToServer if side == "server" else requests.ToClient


def arguments(signature: inspect.Signature, *, required: bool) -> list[str]:
    """Return the parameters of a call's message; `meta` and call options are keywords."""
    return [
        name
        for name, parameter in signature.parameters.items()
        if name != "self"
        and parameter.kind is not parameter.KEYWORD_ONLY
        and (parameter.default is parameter.empty) == required
    ]


def peers(both: Both, side: str) -> Any:
    """Return the object that sends requests to `side`."""
    return both.session if side == "server" else both.theirs[0].client


def cases(caller: type, side: str) -> list[tuple[str, str, str]]:
    revisions = mcp_wire.REVISIONS if side == "server" else WITH_HANDSHAKE
    return [(revision, side, name) for revision in revisions for name in public(caller)]


CALLS = [*cases(ServerCaller, "server"), *cases(ClientCaller, "client")]
WISH = "task"
"""Optional parameter that may be ignored: the call gives the same result without it."""
EVERYWHERE = [("server", "set_level")]
"""Calls that a session answers for at every revision, with or without a request."""
LACKED = [
    (rev, side, name)
    for rev, side, name in CALLS
    if not hasattr(calls(rev, side), name) and (side, name) not in EVERYWHERE
]
KNOWN = [(rev, side, name) for rev, side, name in CALLS if hasattr(calls(rev, side), name)]


@pytest.mark.parametrize(("revision", "side", "name"), LACKED)
async def test_a_call_that_the_revision_lacks_is_refused_here(
    revision: str, side: str, name: str
) -> None:
    async with both(revision) as each:
        call = getattr(peers(each, side), name)
        given = dict.fromkeys(arguments(inspect.signature(call), required=True))
        with pytest.raises(UsageError) as caught:
            await call(**given)
    assert revision in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(("revision", "side", "name"), KNOWN)
async def test_an_argument_that_the_revision_lacks_is_refused_here(
    revision: str, side: str, name: str
) -> None:
    caller = ServerCaller if side == "server" else ClientCaller
    takes = inspect.signature(getattr(calls(revision, side), name)).parameters
    signature = public(caller)[name]
    async with both(revision) as each:
        call = getattr(peers(each, side), name)
        for argument in arguments(signature, required=False):
            if argument in takes or argument == WISH:
                continue
            given = dict.fromkeys(arguments(signature, required=True))
            with pytest.raises(UsageError) as caught:
                await call(**given, **{argument: "some"})
            assert revision in str(caught.value)
            assert f"`{argument}`" in str(caught.value)


@pytest.mark.parametrize(("revision", "side", "name"), KNOWN)
async def test_an_argument_that_the_revision_demands_is_asked_for_here(
    revision: str, side: str, name: str
) -> None:
    signature = public(ServerCaller if side == "server" else ClientCaller)[name]
    own = inspect.signature(getattr(calls(revision, side), name))
    async with both(revision) as each:
        given = dict.fromkeys(arguments(signature, required=True))
        for argument in arguments(own, required=True)[:1]:
            with pytest.raises(UsageError) as caught:
                await getattr(peers(each, side), name)(**given)
            assert revision in str(caught.value)
            assert f"`{argument}`" in str(caught.value)


@pytest.mark.parametrize("side", ["server", "client"])
@every_revision
def test_every_message_of_a_revision_has_its_call(revision: str, side: str) -> None:
    """The handshake alone has no public call: the client itself sends it."""
    caller = ServerCaller if side == "server" else ClientCaller
    requests = [*rows(revision, kind="request", to=side)]
    notifications = [*rows(revision, kind="notification", to=side)]
    own = [name for name in vars(calls(revision, side)) if name[0] != "_"]
    assert len(own) == len(requests) + len(notifications)
    assert {*own} - {*public(caller)} <= {"initialize", "notify_initialized"}


# --- on the wire ---


@every_revision
async def test_a_client_calls_and_its_hooks_hear_of_it(revision: str) -> None:
    said: list[Any] = []
    async with both(revision) as each:
        hooks = each.client.hooks.outbound

        @hooks.before_any
        def more(ctx: ClientSession, method: str, params: Any) -> Any:
            said.append((method, ctx is each.session))
            if method == "tools/call":
                return msgspec.structs.replace(params, arguments={"text": "b"})
            return None

        @hooks.after_call_tool
        def louder(ctx: ClientSession, params: Any, result: Any) -> Any:
            block = latest.TextContent(text=result.content[0].text.upper())
            return latest.CallToolResult(content=[block])

        hooks.on_success(lambda ctx, method, params, result: said.append("success"))
        hooks.on_error(lambda ctx, method, params, error: said.append("error"))
        result = await each.session.call_tool("echo", {"text": "a"})
        await each.session.list_tools()
        with pytest.raises(McpError):
            await each.session.call_tool("no such tool")
    assert result.content[0].text == "B"
    call = ("tools/call", True)
    assert said == [call, "success", ("tools/list", True), "success", call, "error"]


@every_revision
async def test_a_clients_call_that_times_out_or_is_cancelled_is_an_error_to_its_hooks(
    revision: str,
) -> None:
    said: list[Any] = []
    told = asyncio.Event()
    async with both(revision) as each:
        each.server.hooks.error_call_tool(lambda ctx, params, error: told.set())
        hooks = each.client.hooks.outbound
        hooks.on_success(lambda ctx, method, params, result: said.append("success"))
        hooks.on_error(lambda ctx, method, params, error: said.append(type(error)))
        hooks.on_cancelled(lambda ctx, params: said.append(("told", ctx is each.session)))
        with pytest.raises(RequestTimeout):
            await each.session.call_tool("hold", timeout_s=0.01)
        await asyncio.wait_for(told.wait(), WAIT_S)
        call = asyncio.ensure_future(each.session.call_tool("hold"))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert said == [("told", True), RequestTimeout, ("told", True), asyncio.CancelledError]


@with_handshake
async def test_a_server_pings_its_client_and_the_hooks_of_both_hear_of_it(revision: str) -> None:
    said: list[Any] = []
    async with both(revision) as each:
        theirs = each.theirs[0]
        each.server.hooks.outbound.before_ping(lambda ctx, _: said.append((ctx is theirs, "asks")))
        each.client.hooks.before_ping(lambda ctx, _: said.append((ctx is each.session, "is asked")))
        each.client.hooks.after_ping(lambda ctx, params, result: said.append("answers"))
        each.server.hooks.outbound.after_ping(lambda ctx, params, result: said.append("hears"))
        await theirs.client.ping()
    assert said == [(True, "asks"), (True, "is asked"), "answers", "hears"]


@with_handshake
async def test_a_tool_asks_its_client_while_it_runs(revision: str) -> None:
    async with both(revision) as each:

        @each.server.tool
        async def alive(ctx: Context) -> str:
            await ctx.session.client.ping()
            return "yes"

        result = await each.session.call_tool("alive")
    assert result.content[0].text == "yes"


@with_handshake
async def test_what_a_client_does_not_offer_it_refuses(revision: str) -> None:
    failed: list[Any] = []
    async with both(revision) as each:
        each.server.hooks.outbound.error_list_roots(lambda ctx, params, error: failed.append(error))
        with pytest.raises(McpError) as caught:
            await each.theirs[0].client.list_roots()
    assert caught.value.code == -32601
    assert failed == [caught.value]


async def test_where_there_is_no_handshake_a_server_has_no_client_to_ask() -> None:
    async with both(mcp_wire.LATEST) as each:
        with pytest.raises(UsageError, match="ask in the result"):
            _ = each.theirs[0].client


@with_handshake
async def test_an_initialized_notification_has_hooks_on_both_sides(revision: str) -> None:
    server, said, heard = Server("initialized"), list[Any](), asyncio.Event()
    server.hooks.on_initialized(lambda ctx, params: (said.append("inbound"), heard.set()))
    async with Client("initialized") as client:
        client.hooks.outbound.on_initialized(lambda ctx, params: said.append("outbound"))
        await client.connect(server, revision=revision)
        await asyncio.wait_for(heard.wait(), WAIT_S)
    assert said == ["outbound", "inbound"]


ROOTS = [
    one for one in WITH_HANDSHAKE if hasattr(calls(one, "server"), "notify_roots_list_changed")
]


@pytest.mark.parametrize("revision", ROOTS)
async def test_a_client_tells_of_other_roots(revision: str) -> None:
    heard = asyncio.Event()
    async with both(revision) as each:
        each.server.hooks.on_roots_list_changed(lambda ctx, params: heard.set())
        await each.session.notify_roots_list_changed()
        await asyncio.wait_for(heard.wait(), WAIT_S)


@with_handshake
async def test_a_server_tells_of_other_tools(revision: str) -> None:
    heard = asyncio.Event()
    async with both(revision) as each:
        each.client.hooks.on_tool_list_changed(lambda ctx, params: heard.set())
        await each.theirs[0].client.notify_tool_list_changed()
        await asyncio.wait_for(heard.wait(), WAIT_S)


# --- params that have several shapes at some revisions ---

ELICITS = [one for one in WITH_HANDSHAKE if hasattr(calls(one, "client"), "elicit")]


@pytest.mark.parametrize("revision", ELICITS)
async def test_a_question_to_the_user_is_asked_with_the_params_of_the_revision(
    revision: str,
) -> None:
    seen: list[Any] = []
    question = latest.ElicitRequestFormParams(
        message="how many?",
        requested_schema=latest.ElicitationSchema(properties={}),
    )
    async with both(revision) as each:
        each.server.hooks.outbound.before_elicit(lambda ctx, params: seen.append(params))
        with pytest.raises(McpError, match="does not offer"):
            await each.theirs[0].client.elicit(question, meta={"com.example/a": 1})
    (params,) = seen
    assert type(params).__module__ == f"mcp_wire.{mcp_wire.profile(revision).module[9:]}.types"
    assert params.message == "how many?"
    assert params.meta == {"com.example/a": 1}


# --- progress ---


@with_handshake
@pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])
async def test_progress_is_what_the_server_reports_of_this_call(revision: str, later: bool) -> None:
    profile = mcp_wire.profile(revision)
    words = profile.progress_message
    async with both(revision) as each:

        @each.server.tool
        async def count(ctx: Context, to: int) -> int:
            assert ctx.meta
            token = ctx.meta[profile.progress_token_key]
            for n in range(to):
                more = {"message": f"{n}"} if words else {}
                client = ctx.session.client
                await client.notify_progress(token, n, to, **more)
            return to

        got: dict[int, list[Any]] = {3: [], 2: []}

        def listener(to: int) -> Any:
            async def report_later(*report: Any) -> None:
                got[to].append(report)

            return report_later if later else lambda *report: got[to].append(report)

        await asyncio.gather(
            *(each.session.call_tool("count", {"to": to}, progress=listener(to)) for to in got)
        )
        await each.session.list_tools()
    for to, reports in got.items():
        assert reports == [(n, to, f"{n}" if words else None) for n in range(to)]


@with_handshake
async def test_a_progress_callback_that_fails_is_logged_and_the_call_goes_on(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with both(revision) as each:

        @each.server.tool
        async def work(ctx: Context) -> str:
            assert ctx.meta
            token = ctx.meta[ctx.profile.progress_token_key]
            await ctx.session.client.notify_progress(token, 1)
            return "done"

        def broken(*report: Any) -> None:
            raise ValueError("the callback is broken")

        result = await each.session.call_tool("work", progress=broken)
    assert result.content[0].text == "done"
    assert "a progress callback failed" in caplog.text


@every_revision
async def test_a_report_reaches_the_call_whose_token_it_has_and_the_hooks(revision: str) -> None:
    """Progress also arrives without a session, where the test is the server."""
    profile = mcp_wire.profile(revision)
    got: list[Any] = []
    ours, theirs = memory_pair()
    async with Client("progress") as client, ReportingServer(revision, theirs):
        client.hooks.on_progress(lambda ctx, params: got.append(("hook", params.progress)))
        session = await client.connect(ours, revision=revision)
        result = await session.call_tool(
            "work", progress=lambda now, total, message: got.append((now, total, message))
        )
        await session.list_tools()
    assert result.content == []
    message = "half" if profile.progress_message else None
    assert got == [(0.5, 1, message), ("hook", 0.5)]


@every_revision
async def test_what_comes_right_behind_the_answer_to_the_opening_is_heard(revision: str) -> None:
    heard: list[Any] = []
    told = asyncio.Event()
    ours, theirs = memory_pair()
    scripted = ReportingServer(revision, theirs, behind_opening=True)
    async with Client("early") as client, scripted:

        def hear(ctx: Any, params: Any) -> None:
            heard.append((ctx, params.data))
            told.set()

        client.hooks.on_logging_message(hear)
        session = await client.connect(ours, revision=revision)
        await asyncio.wait_for(told.wait(), WAIT_S)
        await session.list_tools()
    assert heard == [(session, "early")]
    pinged = [{"jsonrpc": "2.0", "id": "early", "result": {}}] if scripted.profile.ping else []
    assert scripted.answers == pinged


class ReportingServer:
    """Server that reports progress once for each call before it answers."""

    def __init__(self, revision: str, transport: Any, *, behind_opening: bool = False) -> None:
        self.profile = mcp_wire.profile(revision)
        self.answers: list[Any] = []
        self._transport = transport
        self._behind_opening = behind_opening

    async def __aenter__(self) -> None:
        await self._transport.start(self)

    async def __aexit__(self, *error: object) -> None:
        await self._transport.aclose()

    def receive(self, message: bytes) -> None:
        frame = msgspec.json.decode(message)
        if "method" not in frame:
            self.answers.append(frame)
        elif "id" in frame:
            self._answer(frame)

    def _answer(self, frame: Any) -> None:
        if frame["method"] == "tools/call":
            token = frame["params"]["_meta"][self.profile.progress_token_key]
            self._report(token)
        complete = {} if self.profile.handshake else {"resultType": "complete"}
        cached = {} if self.profile.handshake else {"ttlMs": 0, "cacheScope": "private"}
        revision = self.profile.revision
        results = {
            "initialize": {
                "protocolVersion": revision,
                "capabilities": {},
                "serverInfo": {"name": "scripted", "version": "1"},
            },
            "server/discover": {"supportedVersions": [revision], "capabilities": {}, **cached},
            "tools/call": {"content": []},
            "tools/list": {"tools": [], **cached},
        }
        result = {**complete, **results[frame["method"]]}
        self._send({"id": frame["id"], "result": result})
        if self._behind_opening and frame["method"] in ("initialize", "server/discover"):
            params = {"level": "info", "data": "early"}
            self._send({"method": "notifications/message", "params": params})
            if self.profile.ping:
                self._send({"id": "early", "method": "ping"})

    def _report(self, token: Any) -> None:
        words = {"message": "half"} if self.profile.progress_message else {}
        params = {"progressToken": token, "progress": 0.5, "total": 1, **words}
        self._send({"method": "notifications/progress", "params": params})

    def _send(self, frame: dict[str, Any]) -> None:
        self._transport.send(msgspec.json.encode({"jsonrpc": "2.0", **frame}))

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None: ...
    def closed(self, error: BaseException | None) -> None: ...

"""Streams end with the token of their request, in good order: clients go on with a new token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.transports.http_server import legacy_sse
from mcp_gen.transports.http_server import reply as reply_module
from mcp_gen.transports.http_server.app import AsgiApp
from tests.auth.serving.servers import guarded
from tests.support.frames import HANDSHAKE, PER_REQUEST, STREAMABLE, with_sessions
from tests.support.http.asgi import Open
from tests.support.http.gated import FakeGate, GatedClient, access_token, gated_client
from tests.support.peers.raw import WAIT_S

LASTING = access_token("alice")
PRIMING = [one for one in STREAMABLE if mcp_wire.profile(one).primes_streams]
"""Revisions whose streams can be resumed from their beginning."""
UNPRIMED = [
    one
    for one in STREAMABLE
    if mcp_wire.profile(one).handshake and not mcp_wire.profile(one).primes_streams
]


class Work:
    """A server with a tool that lasts until it is told to end."""

    def __init__(self) -> None:
        self.server = Server("working")
        self.go = asyncio.Event()
        self.ended = asyncio.Event()
        self.stubborn = False
        self.server.add_tool(self.work, name="work")

    async def work(self, ctx: Context) -> str:
        await ctx.report_progress(1)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            if not self.stubborn:
                raise
            await self.go.wait()
        finally:
            self.ended.set()
        return "done"


def brief(ends_in_s: float = 0.1) -> AccessToken:
    return access_token("alice", ends_in_s=ends_in_s)


def app_of(server: Server[Any], *tokens: AccessToken, **options: Any) -> AsgiApp:
    gate = FakeGate(LASTING, *tokens, leeway_s=options.pop("leeway_s", 0.0))
    quick = {"sse_after_s": 0.02, "keep_alive_s": 0.02, **options}
    return guarded(server, gate=gate, **quick)


def calling(client: GatedClient, progress: bool) -> bytes:
    """Return a call of `work`, whose stream begins with a message if it reports progress."""
    meta: dict[str, Any] = {"_meta": {"progressToken": 1}} if progress else {}
    return client.speaker.request(9, "tools/call", {"name": "work", **meta})


async def soon(awaitable: Any) -> Any:
    async with asyncio.timeout(WAIT_S):
        return await awaitable


# --- streams without an end of their own ---


@with_sessions
async def test_the_stream_of_a_session_ends_with_its_token(revision: str) -> None:
    token = brief()
    async with gated_client(app_of(Server("quiet"), token), revision, LASTING) as client:
        client.token = token
        stream = client.get()
        await stream.comments(2)
        assert (await stream.whole()).status == 200
        client.token = LASTING
        again = client.get()
        await again.comments(3)
        assert not again.task.done()


async def test_a_stream_lasts_as_long_as_clocks_may_differ() -> None:
    token = brief(-1000)
    app = app_of(Server("quiet"), token, leeway_s=1060)
    async with gated_client(app, HANDSHAKE, LASTING) as client:
        client.token = token
        stream = client.get()
        await stream.comments(8)
        assert not stream.task.done()


async def test_what_comes_in_between_is_sent_on_the_stream_with_the_new_token() -> None:
    server, token = Server("telling"), brief()
    server.add_tool(lambda: "old", name="old")
    async with gated_client(app_of(server, token), HANDSHAKE, LASTING) as client:
        client.token = token
        stream = client.get()
        first = await stream.event()
        await stream.whole()
        server.add_tool(lambda: "new", name="new")
        client.token = LASTING
        again = client.get(last_event_id=str(first.id))
        assert (await soon(again.frame()))["method"] == "notifications/tools/list_changed"


async def test_a_subscription_ends_with_its_result() -> None:
    server, token = Server("telling"), brief()
    server.add_tool(lambda: "old", name="old")
    async with gated_client(app_of(server, token), PER_REQUEST, LASTING) as client:
        client.token = token
        wanted = {"notifications": {"toolsListChanged": True}}
        stream = client.post(client.speaker.request(3, "subscriptions/listen", wanted))
        acknowledged = await stream.frame()
        server.add_tool(lambda: "new", name="new")
        assert (await stream.frame())["method"] == "notifications/tools/list_changed"
        reply = await stream.whole()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    last = reply.events[-1].json
    assert last["id"] == 3
    assert "result" in last


async def test_hooks_and_middleware_see_a_subscription_end_as_at_a_shutdown() -> None:
    server, token = Server("telling"), brief()
    server.add_tool(lambda: "old", name="old")
    ends: list[str] = []

    @server.middleware
    async def watch(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        try:
            result = await call_next(params)
        except asyncio.CancelledError:
            ends.append(f"{method} cancelled")
            raise
        ends.append(method)
        return result

    async with gated_client(app_of(server, token), PER_REQUEST, LASTING) as client:
        client.token = token
        wanted = {"notifications": {"toolsListChanged": True}}
        message = client.speaker.request(3, "subscriptions/listen", wanted)
        await client.post(message).whole()
        assert client.app._watch is not None
    assert ends == ["subscriptions/listen"]


async def test_a_call_over_http_sse_is_answered_before_its_stream_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finished, finish = asyncio.Event(), legacy_sse._SseStream.finish

    def watched(self: Any) -> None:
        finished.set()
        finish(self)

    monkeypatch.setattr(legacy_sse._SseStream, "finish", watched)
    work, token = Work(), brief(0.2)
    async with gated_client(app_of(work.server, token), "2024-11-05", token) as client:
        assert (await client.post_raw(calling(client, progress=False))).status == 202
        await soon(finished.wait())
        work.go.set()
        assert client.stream is not None
        answered = await client.stream.frame()
        assert answered["result"]["content"][0]["text"] == "done"
        await client.stream.ended()


async def test_a_stream_of_http_sse_ends_with_its_token() -> None:
    token = brief(0.2)
    app = app_of(Server("old"), token)
    async with gated_client(app, "2024-11-05", token) as client:
        assert client.stream is not None
        assert not client.stream.task.done()
        await client.stream.ended()
    async with gated_client(app, "2024-11-05", LASTING) as client:
        assert client.stream is not None
        await client.stream.comments(8)
        assert not client.stream.task.done()


# --- responses ---


@pytest.mark.parametrize("progress", [False, True], ids=["silent", "with a message"])
@pytest.mark.parametrize("revision", PRIMING)
async def test_a_running_response_is_resumed_with_a_new_token(
    revision: str, progress: bool
) -> None:
    work, token = Work(), brief()
    async with gated_client(app_of(work.server, token), revision, LASTING) as client:
        client.token = token
        reply = await client.post(calling(client, progress)).whole()
        assert not [one for one in reply.events if one.data and "result" in one.json]
        assert not work.ended.is_set()
        last = [one.id for one in reply.events if one.id][-1]
        client.token = LASTING
        resumed = client.get(last_event_id=str(last))
        await resumed.comments(1)
        work.go.set()
        assert (await soon(resumed.frame()))["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("revision", [*UNPRIMED, PER_REQUEST])
async def test_a_response_that_nobody_can_resume_ends_with_an_error(revision: str) -> None:
    work, token = Work(), brief()
    async with gated_client(app_of(work.server, token), revision, LASTING) as client:
        client.token = token
        reply = await client.post(calling(client, progress=False)).whole()
        error = reply.events[-1].json
        assert error["id"] == 9
        assert error["error"]["message"].startswith("the access token expired before")
        await soon(work.ended.wait())


@pytest.mark.parametrize("revision", UNPRIMED)
async def test_a_response_with_an_event_id_is_resumed_at_earlier_revisions_too(
    revision: str,
) -> None:
    work, token = Work(), brief()
    async with gated_client(app_of(work.server, token), revision, LASTING) as client:
        client.token = token
        reply = await client.post(calling(client, progress=True)).whole()
        last = [one.id for one in reply.events if one.id][-1]
        assert not work.ended.is_set()
        client.token = LASTING
        resumed = client.get(last_event_id=str(last))
        await resumed.comments(1)
        work.go.set()
        assert (await soon(resumed.frame()))["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("revision", [HANDSHAKE])
async def test_without_sessions_a_response_ends_with_an_error(revision: str) -> None:
    work, token = Work(), brief()
    client = GatedClient(app_of(work.server, token, stateless=True), revision, token)
    reply = await client.post(calling(client, progress=True)).whole()
    error = reply.events[-1].json
    assert error["error"]["message"].startswith("the access token expired before")
    await soon(work.ended.wait())


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_a_response_whose_token_is_valid_ends_with_its_result(revision: str) -> None:
    work, token = Work(), brief(60)
    async with gated_client(app_of(work.server, token), revision, LASTING) as client:
        client.token = token
        running: Open = client.post(calling(client, progress=True))
        await running.comments(8)
        work.go.set()
        reply = await running.whole()
    assert reply.events[-1].json["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_an_answer_that_is_no_stream_is_still_given(revision: str) -> None:
    work, token = Work(), brief(-1)
    app = app_of(work.server, token, json_only=True)
    async with gated_client(app, revision, LASTING) as client:
        client.token = token
        running = client.post(calling(client, progress=False))
        await running.watched()
        work.go.set()
        assert (await running.whole()).json["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize("stateless", [False, True], ids=["sessions", "no sessions"])
async def test_a_stream_ends_also_if_its_handler_does_not(
    stateless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_module, "EXPIRY_GRACE_S", 0.05)
    work, token = Work(), brief()
    work.stubborn = True
    revision = HANDSHAKE if stateless else PER_REQUEST
    client = GatedClient(app_of(work.server, token, stateless=stateless), revision, token)
    running = client.post(calling(client, progress=True))

    def is_over() -> bool:
        return bool(running.sent) and running.sent[-1].get("more_body") is False

    await soon(_until(running, is_over))
    assert not work.ended.is_set()
    work.go.set()
    await running.ended()
    assert running.so_far is not None
    assert b"done" not in running.so_far.body


async def _until(running: Open, claim: Callable[[], bool]) -> None:
    while not claim():
        running._news.clear()
        await running._news.wait()

"""Limits: request timeout, concurrent requests, depth and size."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen import RequestTimeout, Server, UsageError
from mcp_gen.core.transport.headers import Headers
from mcp_gen.session.kernel.limits import time_limit
from tests.support.frames import (
    HANDSHAKE,
    PER_REQUEST,
    STREAMABLE,
    Speaker,
    each_lifecycle,
    encoded,
    every_revision,
    with_batches,
    with_handshake,
    with_sessions,
)
from tests.support.http import asgi
from tests.support.peers.raw import WAIT_S, talking
from tests.support.processes.child import feed

SHORT_S = 0.02


class Held:
    """Server whose tool `hold` waits for its release; `began` is set at its start.

    `cancelled` counts the cancelled calls.
    """

    def __init__(self, **options: Any) -> None:
        self.server = Server("held", **options)
        self.released = asyncio.Event()
        self.cancelled = 0
        self.began = asyncio.Semaphore(0)

        @self.server.tool
        async def hold() -> str:
            self.began.release()
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return "released"

        @self.server.tool
        async def quick() -> str:
            return "done"


# --- request timeouts ---


@every_revision
async def test_a_request_that_takes_too_long_is_stopped_and_answered_with_an_error(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held(request_timeout_s=SHORT_S)
    async with talking(held.server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "hold"))
        assert answer["error"] == {
            "code": -32603,
            "message": f"tools/call: not done in {SHORT_S} s, and stopped",
        }
    assert held.cancelled == 1
    assert "Traceback" not in caplog.text


@every_revision
async def test_a_request_in_time_is_answered_as_ever(revision: str) -> None:
    async with talking(Held(request_timeout_s=WAIT_S).server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "quick"))
        assert answer["result"]["content"][0]["text"] == "done"


@every_revision
async def test_the_limit_holds_for_middleware_and_hooks_too(revision: str) -> None:
    held = Held(request_timeout_s=SHORT_S)

    @held.server.middleware
    async def dawdle(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/call":
            await held.released.wait()
        return await call_next(params)

    async with talking(held.server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "quick"))
        assert "not done in" in answer["error"]["message"]


@every_revision
async def test_a_cancelled_request_of_a_server_with_a_limit_gets_no_answer(revision: str) -> None:
    held = Held(request_timeout_s=WAIT_S)
    async with talking(held.server, revision) as client:
        client.send(client.speaker.call(1, "hold"))
        await client.ask(client.speaker.call(2, "quick"))
        client.send(client.speaker.cancel(1))
        await client.ask(client.speaker.call(3, "quick"))
        await client.ask(client.speaker.call(4, "quick"))
        assert client.came == []
    assert held.cancelled == 1


async def test_a_request_over_http_is_stopped_too() -> None:
    held = Held(request_timeout_s=SHORT_S)
    speaker = Speaker(PER_REQUEST)
    message = speaker.call(1, "hold")
    reply = await asgi.request(held.server.asgi(), message, asgi.headers_of(speaker, message))
    assert "not done in" in reply.json["error"]["message"]


async def test_time_that_is_over_is_an_error_and_what_was_awaited_is_cancelled() -> None:
    said = r"waiting: not done in 0\.02 s, and stopped"
    with pytest.raises(RequestTimeout, match=said), time_limit(SHORT_S, "waiting"):
        await asyncio.Event().wait()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_cancellation_inside_of_a_limit_stays_one() -> None:
    async def limited() -> None:
        with time_limit(WAIT_S, "waiting"):
            began.set()
            await asyncio.Event().wait()

    began = asyncio.Event()
    task = asyncio.create_task(limited())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_and_the_end_of_the_time_at_once_are_a_cancellation() -> None:
    async def limited() -> None:
        with time_limit(SHORT_S, "waiting"):
            loop.call_later(SHORT_S, task.cancel)
            await asyncio.Event().wait()

    loop = asyncio.get_running_loop()
    task = loop.create_task(limited())
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_limits_can_be_nested_and_the_outer_one_ends_both() -> None:
    outer, inner = time_limit(SHORT_S, "outer"), time_limit(WAIT_S, "inner")
    with pytest.raises(RequestTimeout, match="outer"), outer, inner:
        await asyncio.Event().wait()


async def test_the_inner_of_nested_limits_leaves_the_outer_alone() -> None:
    with time_limit(WAIT_S, "outer"):
        with pytest.raises(RequestTimeout, match="inner"), time_limit(SHORT_S, "inner"):
            await asyncio.Event().wait()
        await asyncio.sleep(0)


async def test_what_is_done_in_time_is_not_cancelled_later() -> None:
    later = asyncio.Event()
    asyncio.get_running_loop().call_later(2 * SHORT_S, later.set)
    with time_limit(SHORT_S, "quick"):
        pass
    await later.wait()


def test_a_limit_needs_a_task() -> None:
    async def enter() -> None:
        try:
            time_limit(1, "no task").__enter__()
        except UsageError as error:
            refused.set_result(str(error))

    loop = asyncio.new_event_loop()
    refused: asyncio.Future[str] = loop.create_future()

    def step() -> None:
        with pytest.raises(StopIteration):
            enter().send(None)

    loop.call_soon(step)
    assert "expected to be in a task" in loop.run_until_complete(refused)
    loop.close()


# --- concurrency limits ---


@every_revision
async def test_one_request_too_many_is_refused_at_once(revision: str) -> None:
    held = Held(max_concurrent_requests=2)
    async with talking(held.server, revision) as client:
        client.send(client.speaker.call(1, "hold"), client.speaker.call(2, "hold"))
        answer = await client.ask(client.speaker.call(3, "quick"))
        assert answer["error"]["code"] == -32600
        assert answer["error"]["message"].startswith("2 requests are open, as many as")
        held.released.set()
        assert "result" in await client.answer(1)
        assert "result" in await client.answer(2)
        assert "result" in await client.ask(client.speaker.call(4, "quick"))


@every_revision
async def test_a_cancelled_request_makes_room(revision: str) -> None:
    held = Held(max_concurrent_requests=1)
    async with talking(held.server, revision) as client:
        client.send(client.speaker.call(1, "hold"))
        assert "error" in await client.ask(client.speaker.call(2, "quick"))
        client.send(client.speaker.cancel(1))
        # The handler is cancelled in the next turn of the loop, and ends in the one after.
        for id in range(3, 20):
            if "result" in await client.ask(client.speaker.call(id, "quick")):
                break
        else:
            pytest.fail("there was never room")


@every_revision
async def test_each_session_has_a_share_of_its_own(revision: str) -> None:
    held = Held(max_concurrent_requests=1)
    async with talking(held.server, revision) as one, talking(held.server, revision) as other:
        one.send(one.speaker.call(1, "hold"))
        assert "result" in await other.ask(other.speaker.call(1, "quick"))
        held.released.set()
        await one.answer(1)


@with_handshake
async def test_a_ping_is_answered_however_many_are_open(revision: str) -> None:
    held = Held(max_concurrent_requests=1)
    async with talking(held.server, revision) as client:
        client.send(client.speaker.call(1, "hold"))
        assert (await client.ask(client.speaker.request(2, "ping")))["result"] == {}
        held.released.set()
        await client.answer(1)


@with_batches
async def test_a_batch_of_too_many_is_answered_with_results_and_refusals(revision: str) -> None:
    held = Held(max_concurrent_requests=2)
    async with talking(held.server, revision) as client:
        client.send(b"[" + b",".join(client.speaker.call(id, "quick") for id in range(3)) + b"]")
        answers = {one["id"]: one for one in await client.next()}
        assert ["result" in answers[id] for id in range(3)] == [True, True, False]


@with_sessions
async def test_a_session_over_http_has_as_many_requests_open_as_one_over_a_pipe(
    revision: str,
) -> None:
    held = Held(max_concurrent_requests=1)
    app, speaker = held.server.asgi(), Speaker(revision)
    session = await asgi.begin(app, speaker)
    waiting = asyncio.create_task(asgi.request(app, speaker.call(1, "hold"), session))
    await asyncio.sleep(0)
    refused = await asgi.request(app, speaker.call(2, "quick"), session)
    assert "1 requests are open" in refused.json["error"]["message"]
    assert (await asgi.request(app, speaker.request(3, "ping"), session)).json["result"] == {}
    held.released.set()
    assert (await waiting).status == 200


@pytest.mark.parametrize(
    ("revision", "stateless"), [(PER_REQUEST, False), *((one, True) for one in STREAMABLE)]
)
async def test_without_sessions_each_principal_has_its_share(
    revision: str, stateless: bool
) -> None:
    held = Held(max_concurrent_requests=1)
    app = held.server.asgi(
        stateless=stateless, principal=lambda scope: Headers(scope["headers"]).get("x-who")
    )
    speaker = Speaker(revision)

    def post(message: bytes, who: str | None) -> asgi.Open:
        return asgi.open_request(
            app, message, {**asgi.headers_of(speaker, message), **({"x-who": who} if who else {})}
        )

    async def result(message: bytes, who: str | None = None) -> Any:
        return (await post(message, who).whole()).json.get("result")

    async with asyncio.timeout(WAIT_S):
        waiting = [post(speaker.call(1, "hold"), who) for who in ("ann", None)]
        for _ in waiting:
            await held.began.acquire()
        assert await result(speaker.call(2, "quick"), "ann") is None
        assert await result(speaker.call(2, "quick")) is None
        assert await result(speaker.call(2, "quick"), "bob")
        held.released.set()
        assert [(await one.whole()).status for one in waiting] == [200, 200]
        assert await result(speaker.call(3, "quick"), "ann")
        assert await result(speaker.call(3, "quick"))


# --- size and depth limits ---

SMALL = {"max_message_bytes": 1000}


@pytest.mark.parametrize("revision", [HANDSHAKE])
def test_a_message_that_is_too_large_is_refused_and_the_next_is_answered(revision: str) -> None:
    speaker = Speaker(revision)
    large = speaker.call(1, "echo", text="x" * 2000)
    ran = feed([*speaker.opening, large, speaker.call(2, "echo", text="y")], server=SMALL)
    refused = next(one for one in ran.frames if "error" in one)
    assert refused["error"]["message"] == "a message may have at most 1000 bytes"
    assert "result" in ran.answer(2)


async def test_a_body_that_is_too_large_is_refused_over_http() -> None:
    app = Server("small", max_message_bytes=1000).asgi()
    speaker = Speaker(HANDSHAKE)
    assert (await asgi.request(app, speaker.call(1, "echo", text="x" * 2000))).status == 413


@every_revision
async def test_what_is_nested_too_deeply_to_read_is_refused_with_its_id(revision: str) -> None:
    deep: Any = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":'
    deep += b'{"a":' * 100_000 + b"1" + b"}" * 100_001
    async with talking(Server("deep"), revision) as client:
        client.send(deep)
        error = (await client.answer(1))["error"]
    told = "a message may be nested at most 500 levels deep"
    assert error == {"code": -32600, "message": told}


# --- idle timeouts ---


async def asked(client: Any) -> Any:
    """Return the next request of the server."""
    return await client.take(lambda frame: "method" in frame and "id" in frame)


@with_handshake
async def test_a_client_is_asked_again_and_again_whether_it_is_there(revision: str) -> None:
    server = Server("alive", keep_alive_s=SHORT_S)
    async with talking(server, revision) as client:
        for _ in range(3):
            ping = await asked(client)
            assert ping["method"] == "ping"
            client.send(encoded({"jsonrpc": "2.0", "id": ping["id"], "result": {}}))
        assert len(server.sessions()) == 1


@with_handshake
async def test_a_client_that_answers_with_an_error_is_there(revision: str) -> None:
    server = Server("alive", keep_alive_s=SHORT_S, keep_alive_timeout_s=WAIT_S)
    async with talking(server, revision) as client:
        for _ in range(2):
            ping = await asked(client)
            error = {"code": -32601, "message": "what?"}
            client.send(encoded({"jsonrpc": "2.0", "id": ping["id"], "error": error}))


@with_handshake
async def test_the_session_of_a_silent_client_is_ended(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("alive", keep_alive_s=SHORT_S, keep_alive_timeout_s=SHORT_S)
    closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server.hooks.session_closed(lambda session: closed.set_result(session.id))
    async with talking(server, revision) as client:
        assert (await asked(client))["method"] == "ping"
        id = await asyncio.wait_for(closed, WAIT_S)
        assert server.sessions() == []
    assert f"session {id[:8]}...: the client is silent" in caplog.text


@with_sessions
async def test_over_http_a_client_is_asked_on_the_stream_that_it_keeps_open(revision: str) -> None:
    server = Server("alive", keep_alive_s=SHORT_S, keep_alive_timeout_s=WAIT_S)
    async with asgi.surfing(server.asgi(), revision) as client:
        listening = client.get()
        for _ in range(2):
            ping = await listening.frame()
            assert ping["method"] == "ping"
            await client.answer(ping, {})
        assert len(server.sessions()) == 1


@with_sessions
async def test_over_http_a_silent_session_is_ended_and_its_stream_with_it(revision: str) -> None:
    server = Server("alive", keep_alive_s=SHORT_S, keep_alive_timeout_s=SHORT_S)
    async with asgi.surfing(server.asgi(), revision) as client:
        listening = client.get()
        assert (await listening.frame())["method"] == "ping"
        await listening.whole()
        assert (await client.ask(client.speaker.request(1, "ping"))).status == 404


@with_sessions
async def test_over_http_a_client_without_a_stream_is_not_asked(revision: str) -> None:
    server = Server("alive", keep_alive_s=SHORT_S, keep_alive_timeout_s=WAIT_S)
    async with asgi.surfing(server.asgi(), revision) as client:
        (session,) = server.sessions()
        was_asked = asyncio.Event()
        server.hooks.outbound.before_ping(lambda ctx, params: was_asked.set())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(was_asked.wait(), 3 * SHORT_S)
        assert session in server.sessions()
        client.get()
        await asyncio.wait_for(was_asked.wait(), WAIT_S)


def asking_tasks() -> list[str]:
    """Return the keep-alive tasks of this test."""
    tasks = map(repr, asyncio.all_tasks())
    return [task for task in tasks if "coro=<keep_alive()" in task]


@each_lifecycle
@pytest.mark.parametrize("every_s", [None, WAIT_S])
async def test_only_a_client_whose_revision_has_pings_is_asked_and_only_if_wanted(
    revision: str, every_s: float | None
) -> None:
    held = Held(keep_alive_s=every_s)
    async with talking(held.server, revision) as client:
        await client.ask(client.speaker.call(1, "quick"))
        wanted = every_s is not None and client.speaker.profile.ping is not None
        assert len(asking_tasks()) == int(wanted)
    assert asking_tasks() == []


# --- invalid limits ---


@pytest.mark.parametrize(
    "option",
    ["request_timeout_s", "max_concurrent_requests", "keep_alive_s", "keep_alive_timeout_s"],
)
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_limit_of_nothing_is_refused(option: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"{option}={value}: expected more than 0"):
        Server("limits", **{option: value})

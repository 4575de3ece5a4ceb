"""SSE responses at revisions without sessions, and disconnects."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen import Context, McpError, Server
from mcp_gen.server.context.context import origin_of
from mcp_gen.transports.http_server.reply import ENOUGH_BYTES, FULL_BYTES
from tests.support.frames import PER_REQUEST, Speaker
from tests.support.http.asgi import Open, Reply, WebClient, surfing
from tests.support.peers.raw import WAIT_S
from tests.support.peers.talker import Talker, soon
from tests.support.requirement import requirement

PEER = Speaker(PER_REQUEST)
ERRORS = PEER.profile.errors
SOON_S = 5.0
WORDS = ["one", "two", "three"]


def said(reply: Reply) -> list[Any]:
    """Return the log messages of a stream, and True if it ended in a response."""
    frames = [event.json for event in reply.events if event.data]
    return [frame["params"]["data"] if "params" in frame else "result" in frame for frame in frames]


@requirement("http:answer-type")
async def test_an_answer_with_nothing_before_it_is_json(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        reply = await client.ask(client.speaker.call(1, "echo", text="a"))
    assert reply.headers["content-type"] == "application/json"
    assert reply.json["id"] == 1


@requirement(
    "http:answer-type", "http:stream:answers", "http:stream:not-before-answer", "http:stream:closed"
)
async def test_what_is_said_before_the_answer_makes_it_a_stream_that_ends_with_it(
    revision: str,
) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        reply = await client.ask(client.speaker.call(1, "say", words=WORDS))
    assert (reply.status, said(reply)) == (200, [*WORDS, True])


@requirement("http:stream:related", "http:stream:related-only")
async def test_what_comes_before_an_answer_belongs_to_its_request(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        calls = [
            client.speaker.call(id, "wait", say=word, then=word) for id, word in enumerate(WORDS)
        ]
        opened = [client.post(call) for call in calls]
        for one in opened:
            await one.frame()
        talker.server.notify.tool_list_changed()
        talker.go_on.set()
        replies = [await one.whole() for one in opened]
    assert [said(reply) for reply in replies] == [[word, word, True] for word in WORDS]


@requirement("http:stream:unbuffered")
async def test_a_stream_may_not_be_held_back_or_kept() -> None:
    async with surfing(Talker().server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.call(1, "say", words=WORDS))
    assert reply.headers["x-accel-buffering"] == "no"
    assert "no-cache" in reply.headers["cache-control"]


async def test_events_have_no_ids_where_nobody_can_come_back() -> None:
    async with surfing(Talker().server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.call(1, "say", words=WORDS))
    assert [event.id for event in reply.events] == [None] * 4


async def test_what_is_said_arrives_before_the_answer_is_made() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "wait", say="now"))
        assert (await opened.frame())["params"]["data"] == "now"
        assert not talker.ended.is_set()
        talker.go_on.set()
        assert (await opened.frame())["id"] == 1


async def test_what_is_said_in_one_turn_goes_out_in_one_piece() -> None:
    async with surfing(Talker().server.asgi(), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "say", words=WORDS))
        await opened.whole()
    assert len(opened.sent) == 2


@pytest.mark.parametrize(
    "accept", ["application/json", "application/*", "text/event-stream;q=0, */*;q=0.5"]
)
async def test_a_client_that_takes_no_stream_gets_the_answer_alone(accept: str) -> None:
    async with surfing(Talker().server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.call(1, "say", words=WORDS), accept=accept)
    assert reply.headers["content-type"] == "application/json"


async def test_a_server_may_answer_with_json_only() -> None:
    async with surfing(Talker().server.asgi(json_only=True), PER_REQUEST) as client:
        spoken = await client.ask(PEER.call(1, "say", words=WORDS))
        wanted = await client.ask(PEER.call(2, "echo", text="a"), accept="text/event-stream")
    for reply in (spoken, wanted):
        assert reply.headers["content-type"] == "application/json"


async def test_a_client_that_takes_only_streams_gets_one() -> None:
    async with surfing(Talker().server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.call(1, "echo", text="a"), accept="text/event-stream")
    assert said(reply) == [True]


async def test_an_error_before_anything_is_said_has_its_status_whatever_the_client_takes() -> None:
    async with surfing(Talker().server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.request(1, "no/such"), accept="text/event-stream")
    assert (reply.status, reply.headers["content-type"]) == (404, "application/json")


async def test_json_with_line_ends_is_one_event() -> None:
    server = Server("pretty")

    @server.tool
    async def pretty(ctx: Context) -> str:
        await ctx.client.notify_logging_message("info", "a\nb")
        return "c\r\nd"

    async with surfing(server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.call(1, "pretty"))
    assert said(reply) == ["a\nb", True]


async def test_a_slow_answer_becomes_a_stream_that_shows_signs_of_life() -> None:
    talker = Talker()
    app = talker.server.asgi(sse_after_s=0.01, keep_alive_s=0.01)
    async with surfing(app, PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "wait"))
        await opened.comments(3)
        talker.go_on.set()
        reply = await opened.whole()
    assert said(reply) == [True]


async def test_a_stream_shows_signs_of_life_before_a_slow_answer_would_become_one() -> None:
    talker = Talker()
    app = talker.server.asgi(sse_after_s=3600, keep_alive_s=0.01)
    async with surfing(app, PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "wait", say="now"))
        await asyncio.wait_for(opened.comments(1), SOON_S)
        talker.go_on.set()
        reply = await opened.whole()
    assert said(reply) == ["now", True]


async def test_a_stream_with_an_event_needs_no_sign_of_life_when_its_watch_begins() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "wait", say="now"))
        await opened.frame()
        await opened.watched()
        talker.go_on.set()
        reply = await opened.whole()
    assert b":\n\n" not in reply.body


async def test_a_client_that_takes_no_stream_waits_as_long_as_it_takes() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(sse_after_s=0.001), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "wait"), accept="application/json")
        await opened.watched()
        talker.go_on.set()
        reply = await opened.whole()
    assert reply.headers["content-type"] == "application/json"


# --- errors of handlers ---


@requirement("http:status-400")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ERRORS.missing_required_client_capability, 400),
        (ERRORS.header_mismatch, 400),
        (ERRORS.method_not_found, 404),
        (ERRORS.invalid_params, 200),
        (ERRORS.internal_error, 200),
        (-31000, 200),
    ],
)
async def test_an_error_of_a_handler_has_the_status_of_its_code(code: int, status: int) -> None:
    server = Server("failing")

    @server.tool
    async def fail() -> None:
        raise McpError(code, "no", {"requiredCapabilities": {"sampling": {}}})

    async with surfing(server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.call(1, "fail"))
    assert (reply.status, reply.json["error"]["code"]) == (status, code)


async def test_an_error_after_something_was_said_is_the_last_event() -> None:
    server = Server("failing")

    @server.tool
    async def fail(ctx: Context) -> None:
        await ctx.client.notify_logging_message("info", "soon")
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise McpError(ERRORS.missing_required_client_capability, "no", needed)

    async with surfing(server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.call(1, "fail"))
    assert (reply.status, said(reply)) == (200, ["soon", False])


@requirement("http:stream:no-requests")
async def test_the_client_cannot_be_asked_on_its_own_stream() -> None:
    server = Server("asking")

    @server.tool
    async def ask(ctx: Context) -> str:
        profile = ctx.profile
        try:
            await origin_of(ctx).channel.request(profile.listen, None)
        except Exception as error:
            return type(error).__name__
        return "asked"

    async with surfing(server.asgi(), PER_REQUEST) as client:
        reply = await client.ask(PEER.call(1, "ask"))
    assert reply.json["result"]["content"][0]["text"] == "TransportError"


async def test_what_is_said_after_the_answer_is_not_sent() -> None:
    server = Server("late")
    late: list[Context] = []

    @server.tool
    async def keep(ctx: Context) -> str:
        late.append(ctx)
        return "kept"

    async with surfing(server.asgi(), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "keep"))
        await opened.whole()
        await late[0].client.notify_logging_message("info", "late")
        await asyncio.sleep(0)
        assert len(opened.sent) == 2
        assert not origin_of(late[0]).channel.answers(1)


# --- clients that disconnect ---


async def hang_up_while_waiting(client: WebClient, talker: Talker, **arguments: str) -> Open:
    opened = client.post(PEER.call(1, "wait", **arguments))
    await soon(talker.began)
    opened.hang_up()
    await soon(talker.ended)
    await asyncio.wait([opened.task], timeout=WAIT_S)
    return opened


@requirement("cancellation:http-disconnect", "cancellation:http-stops")
@pytest.mark.parametrize("arguments", [{}, {"say": "now"}])
async def test_a_client_that_hangs_up_cancels_its_request(arguments: dict[str, str]) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = await hang_up_while_waiting(client, talker, **arguments)
    assert isinstance(talker.seen, asyncio.CancelledError)
    assert opened.task.exception() is None


@requirement("cancellation:http-stops")
async def test_a_client_that_has_hung_up_is_sent_nothing_more() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = await hang_up_while_waiting(client, talker)
    assert opened.sent == []


async def test_hooks_hear_of_a_request_that_ended_with_its_connection() -> None:
    talker, heard = Talker(), list[type[BaseException]]()
    talker.server.hooks.error_call_tool(lambda ctx, params, error: heard.append(type(error)))
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        await hang_up_while_waiting(client, talker)
    assert heard == [asyncio.CancelledError]


async def test_a_handler_that_goes_on_when_its_client_has_gone_is_not_answered() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "stubborn"))
        await soon(talker.began)
        opened.hang_up()
        await soon(talker.ended)
        await asyncio.wait([opened.task], timeout=WAIT_S)
    assert opened.sent == []
    assert opened.task.exception() is None


async def test_other_requests_go_on_when_one_client_hangs_up() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        other = client.post(PEER.call(2, "wait"))
        await soon(talker.began)
        talker.began.clear()
        await hang_up_while_waiting(client, talker)
        assert not other.task.done()
        talker.go_on.set()
        assert (await other.whole()).json["id"] == 2


async def test_a_short_request_is_not_watched() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "wait"))
        await soon(talker.began)
        tasks = asyncio.all_tasks()
        talker.go_on.set()
        await opened.whole()
    # The tasks of this test and of the request.
    assert len(tasks) == 2


# --- clients that do not read ---


async def test_a_handler_that_waits_for_its_client_to_read_does_not_run_ahead() -> None:
    talker, word = Talker(), "x" * 10_000
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "say_slowly", words=[word] * 100))
        opened.reading.clear()
        await opened.watched()
        assert talker.said * len(word) < 2 * ENOUGH_BYTES
        opened.reading.set()
        reply = await opened.whole()
    assert said(reply) == [word] * 100 + [True]


async def test_a_client_that_does_not_read_loses_what_is_said_but_not_its_answer() -> None:
    talker, word = Talker(), "x" * 100_000
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = client.post(PEER.call(1, "say", words=[word] * 100))
        opened.reading.clear()
        await soon(talker.ended)
        opened.reading.set()
        reply = await opened.whole()
    assert said(reply)[-1] is True
    assert len(reply.body) < 2 * FULL_BYTES


async def test_nothing_more_is_said_to_a_client_for_which_a_megabyte_waits() -> None:
    async with surfing(Talker().server.asgi(), PER_REQUEST) as client:
        empty = await client.ask(PEER.call(1, "say", words=[""]))
        frame_bytes = empty.body.index(b"\n\n") + 2
        word = "x" * (FULL_BYTES - frame_bytes)
        talker = Talker()
        client.app = talker.server.asgi()
        opened = client.post(PEER.call(1, "say", words=[word, "more"]))
        opened.reading.clear()
        await soon(talker.ended)
        opened.reading.set()
        reply = await opened.whole()
    assert [len(str(one)) for one in said(reply)] == [len(word), len("True")]

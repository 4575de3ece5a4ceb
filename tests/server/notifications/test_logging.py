"""Log messages: sent within their request to clients with that log level."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

import mcp_wire
from mcp_gen import Context, Server, UsageError
from mcp_gen.server.notifications.log_handler import ClientLogHandler
from mcp_gen.session.peer.log_levels import level_name
from mcp_gen.transports.memory import memory_pair
from mcp_wire import latest
from tests.support.frames import ALL, HANDSHAKE, Speaker, every_revision, with_handshake
from tests.support.peers.raw import WAIT_S, RawClient, talking

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
KEY = "io.modelcontextprotocol/logLevel"
with_requests_alone = pytest.mark.parametrize(
    "revision", [one for one in ALL if mcp_wire.profile(one).log_level_key]
)


def a_server(**options: Any) -> Server:
    """Return a server with a tool that logs."""
    server = Server("logs", **options)

    @server.tool
    async def say(ctx: Context, level: str) -> None:
        await ctx.log(level, f"at {level}")

    @server.tool
    async def say_all(ctx: Context) -> None:
        for level in LEVELS:
            await ctx.log(level, level)

    return server


def calls(
    client: RawClient, id: int, tool: str, heard: str | None = "debug", **given: Any
) -> bytes:
    """Return a call of a client with a log level, named per request where the revision does so."""
    meta = {KEY: heard} if heard and client.speaker.profile.log_level_key else {}
    params = {"name": tool, "arguments": given, "_meta": meta}
    return client.speaker.request(id, "tools/call", params)


def logged(client: RawClient) -> list[Any]:
    """Return the params of the log messages received."""
    return [one["params"] for one in client.came if one.get("method") == "notifications/message"]


async def set_level(client: RawClient, level: str) -> Any:
    return await client.ask(client.speaker.request("level", "logging/setLevel", {"level": level}))


@every_revision
@pytest.mark.parametrize("level", LEVELS)
async def test_a_message_has_its_level_its_data_and_its_logger(revision: str, level: str) -> None:
    server = Server("logs")

    @server.tool
    async def say(ctx: Context) -> None:
        await ctx.log(level, {"n": [1, None, "é"]}, logger="stock")

    async with talking(server, revision) as client:
        await client.ask(calls(client, 1, "say"))
        assert logged(client) == [
            {"level": level, "data": {"n": [1, None, "é"]}, "logger": "stock"}
        ]


@every_revision
async def test_the_levels_are_those_of_the_revision(revision: str) -> None:
    methods = __import__(f"{mcp_wire.profile(revision).module}.methods", fromlist=["x"])
    assert list(methods.LOGGING_LEVELS) == LEVELS


@every_revision
async def test_messages_come_before_the_answer_and_in_order(revision: str) -> None:
    async with talking(a_server(), revision) as client:
        client.send(calls(client, 1, "say_all"))
        said = [(await client.next())["params"]["data"] for _ in LEVELS]
        assert (said, (await client.next())["id"]) == (LEVELS, 1)


@every_revision
async def test_a_handler_that_does_nothing_but_log_can_be_cancelled(revision: str) -> None:
    server, ended = Server("busy"), asyncio.Event()

    @server.tool
    async def say(ctx: Context) -> None:
        try:
            while True:
                await ctx.log("info", "still here")
        finally:
            ended.set()

    async with talking(server, revision) as client:
        client.send(calls(client, 1, "say"))
        await client.next()
        client.send(client.speaker.cancel(1))
        await asyncio.wait_for(ended.wait(), WAIT_S)


@with_handshake
async def test_before_a_level_is_set_every_message_is_sent(revision: str) -> None:
    async with talking(a_server(), revision) as client:
        await client.ask(calls(client, 1, "say_all"))
        assert [one["level"] for one in logged(client)] == LEVELS


@with_handshake
@pytest.mark.parametrize("least", LEVELS)
async def test_a_level_that_is_set_leaves_out_what_is_less_severe(
    revision: str, least: str
) -> None:
    async with talking(a_server(), revision) as client:
        assert (await set_level(client, least))["result"] == {}
        await client.ask(calls(client, 1, "say_all"))
        assert [one["level"] for one in logged(client)] == LEVELS[LEVELS.index(least) :]


@with_handshake
async def test_a_level_is_set_for_one_session_alone(revision: str) -> None:
    server = a_server()
    async with talking(server, revision) as quiet, talking(server, revision) as other:
        await set_level(quiet, "emergency")
        await other.ask(calls(other, 1, "say", level="info"))
        assert [one["level"] for one in logged(other)] == ["info"]


@with_handshake
@pytest.mark.parametrize("level", ["loud", "DEBUG", 5, None])
async def test_an_unknown_level_cannot_be_set(revision: str, level: Any) -> None:
    async with talking(a_server(), revision) as client:
        assert (await set_level(client, level))["error"]["code"] == -32602


@with_requests_alone
async def test_a_request_that_names_no_level_is_sent_no_message(revision: str) -> None:
    async with talking(a_server(), revision) as client:
        await client.ask(calls(client, 1, "say_all", heard=None))
        assert logged(client) == []


@with_requests_alone
@pytest.mark.parametrize("least", LEVELS)
async def test_a_request_is_sent_what_is_as_severe_as_the_level_it_names(
    revision: str, least: str
) -> None:
    async with talking(a_server(), revision) as client:
        await client.ask(calls(client, 1, "say_all", heard=least))
        assert [one["level"] for one in logged(client)] == LEVELS[LEVELS.index(least) :]


@with_requests_alone
async def test_a_level_that_one_request_names_says_nothing_of_the_next(revision: str) -> None:
    async with talking(a_server(), revision) as client:
        await client.ask(calls(client, 1, "say", level="error"))
        await client.ask(calls(client, 2, "say", heard=None, level="alert"))
        assert [one["level"] for one in logged(client)] == ["error"]


@with_requests_alone
async def test_a_hook_of_a_notification_can_log_to_nobody(revision: str) -> None:
    server, logs = a_server(), asyncio.Event()

    @server.hooks.on_cancelled
    async def hook(ctx: Context, params: Any) -> None:
        await ctx.log("alert", "a notification names no level")
        logs.set()

    async with talking(server, revision) as client:
        await client.ask(client.speaker.request(1, "tools/list"))
        client.send(client.speaker.cancel(5))
        await asyncio.wait_for(logs.wait(), WAIT_S)
        await client.ask(client.speaker.request(2, "tools/list"))
        assert logged(client) == []


@with_requests_alone
@pytest.mark.parametrize("level", ["loud", "DEBUG", 5, None, ["info"]])
async def test_a_request_that_names_an_unknown_level_has_invalid_params(
    revision: str, level: Any
) -> None:
    async with talking(a_server(), revision) as client:
        params = {"_meta": {KEY: level}}
        answer = await client.ask(client.speaker.request(1, "tools/list", params))
        assert answer["error"]["code"] == -32602
        assert KEY in answer["error"]["message"]


@every_revision
async def test_nothing_is_sent_for_a_request_that_has_been_answered(revision: str) -> None:
    server, answered, tried = Server("late"), asyncio.Event(), asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    async def later(ctx: Context) -> None:
        await answered.wait()
        await ctx.log("alert", "too late")
        tried.set()

    @server.tool
    async def begin(ctx: Context) -> None:
        tasks.append(asyncio.create_task(later(ctx)))

    async with talking(server, revision) as client:
        await client.ask(calls(client, 1, "begin"))
        answered.set()
        await asyncio.wait_for(tried.wait(), WAIT_S)
        await client.ask(client.speaker.request(2, "tools/list"))
        assert logged(client) == []
        await asyncio.gather(*tasks)


@every_revision
async def test_an_unknown_level_is_an_error_of_whoever_logs(revision: str) -> None:
    async with talking(a_server(), revision) as client:
        answer = await client.ask(calls(client, 1, "say", level="loud"))
        assert "no log level 'loud'" in answer["result"]["content"][0]["text"]


@every_revision
async def test_what_is_no_json_is_an_error_of_whoever_logs(revision: str) -> None:
    server = Server("logs")

    @server.tool
    async def say(ctx: Context) -> None:
        with pytest.raises(UsageError, match="expected a text or other JSON"):
            await ctx.log("info", object())

    async with talking(server, revision) as client:
        assert "isError" not in (await client.ask(calls(client, 1, "say")))["result"]


@every_revision
async def test_a_server_that_does_not_declare_logging_sends_nothing(revision: str) -> None:
    async with talking(a_server(declare=()), revision) as client:
        await client.ask(calls(client, 1, "say_all"))
        assert logged(client) == []


@with_handshake
async def test_a_server_that_does_not_declare_logging_takes_no_level(revision: str) -> None:
    async with talking(a_server(declare=()), revision) as client:
        assert (await set_level(client, "info"))["error"]["code"] == -32601


# --- messages of a session ---


@with_handshake
async def test_a_session_can_be_told_what_belongs_to_no_request(revision: str) -> None:
    server = a_server()
    async with talking(server, revision) as client:
        await set_level(client, "notice")
        (session,) = server.sessions()
        await session.log("info", "unheard")
        await session.log("alert", {"disk": "full"}, logger="disk")
        assert (await client.next())["params"] == {
            "level": "alert",
            "data": {"disk": "full"},
            "logger": "disk",
        }


@with_requests_alone
async def test_a_session_without_a_handshake_cannot_log(revision: str) -> None:
    server = a_server()
    async with talking(server, revision) as client:
        await client.ask(client.speaker.request(1, "tools/list"))
        (session,) = server.sessions()
        with pytest.raises(UsageError, match=r"use Context\.log"):
            await session.log("info", "heard by nobody")


async def test_a_session_cannot_log_before_the_handshake() -> None:
    ours, theirs = memory_pair()
    async with a_server().connect(theirs) as session:
        with pytest.raises(UsageError, match=r"use Context\.log"):
            await session.log("info", "heard by nobody")
    await ours.aclose()


# --- the standard library's logging ---


@contextmanager
def logging_to(server: Server, **options: Any) -> Iterator[logging.Logger]:
    """Return a logger whose records go to clients of the server."""
    logger = logging.getLogger("tests.stock")
    logger.setLevel(logging.DEBUG)
    handler = server.logs.handler(**options)
    logger.addHandler(handler)
    try:
        yield logger
    finally:
        logger.removeHandler(handler)
        handler.close()


@every_revision
async def test_a_record_goes_to_the_client_of_the_request_it_was_made_in(revision: str) -> None:
    server = Server("logs")

    @server.tool
    async def count(name: str) -> None:
        logger.warning("%d of %s", 3, name)

    with logging_to(server) as logger:
        async with talking(server, revision) as one, talking(server, revision) as other:
            await asyncio.gather(
                one.ask(calls(one, 1, "count", name="bolts")),
                other.ask(calls(other, 1, "count", name="nuts")),
            )
            expected = {"level": "warning", "logger": "tests.stock"}
            assert logged(one) == [{**expected, "data": "3 of bolts"}]
            assert logged(other) == [{**expected, "data": "3 of nuts"}]


@every_revision
async def test_a_record_of_a_worker_thread_comes_before_the_answer(revision: str) -> None:
    server = Server("logs")

    @server.tool
    def count() -> int:
        logger.info("in thread %s", threading.current_thread() is threading.main_thread())
        return 3

    with logging_to(server) as logger:
        async with talking(server, revision) as client:
            client.send(calls(client, 1, "count"))
            assert (await client.next())["params"]["data"] == "in thread False"
            assert (await client.next())["id"] == 1


@every_revision
async def test_a_record_of_a_task_that_the_request_has_begun_belongs_to_it(revision: str) -> None:
    server = Server("logs")

    @server.tool
    async def count() -> None:
        async def inner() -> None:
            logger.error("inside")

        await asyncio.create_task(inner())

    with logging_to(server) as logger:
        async with talking(server, revision) as client:
            await client.ask(calls(client, 1, "count"))
            assert [one["data"] for one in logged(client)] == ["inside"]


async def test_a_record_that_belongs_to_no_request_goes_to_nobody() -> None:
    server = Server("logs")
    with logging_to(server) as logger:
        async with talking(server, HANDSHAKE) as client:
            logger.critical("on its own")
            await client.ask(client.speaker.request(1, "ping"))
            assert logged(client) == []


@pytest.mark.parametrize("name", ["mcp_gen.server", "mcp_wire.hook_machinery", "asyncio"])
async def test_what_tells_of_the_sending_itself_is_not_sent(name: str) -> None:
    server = Server("logs")

    @server.tool
    async def fail() -> None:
        logging.getLogger(name).error("about this message")

    handler = server.logs.handler()
    logging.getLogger().addHandler(handler)
    try:
        async with talking(server, HANDSHAKE) as client:
            await client.ask(calls(client, 1, "fail"))
            assert logged(client) == []
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()


@pytest.mark.parametrize(
    ("number", "level"),
    [
        (1, "debug"),
        (logging.DEBUG, "debug"),
        (logging.INFO, "info"),
        (25, "notice"),
        (logging.WARNING, "warning"),
        (logging.ERROR, "error"),
        (logging.CRITICAL, "critical"),
        (60, "alert"),
        (70, "emergency"),
        (1000, "emergency"),
    ],
)
def test_each_python_level_is_one_of_the_specification(number: int, level: str) -> None:
    assert level_name(number) == level


@every_revision
async def test_a_handler_respects_the_level_that_the_client_wants(revision: str) -> None:
    server = Server("logs")

    @server.tool
    async def count() -> None:
        logger.info("unheard")
        logger.error("heard")

    with logging_to(server) as logger:
        async with talking(server, revision) as client:
            if client.speaker.profile.handshake:
                await set_level(client, "error")
            await client.ask(calls(client, 1, "count", heard="error"))
            assert [one["data"] for one in logged(client)] == ["heard"]


async def test_the_trace_of_an_exception_is_not_sent() -> None:
    server = Server("logs")

    @server.tool
    async def fail() -> None:
        try:
            _ = 1 / 0
        except ZeroDivisionError:
            logger.exception("it failed")

    with logging_to(server) as logger:
        async with talking(server, HANDSHAKE) as client:
            await client.ask(calls(client, 1, "fail"))
            assert [one["data"] for one in logged(client)] == ["it failed"]


async def test_a_formatter_says_what_is_sent() -> None:
    server = Server("logs")

    @server.tool
    async def count() -> None:
        logger.info("three")

    with logging_to(server) as logger:
        logger.handlers[0].setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        async with talking(server, HANDSHAKE) as client:
            await client.ask(calls(client, 1, "count"))
            assert [one["data"] for one in logged(client)] == ["INFO: three"]


@every_revision
async def test_a_client_gets_no_more_records_than_allowed_and_is_told_how_many_there_were(
    revision: str,
) -> None:
    server = Server("logs")

    @server.tool
    async def chatter() -> None:
        for number in range(100):
            logger.info("%d", number)

    with logging_to(server, max_per_s=3) as logger:
        async with talking(server, revision) as client:
            await client.ask(calls(client, 1, "chatter"))
            said = [one["data"] for one in logged(client)]
            assert said[:3] == ["0", "1", "2"]
            assert said[3:] == ["97 log messages left out: more than 3 per second"]


async def test_one_client_that_is_told_much_leaves_the_others_their_share() -> None:
    server = Server("logs")

    @server.tool
    async def chatter() -> None:
        logger.info("a")
        logger.info("b")

    with logging_to(server, max_per_s=2) as logger:
        async with talking(server, HANDSHAKE) as one, talking(server, HANDSHAKE) as other:
            await one.ask(calls(one, 1, "chatter"))
            await other.ask(calls(other, 1, "chatter"))
            assert [found["data"] for found in logged(other)] == ["a", "b"]


async def test_hooks_hear_of_records_before_they_are_sent_and_before_the_answer() -> None:
    server = Server("logs")
    heard: list[Any] = []

    @server.tool
    async def count() -> None:
        logger.info("three")

    @server.hooks.outbound.on_logging_message
    async def hear(ctx: Any, params: latest.LoggingMessageNotificationParams) -> None:
        await asyncio.sleep(0)
        heard.append((type(ctx), params.data))

    with logging_to(server) as logger:
        async with talking(server, HANDSHAKE) as client:
            client.send(calls(client, 1, "count"))
            assert (await client.next())["params"]["data"] == "three"
            assert (await client.next())["id"] == 1
    assert heard == [(Context, "three")]


async def test_a_record_that_was_sent_is_not_kept_until_the_request_ends() -> None:
    server = Server("logs")
    alive: list[int] = []
    sending = weakref.WeakSet[asyncio.Task[Any]]()

    @server.tool
    async def count() -> None:
        for number in range(3):
            logger.info("%d", number)
            sent = asyncio.Event()
            waiting.append(sent)
            await asyncio.wait_for(sent.wait(), WAIT_S)
            # The task ends, and then tells so.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        gc.collect()
        alive.append(len(sending))

    waiting: list[asyncio.Event] = []

    @server.hooks.outbound.on_logging_message
    async def hear(ctx: Any, params: latest.LoggingMessageNotificationParams) -> None:
        sending.add(cast("asyncio.Task[Any]", asyncio.current_task()))
        waiting[-1].set()

    with logging_to(server) as logger:
        async with talking(server, HANDSHAKE) as client:
            await client.ask(calls(client, 1, "count"))
    assert alive == [0]


async def test_requests_pay_for_handlers_only_while_there_are_some() -> None:
    server = a_server()
    binding = server.runtime.kernel.bindings[HANDSHAKE]
    plain = binding.routes["tools/call"].call
    handlers = [server.logs.handler(), server.logs.handler()]
    watched = server.runtime.kernel.bindings[HANDSHAKE].routes["tools/call"].call
    for handler in handlers:
        handler.close()
    again = server.runtime.kernel.bindings[HANDSHAKE].routes["tools/call"].call
    assert (watched == plain, again == plain) == (False, True)


def test_a_rate_below_zero_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        Server("logs").logs.handler(max_per_s=-1)
    assert str(caught.value) == "max_per_s=-1: expected more than 0, or 0 for no limit"


async def test_a_record_is_sent_by_the_handler_of_its_own_server_alone() -> None:
    one, other = Server("one"), Server("other")

    @one.tool
    async def count() -> None:
        logger.info("three")

    with logging_to(one) as logger, logging_to(other):
        async with talking(one, HANDSHAKE) as client:
            await client.ask(calls(client, 1, "count"))
            assert [found["data"] for found in logged(client)] == ["three"]


def test_a_handler_is_one_of_the_standard_library() -> None:
    handler = Server("logs").logs.handler("ERROR")
    handler.name = "to clients"
    assert isinstance(handler, ClientLogHandler)
    assert isinstance(handler, logging.Handler)
    assert handler.level == logging.ERROR
    handler.close()
    # Before Python 3.12 there is no `logging.getHandlerByName`.
    assert "to clients" not in logging._handlers  # type: ignore[attr-defined]


@with_handshake
async def test_a_client_that_reads_slowly_slows_down_whoever_logs(revision: str) -> None:
    server, said = Server("logs"), []
    reads = asyncio.Event()

    @server.tool
    async def chatter(ctx: Context) -> None:
        for number in range(3):
            await ctx.log("info", number)
            said.append(number)

    async with talking(server, revision) as client:
        (session,) = server.sessions()
        session._transport.drain = reads.wait
        client.send(calls(client, 1, "chatter"))
        assert (await client.next())["params"]["data"] == 0
        assert said == []
        reads.set()
        assert (await client.answer(1))["result"]["content"] == []


def test_the_speaker_of_the_tests_names_the_key_of_the_specification() -> None:
    keys = {mcp_wire.profile(revision).log_level_key for revision in ALL}
    assert keys == {None, KEY}
    assert KEY not in Speaker(HANDSHAKE).meta

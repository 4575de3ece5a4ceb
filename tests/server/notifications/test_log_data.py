"""Log messages: levels as constants, objects, limits, and records that belong to no request."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, LogLevel, Server
from mcp_gen.session.peer.log_levels import ranks_of
from tests.server.notifications.test_logging import calls, logged, logging_to
from tests.support.frames import ALL, HANDSHAKE, every_revision, with_handshake
from tests.support.peers.raw import RawClient, talking


def test_the_constants_are_the_levels_of_every_revision_in_order() -> None:
    names = [level.name.lower() for level in sorted(LogLevel)]
    assert [list(ranks_of(mcp_wire.profile(one).module)) for one in ALL] == [names] * len(ALL)


@every_revision
@pytest.mark.parametrize(
    ("level", "sent"),
    [(LogLevel.NOTICE, "notice"), (logging.WARNING, "warning"), (61, "alert"), ("info", "info")],
)
async def test_a_level_is_a_constant_a_number_of_logging_or_a_name(
    revision: str, level: Any, sent: str
) -> None:
    server = Server("logs")

    @server.tool
    async def say(ctx: Context) -> None:
        await ctx.log(level, "said", logger="app")

    async with talking(server, revision) as client:
        await client.ask(calls(client, 1, "say"))
        assert logged(client) == [{"level": sent, "data": "said", "logger": "app"}]


# --- objects ---


@every_revision
async def test_a_record_is_an_object_with_its_extra_when_asked(revision: str) -> None:
    server = Server("logs")

    @server.tool
    async def buy() -> None:
        logger.info("bought %d", 3, extra={"item": "tea", "price": 1.5, "on": {"shelf": 2}})
        logger.info("done")

    with logging_to(server, extra=True) as logger:
        async with talking(server, revision) as client:
            await client.ask(calls(client, 1, "buy"))
            assert logged(client) == [
                {
                    "level": "info",
                    "data": {
                        "message": "bought 3",
                        "item": "tea",
                        "price": 1.5,
                        "on": {"shelf": 2},
                    },
                    "logger": "tests.stock",
                },
                {"level": "info", "data": {"message": "done"}, "logger": "tests.stock"},
            ]


async def test_extra_that_json_cannot_carry_is_text() -> None:
    server = Server("logs")

    @server.tool
    async def buy() -> None:
        logger.info("odd", extra={"error": ValueError("no"), "much": float("inf")})

    with logging_to(server, extra=True) as logger:
        async with talking(server, HANDSHAKE) as client:
            await client.ask(calls(client, 1, "buy"))
            (said,) = logged(client)
    assert said["data"] == {"message": "odd", "error": "no", "much": "inf"}


async def test_without_asking_extra_is_not_sent() -> None:
    server = Server("logs")

    @server.tool
    async def buy() -> None:
        logger.info("bought", extra={"card": "4111"})

    with logging_to(server) as logger:
        async with talking(server, HANDSHAKE) as client:
            await client.ask(calls(client, 1, "buy"))
            assert [one["data"] for one in logged(client)] == ["bought"]


# --- limits ---


def chattering(**options: Any) -> Server:
    """Return a server whose tool logs numbers."""
    server = Server("logs", **options)

    @server.tool
    async def chatter(ctx: Context, times: int) -> None:
        for number in range(times):
            await ctx.log("info", number)

    return server


@every_revision
async def test_a_handler_sends_no_more_messages_than_allowed(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(chattering(max_log_per_s=3), revision) as client:
        await client.ask(calls(client, 1, "chatter", times=50))
        assert [one["data"] for one in logged(client)] == [0, 1, 2]
    warnings = [one.message for one in caplog.records if "log messages" in one.message]
    assert warnings == ["more than 3 log messages per second to one client: left out"]


@pytest.mark.parametrize("unlimited", [0, None])
async def test_a_rate_of_zero_or_none_is_no_limit(unlimited: int | None) -> None:
    async with talking(chattering(max_log_per_s=unlimited), HANDSHAKE) as client:
        await client.ask(calls(client, 1, "chatter", times=2_000))
        assert len(logged(client)) == 2_000


@pytest.mark.parametrize("unlimited", [0, None])
async def test_records_without_a_rate_are_all_sent(unlimited: int | None) -> None:
    server = Server("logs")

    @server.tool
    async def chatter() -> None:
        for number in range(500):
            logger.info("%d", number)

    with logging_to(server, max_per_s=unlimited) as logger:
        async with talking(server, HANDSHAKE) as client:
            await client.ask(calls(client, 1, "chatter"))
            assert len(logged(client)) == 500


@every_revision
@pytest.mark.parametrize(
    ("data", "sent"),
    [
        ("x" * 20, "x" * 20),
        ("x" * 21, "x" * 20 + "... (1 bytes of 21 are left out)"),
        ("é" * 11, "é" * 10 + "... (2 bytes of 22 are left out)"),
        ({"a": "x" * 12}, {"a": "x" * 12}),
        ({"a": "x" * 13}, '{"a":"xxxxxxxxxxxxx"' + "... (1 bytes of 21 are left out)"),
        # Cut between two characters.
        ("x" + "é" * 10, "x" + "é" * 9 + "... (2 bytes of 21 are left out)"),
    ],
)
async def test_data_that_is_too_long_is_cut(revision: str, data: Any, sent: Any) -> None:
    server = Server("logs", max_log_bytes=20)

    @server.tool
    async def say(ctx: Context) -> None:
        await ctx.log("info", data)

    @server.tool
    async def record() -> None:
        logger.info(data)

    with logging_to(server) as logger:
        async with talking(server, revision) as client:
            await client.ask(calls(client, 1, "say"))
            assert [one["data"] for one in logged(client)] == [sent]
            if isinstance(data, str):
                await client.ask(calls(client, 2, "record"))
                assert [one["data"] for one in logged(client)] == [sent, sent]


async def test_hooks_hear_of_what_is_sent() -> None:
    server, heard = Server("logs", max_log_bytes=5), list[Any]()

    @server.tool
    async def say(ctx: Context) -> None:
        await ctx.log("info", ["long enough"])

    @server.hooks.outbound.on_logging_message
    async def hear(ctx: Any, params: Any) -> None:
        heard.append(params.data)

    async with talking(server, HANDSHAKE) as client:
        await client.ask(calls(client, 1, "say"))
        assert [one["data"] for one in logged(client)] == heard
    assert heard == ['["lon... (10 bytes of 15 are left out)']


# --- records that belong to no request ---


def is_log_message(frame: Any) -> bool:
    return "level" in frame.get("params", {})


async def said(client: RawClient, number: int) -> list[Any]:
    """Return the data of the next log messages of a client."""
    frames = [await client.take(is_log_message) for _ in range(number)]
    return [frame["params"]["data"] for frame in frames]


def set_level(client: RawClient, level: str) -> bytes:
    return client.speaker.request(90, "logging/setLevel", {"level": level})


@with_handshake
async def test_a_record_of_no_request_goes_to_every_session_at_its_level(revision: str) -> None:
    server = Server("logs")
    with logging_to(server, all_sessions=True) as logger:
        async with talking(server, revision) as one, talking(server, revision) as other:
            await other.ask(set_level(other, "error"))
            logger.info("for one")
            logger.error("for both")
            assert await said(one, 2) == ["for one", "for both"]
            assert await said(other, 1) == ["for both"]


async def test_it_does_so_from_any_thread() -> None:
    server = Server("logs")
    with logging_to(server, all_sessions=True) as logger:
        async with talking(server, HANDSHAKE) as client:
            thread = threading.Thread(target=logger.info, args=("from afar",))
            thread.start()
            assert await said(client, 1) == ["from afar"]
            await asyncio.to_thread(thread.join)


async def test_it_does_so_only_when_asked() -> None:
    server = Server("logs")
    server.tool(noop)
    with logging_to(server) as logger:
        async with talking(server, HANDSHAKE) as client:
            logger.info("for nobody")
            await client.ask(calls(client, 1, "noop"))
            assert logged(client) == []


async def noop() -> None:
    """Do nothing."""


async def test_each_session_has_its_share_of_records_of_no_request() -> None:
    server = Server("logs")
    server.tool(noop)
    with logging_to(server, all_sessions=True, max_per_s=2) as logger:
        async with talking(server, HANDSHAKE) as one, talking(server, HANDSHAKE) as other:
            for number in range(5):
                logger.info("%d", number)
            assert await said(one, 2) == ["0", "1"]
            assert await said(other, 2) == ["0", "1"]
            await one.ask(calls(one, 1, "noop"))
            (missing,) = logged(one)
            assert missing["data"] == "3 log messages left out: more than 2 per second"

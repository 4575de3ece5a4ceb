"""Log lines in JSON: what they name, what they hide, and their bounds."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import logging
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_gen import Context, Server, UsageError
from mcp_gen.middleware import JsonLines, RequestLog
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.http.asgi import surfing

log = logging.getLogger("kitchen")


class Lines:
    """Log of a test: its lines as objects."""

    def __init__(self, **options: Any) -> None:
        self._written = io.StringIO()
        self.handler = logging.StreamHandler(self._written)
        self.handler.setFormatter(JsonLines(**options))

    @property
    def text(self) -> str:
        return self._written.getvalue()

    @property
    def all(self) -> list[Any]:
        return [json.loads(line) for line in self.text.splitlines()]

    def last(self) -> Any:
        """Return the last line without its time."""
        found = self.all[-1]
        del found["time"]
        return found


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Log the records of two loggers, as the node `a`."""
    found = Lines(node="a", max_chars=100)
    loggers = log, logging.getLogger("mcp_gen.requests")
    for one in loggers:
        one.addHandler(found.handler)
        one.setLevel(logging.INFO)
    yield found
    for one in loggers:
        one.removeHandler(found.handler)
        one.setLevel(logging.NOTSET)


def cook() -> Server:
    server = Server("kitchen")

    @server.tool
    async def cook(ctx: Context) -> str:
        log.info("cooking")
        await asyncio.to_thread(log.warning, "the oven is hot")
        return ctx.session.id if ctx.session is not None else ""

    return server


def test_a_line_has_time_level_logger_message_and_node(lines: Lines) -> None:
    log.warning("no %s left", "salt")
    (line,) = lines.all
    time = line.pop("time")
    assert time.endswith("+00:00")
    assert line == {
        "level": "warning",
        "logger": "kitchen",
        "message": "no salt left",
        "node": "a",
    }


async def test_lines_of_a_request_name_it_and_its_session_by_a_hash(lines: Lines) -> None:
    async with surfing(cook().asgi(), HANDSHAKE) as client:
        reply = await client.ask(client.speaker.call(7, "cook"))
    id = reply.json["result"]["content"][0]["text"]
    assert [line["message"] for line in lines.all] == ["cooking", "the oven is hot"]
    for line in lines.all:
        assert (line["request"], line["revision"]) == (7, HANDSHAKE)
        assert line["session"] == hashlib.sha256(id.encode()).hexdigest()[:12]
    assert id not in lines.text


async def test_lines_of_a_request_without_a_session_have_none(lines: Lines) -> None:
    async with surfing(cook().asgi(), PER_REQUEST) as client:
        await client.ask(client.speaker.call("x" * 5_000, "cook"))
    for line in lines.all:
        assert "session" not in line
        assert line["revision"] == PER_REQUEST
        assert line["request"].endswith("... (5000 characters)")
        assert len(line["request"]) < 1_000


async def test_a_record_of_the_request_log_has_its_members_in_the_line(lines: Lines) -> None:
    server = cook()
    server.add_middleware(RequestLog())
    async with surfing(server.asgi(), PER_REQUEST) as client:
        await client.ask(client.speaker.call(3, "cook"))
    line = lines.last()
    assert line.pop("duration_ms") >= 0
    assert line == {
        "level": "info",
        "logger": "mcp_gen.requests",
        "message": "tools/call: ok",
        "node": "a",
        "method": "tools/call",
        "target": "cook",
        "outcome": "ok",
        "server": "kitchen",
        "revision": PER_REQUEST,
        "request": 3,
    }


def test_an_exception_is_written_with_the_end_of_its_traceback(lines: Lines) -> None:
    try:
        raise ValueError("no\nsalt " + "x" * 500)
    except ValueError:
        log.exception("it failed")
    line = lines.last()
    assert line["message"] == "it failed"
    assert line["error"].startswith("ValueError: no\nsalt x")
    assert line["error"].endswith("... (520 characters)")
    assert line["traceback"] == "..." + "x" * 100
    assert lines.text.count("\n") == 1


def test_long_texts_are_cut(lines: Lines) -> None:
    log.info("x" * 10_000, extra={"recipe": "y" * 10_000, **{f"n{n}": n for n in range(100)}})
    line = lines.last()
    assert line["message"] == "x" * 100 + "... (10000 characters)"
    assert line["recipe"] == "y" * 100 + "... (10000 characters)"
    assert len(line) == 3 + 1 + 20
    assert len(lines.text) < 2_000


def test_what_json_does_not_carry_is_written_as_text() -> None:
    record = logging.makeLogRecord(
        {"msg": "a\udcff", "at": (1, 2), "node": "not I", "none": None, "infinite": 1e400}
    )
    line = json.loads(JsonLines(node="a").format(record))
    assert line["message"] == "a\\udcff"
    assert (line["at"], line["node"], line["none"]) == ("(1, 2)", "a", None)
    assert line["infinite"] is None


def test_a_message_that_cannot_be_filled_in_is_a_line_all_the_same() -> None:
    record = logging.makeLogRecord({"msg": "%d", "args": ("salt",)})
    message = json.loads(JsonLines().format(record))["message"]
    assert message.startswith("'%d' cannot be filled in: ")


def test_the_node_is_host_and_process_or_what_a_function_returns() -> None:
    record = logging.makeLogRecord({"msg": "a"})
    host = f"{socket.gethostname()}:{os.getpid()}"
    assert json.loads(JsonLines().format(record))["node"] == host
    assert json.loads(JsonLines(node=lambda: "b").format(record))["node"] == "b"


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="max_chars=0: expected more than 0"):
        JsonLines(max_chars=0)

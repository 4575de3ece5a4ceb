"""Timing and RequestLog: one record per request, without arguments and secrets."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Context, McpError, ResourceNotFound, Server, Tasks, UsageError
from mcp_gen.middleware import RequestLog, RequestRecord, Timing
from tests.server.middleware.clients import connected, visited
from tests.support.frames import PER_REQUEST, each_lifecycle, every_revision
from tests.support.peers.connect import talk

SECRET = "sk-4f9aB2c8D1e7F6a5"


@dataclass
class Name:
    name: str


def working() -> Server:
    server = Server("working", tasks=Tasks())

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool
    async def fail() -> int:
        raise ValueError("no")

    @server.tool
    async def refuse() -> int:
        raise McpError(-31000, "no")

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Who?", Name)).action

    @server.tool
    async def wait() -> None:
        await asyncio.Event().wait()

    @server.tool
    async def visit(url: str, token: str, more: dict[str, Any]) -> None: ...

    @server.resource("note://{id}")
    def note(id: str) -> str:
        if id == "none":
            raise ResourceNotFound
        return id

    return server


def timed() -> tuple[Server, list[RequestRecord]]:
    server, records = working(), list[RequestRecord]()
    server.add_middleware(Timing(records.append))
    return server, records


@every_revision
async def test_the_time_of_each_tool_is_reported(revision: str) -> None:
    server, records = timed()
    async with connected(server, revision) as client:
        await client.call("add", a=1, b=2)
    record = records[-1]
    assert (record.method, record.target, record.outcome) == ("tools/call", "add", "ok")
    assert (record.server, record.revision, record.code) == ("working", revision, None)
    assert 0 < record.duration_s < 30


@every_revision
async def test_the_end_of_each_request_is_reported(revision: str) -> None:
    server, records = timed()
    async with connected(server, revision) as client:
        await client.call("fail")
        await client.refusal("tools/call", {"name": "refuse", "arguments": {}})
        await client.request("resources/read", {"uri": "note://1"})
        await client.refusal("resources/read", {"uri": "note://none"})
        missing = client.profile.resource_not_found_code
    assert [(one.target, one.outcome, one.code) for one in records[-4:]] == [
        ("fail", "tool_error", None),
        ("refuse", "error", -31000),
        ("note://1", "ok", None),
        ("note://none", "error", missing),
    ]


@every_revision
async def test_notifications_are_not_reported(revision: str) -> None:
    server, records = timed()
    async with connected(server, revision) as client:
        client.notify("notifications/initialized")
        await client.settled()
    assert [one.method for one in records if "notification" in one.method] == []


@each_lifecycle
async def test_a_request_that_is_cancelled_is_reported(revision: str) -> None:
    server, records = working(), asyncio.Queue[RequestRecord]()
    server.add_middleware(Timing(records.put_nowait))
    async with connected(server, revision) as client:
        asked = client.begin("tools/call", {"name": "wait", "arguments": {}})
        await client.settled()
        client.cancel(asked)
        async with asyncio.timeout(30):
            while (record := await records.get()).target != "wait":
                pass
    assert record.outcome == "cancelled"


async def test_each_round_of_a_request_is_reported() -> None:
    server, records = timed()
    answers = {"elicitation/create": lambda asked: {"action": "decline"}}
    async with talk(lambda: server, PER_REQUEST, answers=answers) as client:
        await client.call("ask")
    assert [one.outcome for one in records[-2:]] == ["input_required", "ok"]


@each_lifecycle
async def test_a_report_that_fails_is_logged_and_the_request_answered(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = working()

    def report(record: RequestRecord) -> None:
        raise ZeroDivisionError

    server.add_middleware(Timing(report))
    async with connected(server, revision) as client:
        assert await client.text("add", a=1, b=2) == "3"
    assert "Timing: the report of tools/call failed" in caplog.text


@pytest.mark.parametrize(("slow_s", "levels"), [(0.0, {"WARNING"}), (3600, {"DEBUG"})])
async def test_a_slow_request_is_a_warning(
    slow_s: float, levels: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    server = working()
    server.add_middleware(Timing(slow_s=slow_s))
    with caplog.at_level(logging.DEBUG, "mcp_gen.server"):
        async with connected(server, PER_REQUEST) as client:
            await client.call("add", a=1, b=2)
    found = {one.levelname for one in caplog.records if "tools/call add took" in one.getMessage()}
    assert found == levels


@every_revision
async def test_a_mounted_server_has_records_of_its_own(revision: str) -> None:
    outer, (inner, records) = Server("outer"), timed()
    outer.mount("in", inner)
    outer.add_middleware(Timing(records.append))
    async with connected(outer, revision) as client:
        await client.call("in_add", a=1, b=2)
    assert [(one.server, one.target) for one in records[-2:]] == [
        ("working", "add"),
        ("outer", "in_add"),
    ]


# --- the log ---


async def logged(
    log: RequestLog,
    caplog: pytest.LogCaptureFixture,
    method: str,
    params: dict[str, Any],
    revision: str = PER_REQUEST,
) -> logging.LogRecord:
    """Return the log record of a request of the principal ann, over HTTP."""
    server = working()
    server.add_middleware(log)
    with caplog.at_level(logging.INFO, "mcp_gen.requests"):
        async with visited(server, revision) as visit, visit("ann") as client:
            await client.begin(method, params, id="one").answer
    found = [one for one in caplog.records if one.name == "mcp_gen.requests"]
    return next(one for one in found if f'"{method}"' in one.getMessage())


ADD = {"name": "add", "arguments": {"a": 1, "b": 2}}


async def test_a_record_is_one_json_object(caplog: pytest.LogCaptureFixture) -> None:
    record = await logged(RequestLog(), caplog, "tools/call", ADD)
    members = json.loads(record.getMessage())
    duration_ms = members.pop("duration_ms")
    assert members == {
        "method": "tools/call",
        "target": "add",
        "outcome": "ok",
        "server": "working",
        "revision": PER_REQUEST,
        "principal": "ann",
        "id": "one",
    }
    assert 0 < duration_ms < 30_000


async def test_a_record_is_pairs_where_that_is_wanted(caplog: pytest.LogCaptureFixture) -> None:
    record = await logged(RequestLog("key=value"), caplog, "tools/call", ADD)
    assert record.getMessage().startswith('method="tools/call" target="add" outcome="ok" ')


async def test_handlers_get_the_members_of_a_record(caplog: pytest.LogCaptureFixture) -> None:
    record: Any = await logged(RequestLog(), caplog, "tools/call", ADD)
    assert record.mcp == json.loads(record.getMessage())


@every_revision
async def test_a_request_that_fails_has_its_code_at_every_revision(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = working()
    server.add_middleware(RequestLog())
    with caplog.at_level(logging.INFO, "mcp_gen.requests"):
        async with connected(server, revision) as client:
            await client.refusal("tools/call", {"name": "refuse", "arguments": {}})
    members = json.loads(caplog.records[-1].getMessage())
    assert (members["outcome"], members["code"]) == ("error", -31000)


VISIT: dict[str, Any] = {
    "name": "visit",
    "arguments": {
        "url": f"https://me:pass@host/?key={SECRET}",
        "token": "tiny",
        "more": {"note": f"it is {SECRET}", "list": [1, "plain"]},
    },
}


async def test_arguments_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    record = await logged(RequestLog(), caplog, "tools/call", VISIT)
    assert "plain" not in record.getMessage()


async def test_arguments_are_logged_without_secrets_if_asked_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    record = await logged(RequestLog(arguments=True), caplog, "tools/call", VISIT)
    shown = json.loads(record.getMessage())["arguments"]
    assert shown["token"] == "***"
    assert shown["more"] == {"note": "it is ***", "list": [1, "plain"]}
    assert SECRET not in record.getMessage()


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"a": "x" * 5000}, {"a": f"{'x' * 500}... (5000 characters)"}),
        ({"a": list(range(60))}, {"a": [*range(50), "... 60 items"]}),
        ({"a": "two\nlines"}, {"a": "two\\nlines"}),
        (
            {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {}}}}}}}}},
            {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": "{0 members}"}}}}}}}},
        ),
    ],
    ids=["a long text", "a long list", "two lines", "deep"],
)
async def test_large_arguments_are_cut(
    arguments: dict[str, Any], shown: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    params = {"name": "add", "arguments": arguments}
    record = await logged(RequestLog(arguments=True), caplog, "tools/call", params)
    assert json.loads(record.getMessage())["arguments"] == shown


async def test_the_uri_of_a_resource_is_logged_without_its_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    uri = f"note://1?token={SECRET}"
    record = await logged(RequestLog(), caplog, "resources/read", {"uri": uri})
    assert json.loads(record.getMessage())["target"] == "note://1?token=***"


async def test_a_name_of_a_client_stays_on_its_line(caplog: pytest.LogCaptureFixture) -> None:
    params = {"name": 'a\nmethod="forged"', "arguments": {}}
    record = await logged(RequestLog("key=value"), caplog, "tools/call", params)
    assert "\n" not in record.getMessage()


@each_lifecycle
async def test_nothing_is_made_for_a_logger_that_is_silent(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = working()
    server.add_middleware(RequestLog(level=logging.DEBUG))
    with caplog.at_level(logging.INFO, "mcp_gen.requests"):
        async with connected(server, revision) as client:
            assert await client.text("add", a=1, b=2) == "3"
    assert [one for one in caplog.records if one.name == "mcp_gen.requests"] == []


def test_an_unknown_format_is_refused() -> None:
    unknown: Any = "xml"
    with pytest.raises(UsageError, match="expected 'json' or 'key=value'"):
        RequestLog(unknown)


def test_a_slow_request_takes_no_negative_time() -> None:
    with pytest.raises(UsageError, match="at least 0"):
        Timing(slow_s=-1)

"""Requests over HTTP: calls, long lists and long contents, by the server's own CPU."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import msgspec

from bench.child import Child
from bench.load import Load
from bench.peers.measuring import Effort, Row, in_rounds, timed
from bench.peers.sides import Side
from bench.programs.long_contents import BLOB_URI, DATA, TEXT, TEXT_URI
from bench.requests import HANDSHAKE, PER_REQUEST, raw_post, request
from bench.wire import begin_session, named, post

__all__ = ["rows"]

CONNECTIONS = 16
FEW, MANY = 2, 1000
ENGINES = {
    "fast": "uvicorn with uvloop and httptools",
    "plain": "uvicorn with asyncio and h11",
}


class Asked(NamedTuple):
    """A request and its check."""

    name: str
    method: str
    params: dict[str, Any]
    about: str | None
    is_answered_by: Callable[[Any], bool]


class _Server(NamedTuple):
    """A running server."""

    child: Child
    port: int
    headers: Mapping[str, str]
    """Headers beside the usual ones."""


CALL = Asked(
    "tools/call",
    "tools/call",
    {"name": "add", "arguments": {"a": 17, "b": 25}},
    "add",
    lambda result: result["content"][0]["text"] == "42",
)
LIST = Asked(
    "tools/list, 1,000 tools",
    "tools/list",
    {},
    None,
    lambda result: len(result["tools"]) == MANY and "nextCursor" not in result,
)
READ = Asked(
    "resources/read, 1 MiB of text",
    "resources/read",
    {"uri": TEXT_URI},
    TEXT_URI,
    lambda result: result["contents"][0]["text"] == TEXT,
)
BLOB = Asked(
    "resources/read, 1 MiB blob",
    "resources/read",
    {"uri": BLOB_URI},
    BLOB_URI,
    lambda result: base64.b64decode(result["contents"][0]["blob"]) == DATA,
)


def rows(
    sides: Sequence[Side], effort: Effort, runner: asyncio.Runner, setting: str
) -> Iterator[Row]:
    """Measure each request without sessions, and in sessions."""
    for form, tools, asked in (
        ("json", FEW, (CALL, READ, BLOB)),
        ("json", MANY, (LIST,)),
        ("sse", FEW, (CALL,)),
    ):
        revisions = (HANDSHAKE,) if form == "sse" else (PER_REQUEST, HANDSHAKE)
        with ExitStack() as stack:
            servers: dict[str, _Server] = {}
            for side in sides:
                child = stack.enter_context(
                    side.serving("http", form, str(tools), plain=setting == "plain")
                )
                headers = side.for_events if form == "sse" else {}
                servers[side.name] = _Server(child, int(child.read_line()), headers)
            for one in asked:
                for revision in revisions:
                    yield _row(one, revision, form, servers, effort, runner, setting)


def _row(
    asked: Asked,
    revision: str,
    form: str,
    servers: dict[str, _Server],
    effort: Effort,
    runner: asyncio.Runner,
    setting: str,
) -> Row:
    how = f"HTTP {revision}" if revision == PER_REQUEST else f"HTTP session {revision}"
    measured: dict[str, Callable[[], float]] = {}
    for name, (child, port, more) in servers.items():
        headers = {**_headers(asked, revision, port), **more}
        _check(name, asked, revision, form, headers, port)
        requests = [
            raw_post(headers, request(id, revision, asked.method, asked.params))
            for id in range(100, 100 + CONNECTIONS)
        ]
        load = Load(child, port, requests)
        measured[name] = timed(partial(_rate, runner, load), effort)
    return Row(
        name=f"{asked.name}, {how}, {'events' if form == 'sse' else 'JSON'}",
        unit="calls/CPU s",
        better="more",
        setting=setting,
        placed=f"{ENGINES[setting]}, default malloc, free CPUs, {CONNECTIONS} connections",
        values=in_rounds(measured, effort.rounds),
    )


def _rate(runner: asyncio.Runner, load: Load, calls: int) -> float:
    return runner.run(load.rate(calls))


def _headers(asked: Asked, revision: str, port: int) -> dict[str, str]:
    return named(asked.method, asked.about) if revision == PER_REQUEST else begin_session(port)


def _check(
    name: str, asked: Asked, revision: str, form: str, headers: dict[str, str], port: int
) -> None:
    """Check that a side answers as the others, in the form that the row is about."""
    body = request(1, revision, asked.method, asked.params)
    answered, data = post(port, headers, body)
    is_events = answered["content-type"].startswith("text/event-stream")
    assert is_events == (form == "sse"), (name, asked.name, answered.items())
    if is_events:
        lines = [line for line in data.splitlines() if line.startswith(b"data: {")]
        data = lines[-1].removeprefix(b"data: ")
    answer = msgspec.json.decode(data)
    assert asked.is_answered_by(answer["result"]), (name, asked.name, data[:2000])

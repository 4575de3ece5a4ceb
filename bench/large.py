"""Large-response benchmarks: against a server that sends as many bytes, and the official SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import msgspec
import uvloop

from bench.child import Child
from bench.load import Load
from bench.official import python
from bench.programs.long_contents import BLOB_URI, LONG_BYTES, TEXT_URI
from bench.requests import HANDSHAKE, PER_REQUEST, raw_post, request
from bench.sampling import Goal, Row, Settings, at_least, compare
from bench.wire import HEADERS, begin_session, named, post

__all__ = ["rows"]

CONNECTIONS = 16


class _Asked(NamedTuple):
    """A method, its params, and the number of calls per measurement."""

    name: str
    method: str
    params: dict[str, object]
    about: str | None
    calls: int


class _Server(NamedTuple):
    """A server in a process of its own."""

    child: Child
    port: int
    session: dict[str, str]
    """Headers of a session; empty for a server that has none."""

    def headers(self, asked: _Asked, revision: str) -> dict[str, str]:
        return named(asked.method, asked.about) if revision == PER_REQUEST else self.session


_LIST = _Asked("tools/list with 1,000 tools", "tools/list", {}, None, 100)
_TEXT = _Asked("1 MiB of text", "resources/read", {"uri": TEXT_URI}, TEXT_URI, 40)
_BLOB = _Asked("1 MiB as a blob", "resources/read", {"uri": BLOB_URI}, BLOB_URI, 40)
_ROWS: tuple[tuple[_Asked, str, str, Goal | None], ...] = (
    (_LIST, "ours", "static", None),
    (_TEXT, "ours", "static", None),
    (_TEXT, "plain", "static", None),
    (_TEXT, "ours", "official", at_least(1)),
    (_TEXT, "plain", "official", at_least(1)),
    (_BLOB, "ours", "static", None),
    (_BLOB, "plain", "static", None),
    (_BLOB, "ours", "official", at_least(1)),
    (_BLOB, "plain", "official", at_least(1)),
)
"""Rows: the request, the measured server, what it is compared with, and a goal of its own."""
_NAMES = {"plain": ", without `fast`", "official": ", against the official SDK"}


def rows(settings: Settings) -> Iterator[Row]:
    """Measure each response at a revision without sessions, and in a session."""
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner(loop_factory=uvloop.new_event_loop))
        servers = {
            "ours": _start(stack, Child("http", "ours")),
            "plain": _start(stack, Child("http", "plain")),
            "official": _start(stack, Child("http", "official", python=python())),
            "static": _start(stack, Child("http", "static"), has_sessions=False),
        }

        def rate(load: Load, calls: int) -> float:
            return runner.run(load.rate(calls))

        for asked, one, other, goal in _ROWS:
            for revision in (PER_REQUEST, HANDSHAKE):
                size = _check_size(servers, asked, revision)
                load, other_load = (
                    _load(servers[name], asked, revision, size) for name in (one, other)
                )
                calls = max(CONNECTIONS, settings.calls(asked.calls))
                yield compare(
                    f"{asked.name}{_NAMES.get(one, '')}{_NAMES.get(other, '')}, {revision}",
                    "calls/CPU s",
                    partial(rate, load, calls),
                    partial(rate, other_load, calls),
                    repetitions=settings.repetitions(30),
                    goal=goal,
                )


def _start(stack: ExitStack, child: Child, *, has_sessions: bool = True) -> _Server:
    stack.enter_context(child)
    port = int(child.read_line())
    return _Server(child, port, begin_session(port) if has_sessions else {})


def _check_size(servers: dict[str, _Server], asked: _Asked, revision: str) -> int:
    """Return the size of our answer, after a check that it says what the others say."""
    body = request(1, revision, asked.method, asked.params)
    names = ("ours", "plain", "official") if asked.about else ("ours",)
    answers = {
        name: post(servers[name].port, servers[name].headers(asked, revision), body)[1]
        for name in names
    }
    said = [msgspec.json.decode(one)["result"].get("contents") for one in answers.values()]
    assert all(one == said[0] for one in said), [len(one) for one in answers.values()]
    size = len(answers["ours"])
    assert size > (LONG_BYTES if asked.about else 100_000), size
    return size


def _load(server: _Server, asked: _Asked, revision: str, size: int) -> Load:
    """Return the load of a server; one without sessions answers with as many bytes as asked."""
    headers = server.headers(asked, revision) if server.session else HEADERS
    headers = {**headers, "x-size": str(size)}
    bodies = [
        request(id, revision, asked.method, asked.params) for id in range(100, 100 + CONNECTIONS)
    ]
    return Load(server.child, server.port, [raw_post(headers, body) for body in bodies])

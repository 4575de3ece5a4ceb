"""Calls over HTTP on 16 keep-alive connections; uvicorn, uvloop and httptools on both sides."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import uvloop

from bench.child import Child
from bench.load import measure
from bench.requests import (
    HANDSHAKE,
    PER_REQUEST,
    call,
    initialize,
    initialized,
    raw_post,
    request,
)
from bench.sampling import Goal, Row, Settings, at_least, compare

__all__ = ["begin_session", "rows"]

CONNECTIONS = 16
ID = 1

HEADERS = {
    "host": "127.0.0.1",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
_EVENTS_ONLY = {"accept": "text/event-stream"}


def rows(settings: Settings) -> Iterator[Row]:
    """Without a session, in a session, large answers, and what the load generator could do."""
    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        Child("http", "ours") as ours,
        Child("http", "bare", PER_REQUEST) as bare,
        Child("http", "bare", HANDSHAKE) as bare_in_session,
        Child("http", "static") as static,
    ):
        ports = [int(child.read_line()) for child in (ours, bare, bare_in_session, static)]
        our_port, bare_port, bare_in_session_port, static_port = ports

        def compared(
            name: str,
            our_requests: list[bytes],
            theirs: int,
            their_requests: list[bytes],
            goal: Goal | None,
            *,
            port: int = our_port,
            calls: int = 12000,
            repetitions: int = 9,
        ) -> Row:
            def rate(port: int, requests: list[bytes]) -> Callable[[], float]:
                count = settings.calls(calls)
                return lambda: runner.run(measure(port, requests, calls=count))

            return compare(
                name,
                "calls/s",
                rate(port, our_requests),
                rate(theirs, their_requests),
                repetitions=settings.repetitions(repetitions),
                goal=goal,
            )

        _check_answers(our_port, bare_port, named("add"), call(ID, PER_REQUEST))
        alone = per_request("add")
        yield compared(f"HTTP, {PER_REQUEST}", alone, bare_port, alone, at_least(0.95))
        yield compared(
            "the same, a tool that suspends",
            per_request("add_later"),
            bare_port,
            alone,
            at_least(0.85),
        )
        yield compared(
            "the same, a notification first", per_request("add_aloud"), bare_port, alone, None
        )

        session = begin_session(our_port)
        _check_answers(our_port, bare_in_session_port, session, call(ID, HANDSHAKE))
        plain = in_session(session)
        name = f"HTTP, session of {HANDSHAKE}"
        yield compared(name, plain, bare_in_session_port, plain, at_least(0.8))
        yield compared(
            "the same, as events",
            in_session({**session, **_EVENTS_ONLY}),
            bare_in_session_port,
            plain,
            at_least(0.65),
        )
        yield compared(
            "the same, a notification first",
            in_session(session, "add_aloud"),
            bare_in_session_port,
            plain,
            None,
        )

        yield from _large(our_port, static_port, compared)
        yield compared(
            "check: static app / bare app",
            plain,
            bare_in_session_port,
            plain,
            at_least(1.15),
            port=static_port,
            repetitions=3,
        )


def _large(our_port: int, static_port: int, compared: Callable[..., Row]) -> Iterator[Row]:
    """Answers whose bytes are most of the work, against a server that sends as many of them."""
    for name, tool, calls, goal in (
        ("tools/list with 1,000 tools", "", 1500, 0.5),
        ("1 MiB of text", "text", 300, 0.6),
    ):
        if tool:
            headers, body = named(tool), call(ID, PER_REQUEST, tool)
        else:
            headers = {**named(""), "mcp-method": "tools/list"}
            del headers["mcp-name"]
            body = request(ID, PER_REQUEST, "tools/list", {})
        size = len(post(our_port, headers, body)[1])
        sent = {**HEADERS, "x-size": str(size)}
        yield compared(
            name,
            [raw_post(headers, body)] * CONNECTIONS,
            static_port,
            [raw_post(sent, body)] * CONNECTIONS,
            at_least(goal),
            calls=calls,
        )


def named(tool: str) -> dict[str, str]:
    """The headers of a call that stands for itself."""
    return {
        **HEADERS,
        "mcp-protocol-version": PER_REQUEST,
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }


def per_request(tool: str) -> list[bytes]:
    """What each connection sends where there is no session."""
    return [raw_post(named(tool), call(ID, PER_REQUEST, tool))] * CONNECTIONS


def in_session(headers: dict[str, str], tool: str = "add") -> list[bytes]:
    """What each connection sends in a session: no two requests of it have the same id."""
    ids = range(100, 100 + CONNECTIONS)
    return [raw_post(headers, call(id, HANDSHAKE, tool)) for id in ids]


def begin_session(port: int) -> dict[str, str]:
    """Shake hands, and return the headers of the session."""
    session, _ = post(port, HEADERS, initialize(0))
    headers = {
        **HEADERS,
        "mcp-protocol-version": HANDSHAKE,
        "mcp-session-id": session["mcp-session-id"],
    }
    post(port, headers, initialized())
    return headers


def _check_answers(ours: int, bare: int, headers: Mapping[str, str], body: bytes) -> None:
    """Both must do the same work."""
    answers: list[Any] = [
        msgspec.json.decode(post(port, headers, body)[1]) for port in (ours, bare)
    ]
    assert answers[0] == answers[1], answers


def post(
    port: int, headers: Mapping[str, str], body: bytes
) -> tuple[http.client.HTTPMessage, bytes]:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/mcp", body, dict(headers))
        answer = connection.getresponse()
        return answer.headers, answer.read()
    finally:
        connection.close()

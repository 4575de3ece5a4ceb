"""Calls over HTTP on 16 keep-alive connections; uvicorn, uvloop and httptools on both sides."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Iterator, Mapping

import msgspec
import uvloop

from bench.child import Child
from bench.load import measure
from bench.requests import HANDSHAKE, PER_REQUEST, call, initialize, initialized
from bench.sampling import Row, Settings, at_least, compare

__all__ = ["rows"]

CONNECTIONS = 16

_HEADERS = {
    "host": "127.0.0.1",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}


def rows(settings: Settings) -> Iterator[Row]:
    """Without a session, in a session, and whether the load generator could do more."""
    calls = settings.calls(12000)
    repetitions = settings.repetitions(9)
    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        Child("http", "ours") as ours,
        Child("http", "bare", PER_REQUEST) as bare,
        Child("http", "bare", HANDSHAKE) as bare_in_session,
        Child("http", "static") as static,
    ):

        def rate(port: int, request: bytes) -> Callable[[], float]:
            return lambda: runner.run(measure(port, request, connections=CONNECTIONS, calls=calls))

        our_port, bare_port, bare_in_session_port, static_port = (
            int(child.read_line()) for child in (ours, bare, bare_in_session, static)
        )
        headers, body = _per_request(), call(1, PER_REQUEST)
        _check_answers(our_port, bare_port, headers, body)
        yield compare(
            f"HTTP, {PER_REQUEST}",
            "calls/s",
            rate(our_port, _raw(headers, body)),
            rate(bare_port, _raw(headers, body)),
            repetitions=repetitions,
            goal=at_least(0.85, later=0.95),
        )
        headers, body = _in_session(our_port), call(1, HANDSHAKE)
        _check_answers(our_port, bare_in_session_port, headers, body)
        yield compare(
            f"HTTP, session of {HANDSHAKE}",
            "calls/s",
            rate(our_port, _raw(headers, body)),
            rate(bare_in_session_port, _raw(headers, body)),
            repetitions=repetitions,
            goal=at_least(0.8),
        )
        yield compare(
            "check: static app / bare app",
            "calls/s",
            rate(static_port, _raw(headers, body)),
            rate(bare_in_session_port, _raw(headers, body)),
            repetitions=settings.repetitions(3),
            goal=at_least(1.15),
        )


def _per_request() -> dict[str, str]:
    return {
        **_HEADERS,
        "mcp-protocol-version": PER_REQUEST,
        "mcp-method": "tools/call",
        "mcp-name": "add",
    }


def _in_session(port: int) -> dict[str, str]:
    """Shake hands, and return the headers of the session."""
    session, _ = _post(port, _HEADERS, initialize(0))
    headers = {
        **_HEADERS,
        "mcp-protocol-version": HANDSHAKE,
        "mcp-session-id": session["mcp-session-id"],
    }
    _post(port, headers, initialized())
    return headers


def _check_answers(ours: int, bare: int, headers: Mapping[str, str], body: bytes) -> None:
    """Both must do the same work."""
    answers = [msgspec.json.decode(_post(port, headers, body)[1]) for port in (ours, bare)]
    assert answers[0] == answers[1], answers


def _post(
    port: int, headers: Mapping[str, str], body: bytes
) -> tuple[http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/mcp", body, dict(headers))
        answer = connection.getresponse()
        return answer.headers, answer.read()
    finally:
        connection.close()


def _raw(headers: Mapping[str, str], body: bytes) -> bytes:
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body

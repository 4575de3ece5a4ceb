"""Compares a response with the corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from mcp_gen.compat.recording import Frame
from tests.hostile.corpus import Hostile
from tests.hostile.wire import Answer
from tests.support.frames import server_violations
from tests.support.http.asgi import events_of

__all__ = ["objections"]

INTERNALS = re.compile(
    rb"""Traceback|File "|\.py\b|site-packages|mcp_gen|mcp_wire|msgspec|asyncio|uvicorn|"""
    rb"""<class|object at 0x|\b[A-Z]\w+(?:Error|Exception)\b|\bNoneType\b|\bdict\b|\btuple\b"""
)
"""Pattern of internals that a response must not reveal."""
REFUSED_WITH_ID = {-32601, -32602, -32603, -32020, -32021, -32022}
"""Error codes of requests that could be decoded, whose id the response repeats."""


def objections(hostile: Hostile, server: str, answer: Answer | None) -> list[str]:
    """Return the differences to the required response of an HTTP server; empty if none."""
    if answer is None or not hostile.status_of(server):
        as_demanded = answer is None and not hostile.status_of(server)
        return [] if as_demanded else [f"got {answer or 'no answer'}"]
    status, headers, body = answer
    found = list(_of_http(hostile, server, status, headers))
    found += [f"tells {word.decode()!r}" for word in INTERNALS.findall(body)]
    if hostile.has and hostile.has.encode() not in body:
        found.append(f"does not say {hostile.has!r}")
    if hostile.stream:
        return found
    if headers.get("content-type") == "text/event-stream":
        body = events_of(body)[-1].data
    elif headers.get("content-type") != "application/json":
        body = b""
    code = hostile.code_of(server)
    if hostile.parts:
        if len(msgspec.json.decode(body)) != hostile.parts:
            found.append(f"expected {hostile.parts} messages, got {body!r}")
    elif code is None:
        found += _of_no_error(status, body)
    else:
        found += _of_error(hostile, code, body)
    return found


def _of_http(
    hostile: Hostile, server: str, status: int, headers: Mapping[str, str]
) -> Iterator[str]:
    expected, kind = hostile.status_of(server), headers.get("content-type", "")
    if status != expected:
        yield f"expected the status {expected}, got {status}"
    if status == 405 and not headers.get("allow"):
        yield "expected the header `Allow`"
    if hostile.stream and kind != "text/event-stream":
        yield f"expected a stream, got {kind!r}"


def _of_no_error(status: int, body: bytes) -> Iterator[str]:
    if status != 200 and body:
        yield f"expected no message, got {body!r}"
    if status == 200 and "result" not in _object(body):
        yield f"expected a result, got {body!r}"


def _of_error(hostile: Hostile, code: int, body: bytes) -> Iterator[str]:
    sent = hostile.content()
    frame, asked = _object(body), _object(sent)
    found = frame.get("error", {}).get("code")
    if found != code:
        yield f"expected the code {code}, got {body!r}"
        return
    is_answer = "result" in asked or "error" in asked
    id = None if is_answer else asked.get("id")
    if "id" in frame and frame["id"] != id:
        yield f"its id is {frame['id']!r}"
    if type(id) in (int, str) and code in REFUSED_WITH_ID and "id" not in frame:
        yield "expected the id of the request"
    for violation in server_violations(
        hostile.base.revision, [Frame("client", sent), Frame("server", body)]
    ):
        yield str(violation)


def _object(data: bytes) -> dict[str, Any]:
    try:
        # The id can be decoded although the text cannot.
        found: Any = msgspec.json.decode(data.decode(errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

"""The server that attacks its clients: `python -m tests.attack.hostile PORT`.

The path of the endpoint chooses what its clients get. Over HTTP at the newest revision with a
handshake; `python -m tests.attack.hostile NAME` speaks over stdio.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

import msgspec

from mcp_gen.session.duplex.client_parts import DEFAULT_MAX_VALUES
from tests.soak.traffic.wire import HOST
from tests.support.frames import HANDSHAKE, encoded

__all__ = ["OVER_HTTP", "OVER_STDIO", "path_of"]

MB = 2**20
Parts: TypeAlias = Iterator[bytes]
Answers: TypeAlias = Callable[[Any, Any], Parts]
"""Yields the parts of the HTTP body that answers a request of this id and these params."""

OVER_HTTP: dict[str, tuple[str, str, Answers]] = {}
"""Attacks by name: the method that is answered with it, the content type, and the answer."""
OVER_STDIO: dict[str, Callable[[Any], Parts]] = {}
"""Attacks by name: yields what answers the handshake of this id."""

JSON, SSE = "application/json", "text/event-stream"


def over_http(name: str, method: str, kind: str = JSON) -> Callable[[Answers], Answers]:
    """Add an attack that answers one method."""

    def add(answers: Answers) -> Answers:
        OVER_HTTP[name] = (method, kind, answers)
        return answers

    return add


class Chunks(bytes):
    """Part of a body that is divided into chunks already."""


def path_of(name: str) -> str:
    """Return the path of the endpoint with this attack."""
    return f"/{quote(name, safe='')}"


def response(id: Any, result: Any) -> bytes:
    return encoded({"jsonrpc": "2.0", "id": id, "result": result})


def event(data: bytes) -> bytes:
    return b"event: message\ndata: " + data + b"\n\n"


def text_result(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


# --- attacks over HTTP ---


def exploding(depth: int) -> dict[str, Any]:
    """Return a schema whose check takes time that doubles with each level."""
    tree = {
        "anyOf": [
            {"properties": {"a": {"$ref": "#/$defs/T"}}, "unevaluatedProperties": False},
            {"properties": {"a": {"$ref": "#/$defs/T"}, "b": {}}, "unevaluatedProperties": False},
        ]
    }
    return {"type": "object", "$defs": {"T": tree}, "properties": {"root": {"$ref": "#/$defs/T"}}}


def nested(depth: int) -> Any:
    return {"a": nested(depth - 1)} if depth else {"c": 1}


@over_http("an output schema that explodes", "tools/call")
def explodes(id: Any, params: Any) -> Parts:
    yield response(id, {**text_result("{}"), "structuredContent": {"root": nested(24)}})


@over_http("an output schema with a pattern that explodes", "tools/call")
def pattern(id: Any, params: Any) -> Parts:
    yield response(id, {**text_result("{}"), "structuredContent": {"text": "a" * 40 + "!"}})


SCHEMAS: dict[str, dict[str, Any]] = {
    "an output schema that explodes": exploding(24),
    "an output schema with a pattern that explodes": {
        "type": "object",
        "properties": {"text": {"type": "string", "pattern": r"^(?=a)((a+)+)+$"}},
    },
}


@over_http("a result with 400,000 keys", "tools/call")
def many_keys(id: Any, params: Any) -> Parts:
    yield _result_with_keys(id, 400_000)


@over_http("a result with as many keys as are taken", "tools/call")
def most_keys(id: Any, params: Any) -> Parts:
    yield _result_with_keys(id, DEFAULT_MAX_VALUES - 100)


def _result_with_keys(id: Any, count: int) -> bytes:
    return response(id, {**text_result("x"), "structuredContent": _keys(count)})


@cache
def _keys(count: int) -> msgspec.Raw:
    # Encoded once: this process shall not take the time that is measured.
    return msgspec.Raw(encoded({f"k{number}": 1 for number in range(count)}))


@over_http("100,000 chunks of one byte", "tools/call")
def one_byte_each(id: Any, params: Any) -> Parts:
    yield from [Chunks(b"1\r\n \r\n" * 1_000)] * 100
    yield response(id, text_result("done"))


@over_http("6 MB of empty data lines", "tools/call", SSE)
def empty_lines(id: Any, params: Any) -> Parts:
    for _ in range(96):
        yield b"data:\n" * 10_923
    yield b"\n"


@over_http("10,000 notices of changes before the answer", "tools/call", SSE)
def changes(id: Any, params: Any) -> Parts:
    notice = event(encoded({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
    yield from [notice * 100] * 100
    yield event(response(id, text_result("done")))


@over_http("100,000 log messages before the answer", "tools/call", SSE)
def messages(id: Any, params: Any) -> Parts:
    said = {"level": "info", "data": "x"}
    frame = {"jsonrpc": "2.0", "method": "notifications/message", "params": said}
    yield from [event(encoded(frame)) * 1000] * 100
    yield event(response(id, text_result("done")))


@over_http("1,000 requests of the server before the answer", "tools/call", SSE)
def requests(id: Any, params: Any) -> Parts:
    for number in range(1000):
        yield event(encoded({"jsonrpc": "2.0", "id": f"s{number}", "method": "ping"}))
    yield event(response(id, text_result("done")))


@over_http("an error text of 8 MB", "tools/call")
def error_text(id: Any, params: Any) -> Parts:
    error = {"code": -32000, "message": "x" * (8 * MB)}
    yield encoded({"jsonrpc": "2.0", "id": id, "error": error})


@over_http("a body of 30 MB that is no JSON", "tools/call")
def no_json(id: Any, params: Any) -> Parts:
    yield b"["
    yield from [b"[" * MB] * 30


@over_http("pages of tools without an end", "tools/list")
def pages(id: Any, params: Any) -> Parts:
    number = int((params or {}).get("cursor", 0)) + 1
    tools = [{"name": f"t{number}_{n}", "inputSchema": {"type": "object"}} for n in range(10)]
    yield response(id, {"tools": tools, "nextCursor": str(number)})


# --- attacks over stdio ---


def over_stdio(name: str) -> Callable[[Callable[[Any], Parts]], Callable[[Any], Parts]]:
    """Add an attack of a command."""

    def add(answers: Callable[[Any], Parts]) -> Callable[[Any], Parts]:
        OVER_STDIO[name] = answers
        return answers

    return add


@over_stdio("a line of 80 MB without an end")
def endless_line(id: Any) -> Parts:
    yield from [b"x" * 65_536] * 1280


@over_stdio("100,000 lines that are no messages")
def no_messages(id: Any) -> Parts:
    yield from [b"this is no message\n" * 1000] * 100
    yield initialized(id) + b"\n"


@over_stdio("100,000 empty lines")
def blank(id: Any) -> Parts:
    yield from [b"\n" * 10_000] * 10
    yield initialized(id) + b"\n"


def initialized(id: Any) -> bytes:
    about = {"serverInfo": {"name": "hostile", "version": "1"}, "capabilities": {"tools": {}}}
    return response(id, {"protocolVersion": HANDSHAKE, **about})


# --- the server ---


def _answer(name: str, asked: Any) -> tuple[str, Parts]:
    """Return the content type and the parts of an answer."""
    method, id, params = asked.get("method"), asked.get("id"), asked.get("params")
    attacked, kind, answers = OVER_HTTP[name]
    if method == attacked:
        return kind, answers(id, params)
    if method == "initialize":
        return JSON, iter([initialized(id)])
    if method == "tools/list":
        tool = {"name": "attack", "inputSchema": {"type": "object"}}
        if name in SCHEMAS:
            tool["outputSchema"] = SCHEMAS[name]
        return JSON, iter([response(id, {"tools": [tool]})])
    return JSON, iter([])


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            headers = {
                name.lower(): value for name, _, value in (one.partition(": ") for one in lines)
            }
            method, path, _ = first.split(" ")
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            asked = msgspec.json.decode(body) if method == "POST" else {}
            if method != "POST" or "id" not in asked or "method" not in asked:
                status = 202 if method == "POST" else 405
                writer.write(b"HTTP/1.1 %d x\r\ncontent-length: 0\r\n\r\n" % status)
                continue
            kind, parts = _answer(unquote(path[1:]), asked)
            lines = ["HTTP/1.1 200 OK", f"content-type: {kind}", "transfer-encoding: chunked"]
            writer.write("\r\n".join([*lines, "", ""]).encode())
            for part in parts:
                is_divided = isinstance(part, Chunks)
                writer.write(part if is_divided else b"%x\r\n%s\r\n" % (len(part), part))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
    writer.close()


async def over_port(port: int) -> None:
    """Serve all attacks over HTTP."""
    async with await asyncio.start_server(_serve, HOST, port) as server:
        await server.serve_forever()


def over_pipe(name: str) -> None:
    """Serve one attack over stdio."""
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        asked = msgspec.json.decode(line)
        if asked.get("method") == "initialize":
            for part in OVER_STDIO[name](asked["id"]):
                out.write(part)
            out.flush()


if __name__ == "__main__":
    if sys.argv[1].isdigit():
        asyncio.run(over_port(int(sys.argv[1])))
    else:
        over_pipe(sys.argv[1])

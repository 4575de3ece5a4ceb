"""Attacks on a server over HTTP, as a table: what one hostile client does again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import msgspec

from mcp_gen.core.errors import ProtocolError
from tests.soak.traffic.wire import Connection, request
from tests.support.frames import BATCHING, HANDSHAKE, PER_REQUEST, Speaker, encoded
from tests.support.http.asgi import headers_of

__all__ = ["ATTACKS", "Attacker", "Outcome"]

JSON = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
}
MB = 2**20


@dataclass
class Outcome:
    """Answers of a server to its attacker."""

    answers: dict[str, int] = field(default_factory=dict[str, int])
    """Number of answers, by HTTP status and JSON-RPC error code."""
    wrong: list[str] = field(default_factory=list[str])

    def count(self, what: str) -> None:
        """Count one more."""
        self.answers[what] = self.answers.get(what, 0) + 1

    def saw(self, status: int, body: bytes) -> None:
        """Count an answer; one that says that the server is at fault is wrong."""
        code = _code_in(body)
        self.count(f"{status}" if code is None else f"{status} {code}")
        if status >= 500 or code == ProtocolError.code:
            self.wrong.append(f"{status}: {body[:200]!r}")


class Attacker:
    """A client that keeps no rule, at one port."""

    def __init__(self, port: int, outcome: Outcome) -> None:
        self.port = port
        self.outcome = outcome
        self.open: list[Connection] = []
        """Connections that stay open until the attack is over."""

    async def send(self, data: bytes, *, is_open: bool = False) -> None:
        """Send bytes on a connection of their own, and read the answer if one comes."""
        connection = await Connection.open(self.port)
        try:
            await self.exchange(connection, data, is_open=is_open)
        finally:
            await connection.hang_up("reset")

    async def exchange(
        self, connection: Connection, data: bytes, *, is_open: bool = False
    ) -> dict[str, str]:
        """Send bytes and read the answer; return its headers.

        An open answer is a stream that does not end: its head alone is read.
        """
        with suppress(ConnectionError, EOFError):
            await connection.send(data)
            answer = await connection.answer()
            body = b"" if answer.is_stream and is_open else await answer.body()
            self.outcome.saw(answer.status, body)
            return dict(answer.headers)
        self.outcome.count("closed")
        return {}

    async def post(self, revision: str, body: bytes, **headers: str) -> None:
        """Send a POST on a connection of its own."""
        await self.send(posted(revision, body, **headers))

    async def session(self, connection: Connection) -> dict[str, str]:
        """Open a session and return its header."""
        speaker = Speaker(HANDSHAKE)
        headers = await self.exchange(connection, posted(HANDSHAKE, speaker.initialize(0)))
        name = str(speaker.profile.session_header).lower()
        own = {name: headers[name]} if name in headers else {}
        await self.exchange(connection, posted(HANDSHAKE, speaker.initialized, **own))
        return own

    async def end(self) -> None:
        """Close what is open."""
        for connection in self.open:
            await connection.hang_up("reset")


Attack: TypeAlias = Callable[[Attacker], Awaitable[None]]
ATTACKS: dict[str, Attack] = {}
"""Attacks by what they send."""


def attack(name: str) -> Callable[[Attack], Attack]:
    """Add an attack to the table."""

    def add(does: Attack) -> Attack:
        ATTACKS[name] = does
        return does

    return add


def posted(revision: str, body: bytes, **headers: str) -> bytes:
    """Return a POST of a message, with the headers that its revision demands."""
    return request("POST", "/mcp", {**JSON, **mirrored(revision, body), **headers}, body)


@cache
def mirrored(revision: str, body: bytes) -> dict[str, str]:
    """Return the headers that mirror a message; none for one that cannot be read."""
    with suppress(msgspec.DecodeError, RecursionError, AttributeError):
        return headers_of(Speaker(revision), body)
    return {}


@cache
def call(tool: str, arguments: str, revision: str = PER_REQUEST) -> bytes:
    """Return a call whose arguments are JSON text."""
    mark = "@@"
    message = Speaker(revision).request(1, "tools/call", {"name": tool, "arguments": mark})
    return message.replace(f'"{mark}"'.encode(), arguments.encode())


# --- bodies that cost work ---


@attack("a call with 400,000 keys")
async def many_keys(attacker: Attacker) -> None:
    await attacker.post(PER_REQUEST, _many_keys())


@cache
def _many_keys() -> bytes:
    return call("count", '{"values":{' + ",".join(f'"k{n}":1' for n in range(400_000)) + "}}")


@attack("a call with a million empty objects")
async def many_objects(attacker: Attacker) -> None:
    await attacker.post(PER_REQUEST, _many_objects())


@cache
def _many_objects() -> bytes:
    return call("echo", '{"text":[' + ",".join(["{}"] * 1_000_000) + "]}")


@attack("a call nested 100,000 deep")
async def nested(attacker: Attacker) -> None:
    await attacker.post(PER_REQUEST, _nested())


@cache
def _nested() -> bytes:
    return call("echo", '{"text":' + "[" * 100_000 + "]" * 100_000 + "}")


@attack("12 MB of escapes")
async def escapes(attacker: Attacker) -> None:
    await attacker.post(PER_REQUEST, _escapes())


@cache
def _escapes() -> bytes:
    return call("echo", '{"text":"' + "\\u00e9" * (2 * MB) + '"}')


@attack("6 MB that are not UTF-8")
async def not_utf8(attacker: Attacker) -> None:
    await attacker.post(PER_REQUEST, _escapes()[: 6 * MB] + b"\xff", **_named("echo"))


def _named(name: str) -> dict[str, str]:
    return mirrored(PER_REQUEST, call(name, "{}"))


@attack("an argument of the wrong type, 6 MB long")
async def wrong_type(attacker: Attacker) -> None:
    await attacker.post(PER_REQUEST, _wrong_type())


@cache
def _wrong_type() -> bytes:
    return call("add", '{"a":"' + "x" * (6 * MB) + '","b":1}')


@attack("an id of 4 MB")
async def long_id(attacker: Attacker) -> None:
    await attacker.post(PER_REQUEST, _long_id())


@cache
def _long_id() -> bytes:
    return Speaker(PER_REQUEST).call("i" * (4 * MB), "no such tool")


@attack("a cursor of 4 MB")
async def long_cursor(attacker: Attacker) -> None:
    await attacker.post(PER_REQUEST, _long_cursor())


@cache
def _long_cursor() -> bytes:
    return Speaker(PER_REQUEST).request(1, "tools/list", {"cursor": "c" * (4 * MB)})


@attack("numbers with 400 digits")
async def long_numbers(attacker: Attacker) -> None:
    number = "1" + "0" * 400
    await attacker.post(PER_REQUEST, call("add", f'{{"a":{number},"b":1}}'))
    task = call("job", f'{{}},"task":{{"ttl":{number}}}', HANDSHAKE)
    connection = await Connection.open(attacker.port)
    try:
        own = await attacker.session(connection)
        await attacker.exchange(connection, posted(HANDSHAKE, task, **own))
        await attacker.exchange(connection, request("DELETE", "/mcp", own))
    finally:
        await connection.hang_up()


@attack("an array of 1,000 calls")
async def batch(attacker: Attacker) -> None:
    speaker = Speaker(BATCHING[-1])
    connection = await Connection.open(attacker.port)
    try:
        headers = await attacker.exchange(
            connection, posted(speaker.revision, speaker.initialize(0))
        )
        name = str(speaker.profile.session_header).lower()
        own = {name: headers[name]} if name in headers else {}
        await attacker.exchange(connection, request("POST", "/mcp", {**JSON, **own}, _batch()))
        await attacker.exchange(connection, request("DELETE", "/mcp", own))
    finally:
        await connection.hang_up()


@cache
def _batch() -> bytes:
    speaker = Speaker(BATCHING[-1])
    return b"[" + b",".join(speaker.call(n, "add", a=1, b=n) for n in range(1000)) + b"]"


# --- what is kept ---


@attack("a listen to 1.3 million URIs")
async def listen_far(attacker: Attacker) -> None:
    await attacker.send(posted(PER_REQUEST, _listening(1_300_000, "n")), is_open=True)


@attack("a listen to 100,000 URIs")
async def listen_many(attacker: Attacker) -> None:
    await attacker.send(posted(PER_REQUEST, _listening(100_000, "note://")), is_open=True)


@cache
def _listening(count: int, prefix: str) -> bytes:
    uris = [f"{prefix}{n}" for n in range(count)]
    wanted = {"notifications": {"resourceSubscriptions": uris}}
    return Speaker(PER_REQUEST).request(1, "subscriptions/listen", wanted)


@attack("200 listens at once")
async def listens(attacker: Attacker) -> None:
    wanted = {"notifications": {"resourceSubscriptions": ["note://a"]}}

    async def one(number: int) -> None:
        connection = await Connection.open(attacker.port)
        attacker.open.append(connection)
        message = Speaker(PER_REQUEST).request(number, "subscriptions/listen", wanted)
        await connection.send(posted(PER_REQUEST, message))
        attacker.outcome.count(f"{(await connection.answer()).status}")

    await asyncio.gather(*map(one, range(200)))
    await attacker.end()
    attacker.open.clear()


@attack("10,000 subscriptions")
async def subscriptions(attacker: Attacker) -> None:
    connection = await Connection.open(attacker.port)
    try:
        own = await attacker.session(connection)
        for number in range(10_000):
            message = Speaker(HANDSHAKE).request(
                number, "resources/subscribe", {"uri": f"note://{number}"}
            )
            await attacker.exchange(connection, posted(HANDSHAKE, message, **own))
        await attacker.exchange(connection, request("DELETE", "/mcp", own))
    finally:
        await connection.hang_up()


@attack("200 handshakes at once, 100 KB of capabilities each")
async def handshakes(attacker: Attacker) -> None:
    speaker = Speaker(HANDSHAKE)
    much = encoded({"x": {"y": "z" * 100_000}})
    message = speaker.initialize(0).replace(
        b'"capabilities":{}', b'"capabilities":{"experimental":' + much + b"}"
    )

    async def one() -> None:
        await attacker.post(HANDSHAKE, message)

    await asyncio.gather(*(one() for _ in range(200)))


@attack("tasks, one after the other")
async def tasks(attacker: Attacker) -> None:
    connection = await Connection.open(attacker.port)
    try:
        own = await attacker.session(connection)
        for number in range(500):
            params = {"name": "job", "arguments": {}, "task": {}}
            message = Speaker(HANDSHAKE).request(number, "tools/call", params)
            await attacker.exchange(connection, posted(HANDSHAKE, message, **own))
        await attacker.exchange(connection, request("DELETE", "/mcp", own))
    finally:
        await connection.hang_up()


@attack("a stream with 10,000 log messages that is not read")
async def unread(attacker: Attacker) -> None:
    connection = await Connection.open(attacker.port, slow=True)
    attacker.open.append(connection)
    own = await attacker.session(connection)
    level = Speaker(HANDSHAKE).request(1, "logging/setLevel", {"level": "debug"})
    await attacker.exchange(connection, posted(HANDSHAKE, level, **own))
    message = Speaker(HANDSHAKE).call(2, "pour", messages=10_000)
    await connection.send(posted(HANDSHAKE, message, **own))
    await asyncio.sleep(0.2)
    await attacker.end()
    attacker.open.clear()
    await attacker.send(request("DELETE", "/mcp", own))


# --- HTTP ---


@attack("8 MB of header lines")
async def header_bytes(attacker: Attacker) -> None:
    lines = b"".join(b"x-%d: %s\r\n" % (n, b"v" * 1000) for n in range(8000))
    await attacker.send(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n" + lines)


@attack("one header line of 8 MB")
async def header_line(attacker: Attacker) -> None:
    await attacker.send(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: " + b"v" * (8 * MB))


@attack("300 connections that send a byte now and then")
async def slow_headers(attacker: Attacker) -> None:
    for _ in range(300):
        connection = await Connection.open(attacker.port)
        attacker.open.append(connection)
        await connection.send(b"POST /mcp HTTP/1.1\r\nhost: localh")
    for connection in attacker.open:
        await connection.send(b"o")
    await attacker.end()
    attacker.open.clear()


@attack("a body of 64 KB, byte by byte")
async def bytewise(attacker: Attacker) -> None:
    body = call("echo", '{"text":"' + "x" * 65_536 + '"}')
    connection = await Connection.open(attacker.port)
    try:
        head, _, body = posted(PER_REQUEST, body).partition(b"\r\n\r\n")
        await connection.send(head + b"\r\n\r\n")
        for at in range(len(body)):
            await connection.send(body[at : at + 1])
        await attacker.exchange(connection, b"")
    finally:
        await connection.hang_up()


@attack("a million empty chunks")
async def chunks(attacker: Attacker) -> None:
    head = request("POST", "/mcp", {**JSON, **_named("add"), "transfer-encoding": "chunked"})
    head = head.replace(b"content-length: 0\r\n", b"")
    message = call("add", '{"a":1,"b":2}')
    one = b"".join(b"1\r\n%c\r\n" % byte for byte in message)
    await attacker.send(head + (b"1\r\n \r\n" * 1_000_000) + one + b"0\r\n\r\n")


@attack("unknown methods without a pause")
async def unknown(attacker: Attacker) -> None:
    connection = await Connection.open(attacker.port)
    try:
        message = Speaker(PER_REQUEST).request(1, "acme/unknown")
        for _ in range(500):
            await attacker.exchange(connection, posted(PER_REQUEST, message))
    finally:
        await connection.hang_up()


@attack("calls without a pause, on 32 connections")
async def calls(attacker: Attacker) -> None:
    async def one() -> None:
        connection = await Connection.open(attacker.port)
        try:
            data = posted(PER_REQUEST, call("add", '{"a":1,"b":2}'))
            for _ in range(50):
                await attacker.exchange(connection, data)
        finally:
            await connection.hang_up()

    await asyncio.gather(*(one() for _ in range(32)))


def _code_in(body: bytes) -> int | None:
    """Return the error code of a JSON-RPC message, or of the last event of a stream."""
    text = body.rpartition(b"data: ")[2] if body[:1] not in (b"{", b"[") else body
    try:
        frame: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None
    error = frame.get("error") if isinstance(frame, dict) else None
    return error.get("code") if isinstance(error, dict) else None

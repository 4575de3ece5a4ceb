"""Answers of an HTTP server to a client: JSON and event streams, right and wrong ones."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mcp_wire.profile import Profile
from tests.fuzz.making.messages import ODD_IDS
from tests.fuzz.making.shapes import Shapes
from tests.fuzz.making.texts import as_json, bent

__all__ = ["EVENTS", "JSON", "Answer", "Answers", "good_result"]

JSON, EVENTS = "application/json", "text/event-stream"
ODD_TYPES = ("", "text/html", "application/json; charset=utf-16", "TEXT/EVENT-STREAM", "a/b/c", "é")
STATUSES = (200, 202, 204, 301, 307, 400, 401, 403, 404, 405, 409, 413, 429, 500, 503, 599)


@dataclass
class Answer:
    """One HTTP response.

    Args:
        status: Status.
        headers: Header lines.
        chunks: Pieces of the body.
        end: `close`, `open` (the stream stays open) or `break` (the connection is lost).
        messages: JSON-RPC messages in the body.
        is_bent: True if bytes of the body were changed afterwards.
    """

    status: int
    headers: list[tuple[bytes, bytes]]
    chunks: list[bytes] = field(default_factory=list[bytes])
    end: str = "close"
    messages: tuple[bytes, ...] = ()
    is_bent: bool = False


def good_result(shapes: Shapes, method: str, text: str = "alive") -> Any:
    """Return a valid result of a method, the smallest that there is."""
    profile = shapes.profile
    if method == "initialize":
        return {
            "protocolVersion": profile.revision,
            "capabilities": _capabilities(profile),
            "serverInfo": {"name": "far", "version": "1"},
        }
    found: Any = shapes.smallest(_result_type(shapes, method))
    if method == "tools/call":
        found["content"] = [{"type": "text", "text": text}]
    if "supportedVersions" in found:
        found |= {"supportedVersions": [profile.revision], "capabilities": _capabilities(profile)}
    return found


def _capabilities(profile: Profile) -> dict[str, Any]:
    found: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}, "logging": {}}
    return found | ({"completions": {}} if profile.handshake is None else {})


def _result_type(shapes: Shapes, method: str) -> str:
    known = shapes.profile.methods.get(method)
    names = [kind.__name__ for kind in known.results] if known else []
    return next((name for name in names if shapes.has(name)), "EmptyResult")


@dataclass(frozen=True)
class Answers:
    """Makes the answer to one request of a client.

    Args:
        shapes: Schemas of the revision.
        random: Random numbers of this answer alone.
    """

    shapes: Shapes
    random: Random

    def answer(self, asked: dict[str, Any]) -> Answer:
        """Return the response to a request."""
        random = self.random
        messages = [self.message(asked)]
        if random.random() < 0.05:
            messages.append(self.message(asked))
        if random.random() < 0.3:
            messages[:0] = [self._other() for _ in range(random.randrange(1, 4))]
        if random.random() < 0.05:
            messages.pop()
        status = random.choice(STATUSES) if random.random() < 0.08 else 200
        if random.random() < 0.45:
            body, kind = messages[-1] if messages else b"", JSON
        else:
            body, kind = self.stream(messages), EVENTS
        is_bent = random.random() < 0.06
        if is_bent:
            body = bent(body, random)
        chunks, end = self._chunks(body), self._end()
        return Answer(status, self._headers(kind), chunks, end, tuple(messages), is_bent)

    def message(self, asked: dict[str, Any]) -> bytes:
        """Return the JSON of a response to a request, or of something like it."""
        shapes, random = self.shapes, self.random
        whole: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.get("id")}
        method = str(asked.get("method"))
        roll = random.random()
        if roll < 0.8:
            result = good_result(shapes, method)
            if random.random() < 0.6:
                result = shapes.instance(_result_type(shapes, method), random)
            whole["result"] = shapes.changed(result, random) if random.random() < 0.5 else result
        elif roll < 0.9:
            code = random.choice((-32601, -32603, -32042, -32021, -32022, 0, "x", None, "@1e999@"))
            whole["error"] = {"code": code, "message": random.choice(("no", None, 1)), "data": {}}
        elif roll < 0.95:
            whole["id"] = random.choice((*ODD_IDS, str(asked.get("id"))))
            whole["result"] = {}
        else:
            whole = shapes.changed({**whole, "result": {}}, random)
        return as_json(whole, random)

    def _other(self) -> bytes:
        """Return a notification or request of the server, or something like it."""
        shapes, random = self.shapes, self.random
        methods = [one for one in shapes.profile.methods.values() if one.from_server]
        method = random.choice(methods)
        name = shapes.by_method[method.name]
        value = shapes.instance(name, random)
        if method.kind == "request":
            value["id"] = random.choice((random.randrange(10**9), f"s{random.randrange(10**9)}"))
        value = shapes.changed(value, random) if random.random() < 0.4 else value
        return as_json(value, random)

    def stream(self, messages: list[bytes]) -> bytes:
        """Return messages as an event stream, in one of many ways to write it."""
        random = self.random
        end = random.choice((b"\n", b"\n", b"\r\n", b"\r"))
        parts = [b"\xef\xbb\xbf"] if random.random() < 0.05 else []
        for number, message in enumerate(messages):
            parts += self._noise(number)
            for line in self._lines(message):
                parts.append(random.choice((b"data: ", b"data:")) + line)
            parts.append(b"")
        return end.join([*parts, b""])

    def _noise(self, number: int) -> list[bytes]:
        random, found = self.random, list[bytes]()
        if random.random() < 0.15:
            found += [random.choice((b":", b": beat", b"x: y", b"data", b"", b"\xff\xfe: 1"))]
        if random.random() < 0.15:
            found += [random.choice((b"id: %d" % number, b"id", b"id: a\0b", b"id: \xff", b"id:"))]
        if random.random() < 0.15:
            found += [random.choice((b"retry: 5", b"retry: x", b"retry: -1", b"retry:"))]
        if random.random() < 0.15:
            found += [
                random.choice((b"event: message", b"event: other", b"event:", b"event: \xff"))
            ]
        if random.random() < 0.03:
            found += [b"data:"] * 300
        return found

    def _lines(self, message: bytes) -> list[bytes]:
        """Return the JSON as lines: its white space may be line breaks."""
        if self.random.random() < 0.9:
            return [message.replace(b"\n", b" ").replace(b"\r", b" ")]
        try:
            return json.dumps(json.loads(message), indent=1).encode().split(b"\n")
        except (ValueError, RecursionError):
            return [message]

    def _headers(self, kind: str) -> list[tuple[bytes, bytes]]:
        random = self.random
        if random.random() < 0.05:
            kind = random.choice((*ODD_TYPES, JSON, EVENTS))
        found = [(b"content-type", kind.encode())] if kind else []
        if random.random() < 0.05:
            name = random.choice((b"mcp-session-id", b"location", b"content-encoding", b"x-\xff"))
            value = random.choice((b"", b"http://elsewhere/", b"/mcp", b"gzip", b"\xff", b"a b"))
            found.append((name, value))
        return found

    def _chunks(self, body: bytes) -> list[bytes]:
        random = self.random
        if random.random() < 0.5 or len(body) < 2:
            return [body]
        if random.random() < 0.1:
            return [body[at : at + 1] for at in range(min(len(body), 3000))] + [body[3000:]]
        cuts = sorted(random.randrange(len(body)) for _ in range(random.randrange(1, 5)))
        return [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]

    def _end(self) -> str:
        roll = self.random.random()
        return "open" if roll < 0.01 else "break" if roll < 0.04 else "close"

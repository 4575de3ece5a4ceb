"""Malformed messages of a peer and their responses: one table for every transport."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

import mcp_wire
from mcp_gen import InvalidParams, InvalidRequest, MethodNotFound, ParseError
from tests.support.frames import Speaker, encoded

__all__ = ["Malformed", "each_malformed"]

DEEP = b"[" * 100_000 + b"]" * 100_000


@dataclass(frozen=True)
class Malformed:
    """Message with its response: an error's code and id, or nothing."""

    name: str
    make: Callable[[Speaker], bytes]
    code: int | None = None
    id: int | str | None = None
    only_after_handshake: bool = False
    """True if the message names no revision: it is used at revisions with a handshake alone."""

    def is_answered_by(self, frames: list[Any]) -> bool:
        """Return True if these frames are the response; without an id the member must be absent."""
        if self.code is None or len(frames) != 1:
            return self.code is None and not frames
        (frame,) = frames
        id = {} if self.id is None else {"id": self.id}
        return frame == {"jsonrpc": "2.0", "error": frame["error"], **id} and (
            frame["error"]["code"] == self.code
        )


def _literal(
    name: str, message: bytes, error: Any = None, id: int | str | None = None
) -> Malformed:
    return Malformed(name, lambda _: message, error and error.code, id)


def _call(name: str, params: bytes, error: Any, id: int | None = None) -> Malformed:
    """Return a tool call with these params as bytes; META is replaced by the revision's `_meta`."""

    def make(speaker: Speaker) -> bytes:
        filled = params.replace(b"META", encoded(speaker.meta))
        return b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":' + filled + b"}"

    return Malformed(name, make, error.code, id, only_after_handshake=params in (b"[1]", b'"echo"'))


MALFORMED = [
    _literal("not JSON", b"nonsense", ParseError),
    _literal("half an object", b'{"jsonrpc":"2.0","id":7', ParseError),
    _literal("broken UTF-8", b"\xff\xfe\xfd", ParseError),
    _literal("nested brackets", DEEP, ParseError),
    _literal("open brackets", b"[" * 200_000, ParseError),
    _literal("a number", b"17", InvalidRequest),
    _literal("a string", b'"tools/list"', InvalidRequest),
    _literal("null", b"null", InvalidRequest),
    _literal("an empty object", b"{}", InvalidRequest),
    _literal("no method", b'{"jsonrpc":"2.0","id":7}', InvalidRequest, 7),
    _literal("another JSON-RPC", b'{"jsonrpc":"1.0","id":7,"method":"m"}', InvalidRequest, 7),
    _literal("no JSON-RPC at all", b'{"id":"seven","method":"m"}', InvalidRequest, "seven"),
    _literal(
        "a method that is no string", b'{"jsonrpc":"2.0","id":7,"method":1}', InvalidRequest, 7
    ),
    _literal("a null id", b'{"jsonrpc":"2.0","id":null,"method":"m"}', InvalidRequest),
    _literal("a boolean id", b'{"jsonrpc":"2.0","id":true,"method":"m"}', InvalidRequest),
    _literal("a fractional id", b'{"jsonrpc":"2.0","id":1.5,"method":"m"}', InvalidRequest),
    _literal("an id that is a list", b'{"jsonrpc":"2.0","id":[1],"method":"m"}', InvalidRequest),
    _literal("an answer to nothing", b'{"jsonrpc":"2.0","id":99,"result":{}}'),
    _literal("an error to nothing", b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"m"}}'),
    _literal("an error without an id", b'{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}'),
    _literal("an unknown notification", b'{"jsonrpc":"2.0","method":"notifications/unheard-of"}'),
    _literal(
        "a cancellation of nothing",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    ),
    _literal(
        "a cancellation without params", b'{"jsonrpc":"2.0","method":"notifications/cancelled"}'
    ),
    Malformed("an unknown method", lambda s: s.request(7, "no/such"), MethodNotFound.code, 7),
    Malformed(
        "a method for the other side",
        lambda s: s.request(7, "roots/list"),
        MethodNotFound.code,
        7,
    ),
    Malformed("a tool that there is not", lambda s: s.call(7, "nope"), InvalidParams.code, 7),
    _call("params that are a list", b"[1]", InvalidParams, 7),
    _call("params that are a string", b'"echo"', InvalidParams, 7),
    _call("a name that is a number", b'{"name":5,"_meta":META}', InvalidParams, 7),
    _call("no name", b'{"_meta":META}', InvalidParams, 7),
    _call(
        "arguments that are a list",
        b'{"name":"echo","arguments":[],"_meta":META}',
        InvalidParams,
        7,
    ),
    _call(
        "broken UTF-8 in arguments",
        b'{"name":"echo","arguments":{"text":"\xff"},"_meta":META}',
        ParseError,
        7,
    ),
    _call(
        "nested brackets in arguments",
        b'{"name":"echo","arguments":{"text":' + DEEP + b'},"_meta":META}',
        InvalidRequest,
        7,
    ),
    _call("broken UTF-8 in params", b'{"name":"\xff\xfe","_meta":META}', ParseError, 7),
    _call("nested brackets as params", DEEP, InvalidRequest, 7),
]


def each_malformed(revisions: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrize `revision` and `malformed`."""
    return pytest.mark.parametrize(
        ("revision", "malformed"),
        [
            pytest.param(revision, one, id=f"{revision}-{one.name}")
            for one in MALFORMED
            for revision in revisions
            if mcp_wire.profile(revision).handshake or not one.only_after_handshake
        ],
    )

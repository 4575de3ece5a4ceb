"""The bare minimum: `tools/call` of `add`, decoded and answered with msgspec alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

__all__ = ["PER_REQUEST", "answering"]

PER_REQUEST = "2026-07-28"
"""The revision whose requests say in `_meta` who asks."""

_SERVER_INFO = {"name": "add", "version": "1.0.0"}


class _Envelope(Struct):
    jsonrpc: str
    id: int | str
    method: str
    params: Raw


class _Sum(Struct):
    a: int
    b: int


class _Call(Struct):
    name: str
    arguments: _Sum
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class _Text(Struct, tag="text"):
    text: str


class _Result(Struct, rename="camel"):
    content: list[_Text]
    structured_content: dict[str, int]


class _CompleteResult(Struct, rename="camel", tag_field="resultType", tag="complete"):
    content: list[_Text]
    structured_content: int
    meta: dict[str, Any] = field(name="_meta")


class _Answer(Struct):
    id: int | str
    result: Any
    jsonrpc: str = "2.0"


_envelope = msgspec.json.Decoder(_Envelope)
_call = msgspec.json.Decoder(_Call)
_encode = msgspec.json.Encoder().encode


def _initialize(params: Raw) -> Any:
    asked: dict[str, Any] = msgspec.json.decode(params)
    return {
        "protocolVersion": asked["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": _SERVER_INFO,
    }


def _add(params: Raw) -> Any:
    values = _call.decode(params).arguments
    total = values.a + values.b
    return _Result([_Text(str(total))], {"result": total})


def _add_completely(params: Raw) -> Any:
    values = _call.decode(params).arguments
    total = values.a + values.b
    info = {"io.modelcontextprotocol/serverInfo": _SERVER_INFO}
    return _CompleteResult([_Text(str(total))], total, info)


def answering(revision: str) -> Callable[[bytes], bytes]:
    """Return the function that answers one message at a revision."""
    add = _add_completely if revision == PER_REQUEST else _add
    methods = {"initialize": _initialize, "tools/call": add}

    def answer(message: bytes) -> bytes:
        frame = _envelope.decode(message)
        return _encode(_Answer(frame.id, methods[frame.method](frame.params)))

    return answer

"""JSON-RPC frames: ids, batches and raw params. Knows no MCP method."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from mcp_gen.core.errors import InvalidRequest, McpError, ParseError, ProtocolError
from mcp_wire.base import encode

__all__ = [
    "Envelope",
    "ErrorObject",
    "NoResponse",
    "RequestId",
    "error_object",
    "failure",
    "notification",
    "read",
    "read_batch",
    "request",
    "response",
]

RequestId: TypeAlias = int | str

NOTHING = Raw(b"")


class NoResponse(InvalidRequest):
    """A frame without a method that is no answer either. `request_id` is what it may answer.

    `tries` says whether it was meant as one: it has a result or an error.
    """

    def __init__(self, message: str, request_id: RequestId | None, *, tries: bool) -> None:
        super().__init__(message, request_id)
        self.tries = tries


class Envelope(Struct, gc=False):
    """One frame as it came; params and result are not looked into yet. Empty `Raw` means absent."""

    jsonrpc: Literal["2.0"]
    id: RequestId | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING


class ErrorObject(Struct, omit_defaults=True):
    """The error member of a response. https://www.jsonrpc.org/specification#error_object"""

    code: int
    message: str
    data: Any = UNSET


class _Request(Struct, kw_only=True, gc=False):
    jsonrpc: str = "2.0"
    id: RequestId
    method: str
    params: Any = UNSET


class _Notification(Struct, kw_only=True, gc=False):
    jsonrpc: str = "2.0"
    method: str
    params: Any = UNSET


class _Response(Struct, kw_only=True, gc=False):
    jsonrpc: str = "2.0"
    id: RequestId
    result: Any


class _Failure(Struct, kw_only=True, gc=False):
    jsonrpc: str = "2.0"
    id: RequestId | UnsetType = UNSET
    error: ErrorObject


MAX_BATCH = 1000
"""How many frames may come in one array."""

_envelope = msgspec.json.Decoder(Envelope)
_object = msgspec.json.Decoder(dict[str, Raw])
_id: msgspec.json.Decoder[RequestId] = msgspec.json.Decoder(int | str)
_error = msgspec.json.Decoder(ErrorObject)

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read(data: bytes | Raw) -> Envelope:
    """Decode one frame.

    Raises:
        ParseError: not JSON in UTF-8, or nested too deeply to read.
        InvalidRequest: JSON, but no JSON-RPC frame; with the id where one could be read.
        NoAnswer: the same, and there is no method in it.
    """
    try:
        frame = _envelope.decode(data)
    except msgspec.ValidationError as error:
        raise _no_frame(f"no JSON-RPC message: {error}", data) from None
    except _UNREADABLE as error:
        raise ParseError(f"not JSON: {_why(error)}") from None
    if frame.method is UNSET and not frame.result and not frame.error:
        raise _no_frame("no JSON-RPC message: expected `method`, `result` or `error`", data)
    if data.__class__ is bytes and not data.isascii():
        # What is decoded later, or never, is text as well; entries of an array have been checked.
        _check_text(data, frame)
    if frame.method is not UNSET and frame.id is None:
        raise InvalidRequest("no JSON-RPC message: a request's `id` is a string or an integer")
    return frame


def read_batch(data: bytes) -> list[Raw]:
    """Split an array of frames.

    Raises:
        ParseError: not JSON in UTF-8.
        InvalidRequest: an empty array, or one of more than `MAX_BATCH` entries.
    """
    try:
        entries = [entry for entry in structs.astuple(_array().decode(data)) if entry]
        data.decode()
    except msgspec.ValidationError:
        raise InvalidRequest(f"an array may have at most {MAX_BATCH} messages") from None
    except _UNREADABLE as error:
        raise ParseError(f"not JSON: {_why(error)}") from None
    if not entries:
        raise InvalidRequest("an empty batch")
    return entries


@cache
def _array() -> msgspec.json.Decoder[Struct]:
    # An array of as many fields, because a list would be read to its end before it is counted:
    # some bytes of an attacker's would cost a hundred times as many of ours.
    fields = [(f"entry{number}", Raw, NOTHING) for number in range(MAX_BATCH)]
    kind = msgspec.defstruct("Batch", fields, array_like=True, forbid_unknown_fields=True)
    return msgspec.json.Decoder(kind)


def request(id: RequestId, method: str, params: Any) -> bytes:
    """The bytes of a request. `params` may be UNSET."""
    return encode(_Request(id=id, method=method, params=params))


def notification(method: str, params: Any) -> bytes:
    """The bytes of a notification. `params` may be UNSET."""
    return encode(_Notification(method=method, params=params))


def response(id: RequestId, result: Any) -> bytes:
    """The bytes of an answer."""
    return encode(_Response(id=id, result=result))


def failure(id: RequestId | None, error: ErrorObject) -> bytes:
    """The bytes of an error. Without an id the member is left out: null is nowhere allowed."""
    return encode(_Failure(id=UNSET if id is None else id, error=error))


def error_object(error: McpError | ProtocolError) -> ErrorObject:
    """What a peer is told of an error."""
    if isinstance(error, McpError):
        return ErrorObject(error.code, error.message, UNSET if error.data is None else error.data)
    return ErrorObject(error.code, str(error))


def read_error(data: Raw) -> McpError:
    """The peer's error as an exception; what it got wrong about the error itself is made good."""
    try:
        found = _error.decode(data)
    except _UNREADABLE:
        return McpError(ProtocolError.code, "an error without a code and a message")
    return McpError(found.code, found.message, None if found.data is UNSET else found.data)


def _check_text(data: bytes, frame: Envelope) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        id = None if frame.id is UNSET or frame.method is UNSET else frame.id
        raise ParseError(f"not JSON: {_why(error)}", id) from None


def _no_frame(message: str, data: bytes | Raw) -> InvalidRequest:
    try:
        members = _object.decode(data)
    except _UNREADABLE:
        return InvalidRequest(message)
    id = _readable_id(members)
    if "method" in members:
        return InvalidRequest(message, id)
    return NoResponse(message, id, tries="result" in members or "error" in members)


def _readable_id(members: dict[str, Raw]) -> RequestId | None:
    try:
        return _id.decode(members.get("id", NOTHING))
    except _UNREADABLE:
        return None


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)

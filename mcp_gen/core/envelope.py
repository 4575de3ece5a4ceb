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
    "is_response",
    "notification",
    "read",
    "read_batch",
    "request",
    "response",
]

RequestId: TypeAlias = int | str

NOTHING = Raw(b"")


class NoResponse(InvalidRequest):
    """A frame without a method that is no valid response either.

    Args:
        message: The error message.
        request_id: The id of the request that it may respond to; None if it could not be read.
        tries: True if the frame has a `result` or `error` member, so it was meant as a response.
    """

    def __init__(self, message: str, request_id: RequestId | None, *, tries: bool) -> None:
        super().__init__(message, request_id)
        self.is_response = tries


def is_response(error: McpError | ProtocolError) -> bool:
    """Return True if the error is about a frame that was meant as a response."""
    return isinstance(error, NoResponse) and error.is_response


class Envelope(Struct, gc=False):
    """One JSON-RPC frame as received; params and result are undecoded. Empty `Raw` means absent."""

    jsonrpc: Literal["2.0"]
    id: RequestId | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING


class ErrorObject(Struct, omit_defaults=True):
    """The error member of a response.

    Args:
        code: The error code.
        message: The error message.
        data: Additional JSON data; UNSET if absent, None for null.

    Source: https://www.jsonrpc.org/specification#error_object
    """

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


MALFORMED_ERROR = "an error without a code and a message"

MAX_BATCH = 1000
"""Maximum number of frames in one batch."""

_envelope = msgspec.json.Decoder(Envelope)
_object = msgspec.json.Decoder(dict[str, Raw])
_id: msgspec.json.Decoder[RequestId] = msgspec.json.Decoder(int | str)
_error = msgspec.json.Decoder(ErrorObject)

_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read(data: bytes | Raw) -> Envelope:
    """Decode one frame.

    Args:
        data: One JSON text, or one entry of a batch.

    Raises:
        ParseError: Not valid JSON in UTF-8, or nested too deeply.
        InvalidRequest: Valid JSON, but no JSON-RPC frame; with the id if it could be read.
        NoResponse: As InvalidRequest, and the frame has no method.
    """
    try:
        frame = _envelope.decode(data)
    except msgspec.ValidationError as error:
        raise _no_frame(f"no JSON-RPC message: {error}", data) from None
    except _UNREADABLE as error:
        raise ParseError(f"not JSON: {_reason(error)}") from None
    if frame.method is UNSET and not frame.result and not frame.error:
        raise _no_frame("no JSON-RPC message: expected `method`, `result` or `error`", data)
    if data.__class__ is bytes and not data.isascii():
        # Raw members are not decoded here, so UTF-8 is checked for the whole frame. Entries of a
        # batch have been checked by `read_batch`.
        _check_text(data, frame)
    if frame.method is not UNSET and frame.id is None:
        raise InvalidRequest("no JSON-RPC message: a request's `id` is a string or an integer")
    return frame


def read_batch(data: bytes) -> list[Raw]:
    """Split a batch into its frames, undecoded.

    Raises:
        ParseError: Not valid JSON in UTF-8.
        InvalidRequest: An empty array, or one of more than `MAX_BATCH` entries.
    """
    try:
        entries = [entry for entry in structs.astuple(_array().decode(data)) if entry]
        data.decode()
    except msgspec.ValidationError:
        raise InvalidRequest(f"an array may have at most {MAX_BATCH} messages") from None
    except _UNREADABLE as error:
        raise ParseError(f"not JSON: {_reason(error)}") from None
    if not entries:
        raise InvalidRequest("an empty batch")
    return entries


@cache
def _array() -> msgspec.json.Decoder[Struct]:
    # A struct with MAX_BATCH fields limits the length while decoding. A list would be decoded to
    # its end before it is counted: a small message could cost a hundred times its size in memory.
    fields = [(f"entry{number}", Raw, NOTHING) for number in range(MAX_BATCH)]
    kind = msgspec.defstruct("Batch", fields, array_like=True, forbid_unknown_fields=True)
    return msgspec.json.Decoder(kind)


def request(id: RequestId, method: str, params: Any) -> bytes:
    """Return the bytes of a request. `params` may be UNSET."""
    return encode(_Request(id=id, method=method, params=params))


def notification(method: str, params: Any) -> bytes:
    """Return the bytes of a notification. `params` may be UNSET."""
    return encode(_Notification(method=method, params=params))


def response(id: RequestId, result: Any) -> bytes:
    """Return the bytes of a successful response."""
    return encode(_Response(id=id, result=result))


def failure(id: RequestId | None, error: ErrorObject) -> bytes:
    """Return the bytes of an error response.

    Without an id the `id` member is omitted: no revision allows null.
    """
    return encode(_Failure(id=UNSET if id is None else id, error=error))


def error_object(error: McpError | ProtocolError) -> ErrorObject:
    """Return the error member to send to a peer for this exception."""
    if isinstance(error, McpError):
        return ErrorObject(error.code, error.message, UNSET if error.data is None else error.data)
    return ErrorObject(error.code, str(error))


def read_error(data: Raw) -> McpError:
    """Return the peer's error as an exception; a malformed error becomes an internal error."""
    return decode_error(data) or McpError(ProtocolError.code, MALFORMED_ERROR)


def decode_error(data: Raw) -> McpError | None:
    """Return the peer's error as an exception; None if it is malformed."""
    try:
        found = _error.decode(data)
    except _UNREADABLE:
        return None
    return McpError(found.code, found.message, None if found.data is UNSET else found.data)


def _check_text(data: bytes, frame: Envelope) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        id = None if frame.id is UNSET or frame.method is UNSET else frame.id
        raise ParseError(f"not JSON: {_reason(error)}", id) from None


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


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)

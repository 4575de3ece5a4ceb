"""JSON-RPC frames: ids, batches and raw params. Knows no MCP method."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any, Literal, TypeAlias, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from mcp_gen.core.checks.finite import check_finite
from mcp_gen.core.errors import InvalidRequest, McpError, ParseError, ProtocolError
from mcp_gen.core.json_size import excess, is_balanced
from mcp_gen.core.loose_json import NOTHING, raw_members
from mcp_gen.core.peer_values import MAX_ID_LENGTH, shortened
from mcp_wire.base import encode

__all__ = [
    "MIN_COMPLEX_BYTES",
    "UNREADABLE",
    "Envelope",
    "ErrorObject",
    "NoResponse",
    "RequestId",
    "TooComplex",
    "decode_frame",
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


class TooComplex(InvalidRequest):
    """A message has more keys and items than are decoded, or is nested too deeply.

    Args:
        reason: The error message.
        frame: The frame; of a batch, the one entry.
    """

    def __init__(self, reason: str, frame: Envelope) -> None:
        id = frame.id if frame.method is not UNSET and isinstance(frame.id, int | str) else None
        super().__init__(reason, id)
        self.frame = frame

    def name_option(self, option: str) -> None:
        """Add the option that allows more keys and items to the error message."""
        if str(self) != _TOO_DEEP:
            self.args = (f"{self}: `{option}` allows more",)


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


MAX_ERROR_LENGTH = 2_000
"""Characters of the message of an error that this library makes."""
MAX_BATCH = 1000
"""Maximum number of frames in one batch."""
MAX_DEPTH = 500
"""Maximum depth of arrays and objects in one message.

Python limits recursion to 1000 calls. What decodes, restates and encodes a message needs one or two
for each level, beside those of the program around it.
"""
_TOO_DEEP = f"a message may be nested at most {MAX_DEPTH} levels deep"
MIN_COMPLEX_BYTES = 2 * MAX_DEPTH
"""Least size of a message that may be nested too deeply, in bytes."""

_envelope = msgspec.json.Decoder(Envelope)
decode_frame = _envelope.decode
"""Decode a frame, without the further checks of `read`."""
_id: msgspec.json.Decoder[RequestId] = msgspec.json.Decoder(int | str)
_error = msgspec.json.Decoder(ErrorObject)

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of decoding what is not of the expected type, or no JSON at all."""


def read(
    data: bytes | Raw, max_values: int = sys.maxsize, max_response_values: int | None = None
) -> Envelope:
    """Decode one frame.

    Args:
        data: One JSON text, or one entry of a batch.
        max_values: The most keys and items of a JSON text; see `excess`. Entries of a batch are not
            counted: their batch is.
        max_response_values: The most of a response; None for `max_values`.

    Raises:
        TooComplex: It has more keys and items, or is nested deeper than `MAX_DEPTH`.
        ParseError: Not valid JSON in UTF-8, or nested so deeply that its id cannot be read.
        InvalidRequest: Valid JSON, but no JSON-RPC frame; with the id if it could be read and is
            not too long.
        NoResponse: As InvalidRequest, and the frame has no method.
    """
    try:
        frame = decode_frame(data)
    except msgspec.ValidationError as error:
        raise _no_frame(f"no JSON-RPC message: {error}", data) from None
    except RecursionError:
        raise _too_deep(bytes(data)) from None
    except UNREADABLE as error:
        raise ParseError(f"not JSON: {_reason(error)}") from None
    if frame.method is UNSET and not frame.result and not frame.error:
        raise _no_frame("no JSON-RPC message: expected `method`, `result` or `error`", data)
    size = len(data)
    if (size > MIN_COMPLEX_BYTES or size > max_values) and data.__class__ is bytes:
        if max_response_values is not None and frame.method is UNSET:
            max_values = max_response_values
        why = complexity(data, max_values)
        if why is not None:
            raise TooComplex(why, frame)
    if data.__class__ is bytes and not data.isascii():
        # Raw members are not decoded here, so UTF-8 is checked for the whole frame. Entries of a
        # batch have been checked by `read_batch`.
        _check_text(data, frame)
    id = frame.id
    if isinstance(id, str) and len(id) > MAX_ID_LENGTH:
        raise _long_id(frame)
    if frame.method is not UNSET and id is None:
        raise InvalidRequest("no JSON-RPC message: a request's `id` is a string or an integer")
    return frame


def complexity(data: bytes, max_values: int) -> str | None:
    """Return why a message is too complex to be decoded; None if it is not.

    Args:
        data: Valid JSON: a message, a whole batch, or JSON that a string of a message holds.
        max_values: The most keys and items.
    """
    found = excess(data, max_values, MAX_DEPTH)
    if found == "values":
        return f"a message may have at most {max_values} keys and items"
    return None if found is None else _TOO_DEEP


def _long_id(frame: Envelope) -> InvalidRequest:
    """Return the error for an id that is too long; it is not repeated."""
    text = f"no JSON-RPC message: an `id` has at most {MAX_ID_LENGTH} characters"
    if frame.method is UNSET:
        return NoResponse(text, None, tries=True)
    return InvalidRequest(text)


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
    except UNREADABLE as error:
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
    """Return the bytes of a request. `params` may be UNSET.

    Raises:
        UsageError: A number in the params is NaN or infinite; the message ends in the path.
    """
    data = encode(_Request(id=id, method=method, params=params))
    if b"null" in data:
        check_finite(params, data, method)
    return data


def notification(method: str, params: Any) -> bytes:
    """Return the bytes of a notification. `params` may be UNSET.

    Raises:
        UsageError: A number in the params is NaN or infinite; the message ends in the path.
    """
    data = encode(_Notification(method=method, params=params))
    if b"null" in data:
        check_finite(params, data, method)
    return data


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
    text = str(error)
    if len(text) > MAX_ERROR_LENGTH:  # it may repeat what the peer has sent
        text = shortened(text, MAX_ERROR_LENGTH)
    return ErrorObject(error.code, text)


def read_error(data: Raw) -> McpError:
    """Return the peer's error as an exception.

    Of a malformed error, what can be read is kept: an error without a message has its code and
    data. Without a code it is an internal error.
    """
    try:
        found = _error.decode(data)
    except UNREADABLE:
        return _read_loosely(data)
    return McpError(found.code, found.message, None if found.data is UNSET else found.data)


def _read_loosely(data: Raw) -> McpError:
    try:
        error = msgspec.json.decode(data)
    except UNREADABLE:
        error = None
    if isinstance(error, str):
        error = {"message": f"an error without a code: {error}"}
    if not isinstance(error, dict):
        return McpError(ProtocolError.code, "an error without a code and a message")
    members = cast("dict[str, Any]", error)
    code, message = members.get("code"), members.get("message")
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    if not isinstance(code, int) or isinstance(code, bool):
        code = ProtocolError.code
        message = message or "an error without a code"
    if not isinstance(message, str):
        message = "an error without a message"
    return McpError(code, message, members.get("data"))


def _check_text(data: bytes, frame: Envelope) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        id = None if frame.id is UNSET or frame.method is UNSET else frame.id
        raise ParseError(f"not JSON: {_reason(error)}", id) from None


_SHALLOW_BYTES = 1024
"""Bytes at each end of a message in which its members are looked for if it cannot be decoded."""
_MEMBER = rb'\s*"(?:jsonrpc|id|method)"\s*:\s*(?:"(?:[^"\\]|\\.)*"|-?[0-9]+)\s*'
# Compiled with the first message that is too deep.
_BEFORE = rb"\s*\{((?:" + _MEMBER + rb",)*)"
_AFTER = rb"((?:," + _MEMBER + rb")*)\}\s*\Z"


def _too_deep(data: bytes) -> ProtocolError:
    """Return the error for a message that is nested too deeply for any decoder.

    It has the message's id if that stands before or after all that is nested.
    """
    before = re.match(_BEFORE, data[:_SHALLOW_BYTES])
    after = re.search(_AFTER, data[-_SHALLOW_BYTES:])
    if before is not None and after is not None and is_balanced(data):
        try:
            frame = decode_frame(b'{%b"params":0%b}' % (before[1], after[1]))
        except UNREADABLE:
            pass
        else:
            return TooComplex(_TOO_DEEP, frame)
    return ParseError("not JSON: nested too deeply")


def _no_frame(message: str, data: bytes | Raw) -> InvalidRequest:
    # Of all members, which may be very many, only these are decoded.
    members = raw_members(data, ("id", "method", "result", "error"))
    if members is None:
        return InvalidRequest(message)
    given, method, result, error = members
    id = _readable_id(given)
    if method:
        return InvalidRequest(message, id)
    return NoResponse(message, id, tries=bool(result or error))


def _readable_id(given: Raw) -> RequestId | None:
    try:
        id = _id.decode(given)
    except UNREADABLE:
        return None
    return None if isinstance(id, str) and len(id) > MAX_ID_LENGTH else id


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)

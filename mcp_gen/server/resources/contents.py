"""Converts the return value of a resource function to a `ReadResourceResult`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from msgspec import Struct
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import ResourceNotFound
from mcp_gen.core.projection.project import restate
from mcp_gen.core.text_encoding import base64_text
from mcp_gen.server.content.results import finite_json, is_alternative_result
from mcp_wire import Wire, latest

__all__ = ["BINARY", "TEXT", "Contents", "mime_type_of", "read_result"]

TEXT = "text/plain"
BINARY = "application/octet-stream"
JSON = "application/json"

_BYTES = (bytes, bytearray, memoryview)
_PARTS = (latest.TextResourceContents.__name__, latest.BlobResourceContents.__name__)


class Contents(Struct, frozen=True):
    """Resource data with a media type, as the return value of a resource function.

    Strings are sent as text, bytes in base64, anything else as JSON. A list of `Contents` is a
    resource in several parts.

    Args:
        data: Content of the part.
        mime_type: Media type, such as `image/png`. None: that of the resource, or the default for
            the type of the data.
        uri: URI of this part. None: the requested URI.
        meta: `_meta` of the part.
    """

    data: Any
    mime_type: str | None = None
    uri: str | None = None
    meta: dict[str, Any] | None = None


class _WireTypes:
    """Wire types of one revision that a result needs, so that nothing has to be projected."""

    def __init__(self, revision: str) -> None:
        types = mcp_wire.types(revision)
        profile = mcp_wire.profile(revision)
        self.revision = revision
        self.hints = profile.cache_hints
        self.result: Any = types.ReadResourceResult
        self.text: Any = types.TextResourceContents
        self.blob: Any = types.BlobResourceContents


_wire_types = cache(_WireTypes)


def read_result(
    value: Any,
    revision: str,
    *,
    uri: str,
    mime_type: str | None,
    hints: Mapping[str, Any],
    as_bytes: bool,
) -> Any:
    """Return the result of `resources/read` at a revision.

    Wire types that the function returned stay as they are, but contents without a media type get
    one.

    Args:
        value: Return value of the function. None: the resource does not exist.
        revision: Protocol revision of the result.
        uri: The requested URI.
        mime_type: Media type of the resource; None: the default for the type of the data.
        hints: Fields of the resource's cache hints. Hints in a returned result take precedence.
        as_bytes: Leave bytes as they are, for the encoder. False: blobs are base64, as their type
            says.

    Raises:
        ResourceNotFound: The value is None.
        TypeError: The value is not JSON-serializable.
        ValueError: The time to live in a returned result is negative.
    """
    types = _wire_types(revision)
    if isinstance(value, Wire):
        if type(value).__name__ == latest.ReadResourceResult.__name__:
            return _complete_result(value, types, mime_type, hints)
        if is_alternative_result(type(value)):
            return value
    if value is None:
        raise ResourceNotFound(uri)
    values: Sequence[Any] = [value]
    if isinstance(value, list | tuple) and any(map(_is_part, cast("list[Any]", value))):
        values = cast("list[Any]", value)
    contents = [_part(one, types, uri, mime_type, as_bytes) for one in values]
    return types.result(contents=contents, **(hints if types.hints else {}))


def _complete_result(
    value: Any, types: _WireTypes, mime_type: str | None, hints: Mapping[str, Any]
) -> Any:
    if getattr(value, "ttl_ms", 0) < 0:
        raise ValueError(f"ttl_ms={value.ttl_ms}: a time to live is at least 0")
    contents = [_part(one, types, one.uri, mime_type) for one in value.contents]
    # A result of a revision with cache hints has the function's own.
    own = {key: getattr(value, key) for key in hints if hasattr(value, key)}
    return types.result(
        contents=contents, meta=value.meta, **({**hints, **own} if types.hints else {})
    )


def _is_part(value: Any) -> bool:
    return isinstance(value, Contents) or (
        isinstance(value, Wire) and type(value).__name__ in _PARTS
    )


def _part(
    value: Any, types: _WireTypes, uri: str, mime_type: str | None, as_bytes: bool = False
) -> Any:
    if isinstance(value, Contents):
        data, as_bytes = value.data, as_bytes and value.meta is None
        part: Any = _part(data, types, value.uri or uri, value.mime_type or mime_type, as_bytes)
        if value.meta is None:
            return part
        newest = restate(part, mcp_wire.LATEST).value
        return restate(replace(newest, meta=value.meta), types.revision).value
    if _is_part(value):
        part = value
        if part.mime_type is None:
            fallback = TEXT if hasattr(part, "text") else BINARY
            part = replace(part, mime_type=mime_type or fallback)
        return restate(part, types.revision).value
    if isinstance(value, str):
        return types.text(uri=uri, text=value, mime_type=mime_type or TEXT)
    if isinstance(value, _BYTES):
        data = bytes(cast("bytes", value))
        blob: Any = data if as_bytes else base64_text(data)
        return types.blob(uri=uri, blob=blob, mime_type=mime_type or BINARY)
    json = finite_json(value, "the contents")
    return types.text(uri=uri, text=json.decode(), mime_type=mime_type or JSON)


def mime_type_of(returns: Any) -> str | None:
    """Return the media type that a return annotation implies, or None if it is open."""
    origin = get_origin(returns)
    if origin is Annotated:
        return mime_type_of(get_args(returns)[0])
    if origin in (Union, UnionType):
        arms = {mime_type_of(arm) for arm in get_args(returns) if arm is not NoneType}
        return arms.pop() if len(arms) == 1 else None
    kind = origin or returns
    if not isinstance(kind, type) or kind in (Any, object):
        return None
    if issubclass(kind, str):
        return TEXT
    if issubclass(kind, _BYTES):
        return BINARY
    return None if any(map(_has_own_mime_type, (origin or returns, *get_args(returns)))) else JSON


def _has_own_mime_type(kind: Any) -> bool:
    """Return True if values of the type carry their own media types."""
    return isinstance(kind, type) and issubclass(kind, Wire | Contents)

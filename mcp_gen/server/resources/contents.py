"""What reading a resource gives: wire contents, made from whatever its function returned."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import ResourceNotFound
from mcp_gen.core.projection.project import project
from mcp_gen.server.content.results import is_alternative_result
from mcp_wire import UnknownContent, Wire, latest

__all__ = ["BINARY", "TEXT", "Contents", "mime_type_of", "read_result"]

TEXT = "text/plain"
BINARY = "application/octet-stream"
JSON = "application/json"

_BYTES = (bytes, bytearray, memoryview)
_PARTS = (latest.TextResourceContents.__name__, latest.BlobResourceContents.__name__)


class Contents(Struct, frozen=True):
    """What a resource's function may return to say the media type with the data.

    Text goes as text, bytes in base64, anything else as JSON. A list of these is a resource in
    parts.
    """

    data: Any
    mime_type: str | None = None
    """Media type, such as `image/png`; None: that of the resource, or the one of such data."""
    uri: str | None = None
    """The address of this part; None: the one that was asked for."""
    meta: dict[str, Any] | None = None


class _Home:
    """The types of one revision that a result is made of, so that nothing is left to project."""

    def __init__(self, revision: str) -> None:
        home = mcp_wire.types(revision)
        profile = mcp_wire.profile(revision)
        self.revision = revision
        self.hints = profile.cache_hints
        self.result: Any = home.ReadResourceResult
        self.text: Any = home.TextResourceContents
        self.blob: Any = home.BlobResourceContents


_home = cache(_Home)


def read_result(
    value: Any, revision: str, *, uri: str, mime_type: str | None, hints: Mapping[str, Any]
) -> Any:
    """What a function returned, as a result of a revision.

    `mime_type` is what the resource says of itself, `hints` are the fields of its cache hints. What
    the function made of wire types itself stays as it is, except that all contents get a media
    type; None means that there is no such resource.

    Raises:
        ResourceNotFound: the value is None.
        ValueError: a time to live that the function has given is below 0.
    """
    home = _home(revision)
    if isinstance(value, Wire):
        if type(value).__name__ == latest.ReadResourceResult.__name__:
            return _completed(value, home, mime_type, hints)
        if is_alternative_result(type(value)):
            return value
    if value is None:
        raise ResourceNotFound(uri)
    values: Sequence[Any] = [value]
    if isinstance(value, list | tuple) and any(map(_is_part, cast("list[Any]", value))):
        values = cast("list[Any]", value)
    contents = [_part(one, home, uri, mime_type) for one in values]
    return home.result(contents=contents, **(hints if home.hints else {}))


def _completed(value: Any, home: _Home, mime_type: str | None, hints: Mapping[str, Any]) -> Any:
    if getattr(value, "ttl_ms", 0) < 0:
        raise ValueError(f"ttl_ms={value.ttl_ms}: a time to live is at least 0")
    contents = [_part(one, home, one.uri, mime_type) for one in value.contents]
    # At a revision that has hints, the function has given its own.
    own = {key: getattr(value, key) for key in hints if hasattr(value, key)}
    return home.result(
        contents=contents, meta=value.meta, **({**hints, **own} if home.hints else {})
    )


def _is_part(value: Any) -> bool:
    return isinstance(value, Contents) or (
        isinstance(value, Wire) and type(value).__name__ in _PARTS
    )


def _part(value: Any, home: _Home, uri: str, mime_type: str | None) -> Any:
    if isinstance(value, Contents):
        data = value.data
        part: Any = _part(data, home, value.uri or uri, value.mime_type or mime_type)
        if value.meta is None:
            return part
        newest = project(part, mcp_wire.LATEST).value
        return project(replace(newest, meta=value.meta), home.revision).value
    if isinstance(value, Wire) and _is_part(value):
        part = value
        if part.mime_type is None:
            fallback = TEXT if hasattr(part, "text") else BINARY
            part = replace(part, mime_type=mime_type or fallback)
        return project(part, home.revision).value
    if isinstance(value, str):
        return home.text(uri=uri, text=value, mime_type=mime_type or TEXT)
    if isinstance(value, _BYTES):
        blob = b64encode(cast("bytes", value)).decode()
        return home.blob(uri=uri, blob=blob, mime_type=mime_type or BINARY)
    return home.text(uri=uri, text=_to_json(value).decode(), mime_type=mime_type or JSON)


def mime_type_of(returns: Any) -> str | None:
    """The media type of what a function returns, by its annotation; None where that is open."""
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
    return None if any(map(_says_itself, (origin or returns, *get_args(returns)))) else JSON


def _says_itself(kind: Any) -> bool:
    """Whether values of a type have media types of their own."""
    return isinstance(kind, type) and issubclass(kind, Wire | Contents)


def _plain(value: Any) -> Any:
    """What msgspec does not write itself: pydantic's models, and blocks of unknown kinds."""
    if isinstance(value, UnknownContent):
        return Raw(value.raw)
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", by_alias=True)
    raise TypeError(f"a resource's function returned {type(value).__name__}, which is no JSON")


_to_json = msgspec.json.Encoder(enc_hook=_plain).encode

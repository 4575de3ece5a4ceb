"""Blocks of content, made in one call: pictures, sound, files and links.

What comes back are wire types of the newest revision, which every peer gets in its own: they can be
returned by tools, alone or in a list with texts, and stand in the messages of prompts.

    @server.tool
    def chart(year: int) -> list[str | ImageContent]:
        return [f"Sales in {year}:", content.image(Path(f"sales-{year}.png"))]

Data is bytes, or the path of a file (an `os.PathLike`), which is read at once. Each block takes
`annotations` (who it is for, and how important it is) and `meta`.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_wire import latest

__all__ = ["Data", "Structured", "audio", "embedded", "image", "link", "text"]

T = TypeVar("T")

Data: TypeAlias = "bytes | os.PathLike[str]"
"""The bytes themselves, or the path of a file with them."""


class Structured(Struct, Generic[T], frozen=True):
    """A tool's data with content of its own beside it.

    Annotated as `-> Structured[Report]`, the tool's output schema is that of `Report`. What the
    content does not say as text already is said by the data as JSON.
    """

    data: T
    content: Sequence[str | latest.ContentBlock] = ()


def text(
    text: str,
    *,
    annotations: latest.Annotations | None = None,
    meta: dict[str, Any] | None = None,
) -> latest.TextContent:
    """Text, where it needs annotations; without them a `str` will do."""
    return latest.TextContent(text=text, annotations=annotations, meta=meta)


def image(
    data: Data,
    *,
    mime_type: str | None = None,
    annotations: latest.Annotations | None = None,
    meta: dict[str, Any] | None = None,
) -> latest.ImageContent:
    """A picture. The type of a file is told by its name.

    Raises:
        UsageError: bytes without `mime_type`, or a file that does not tell it.
        OSError: the file cannot be read.
    """
    kind = _checked(data, mime_type, "image")
    return latest.ImageContent(
        data=_base64(data), mime_type=kind, annotations=annotations, meta=meta
    )


def audio(
    data: Data,
    *,
    mime_type: str | None = None,
    annotations: latest.Annotations | None = None,
    meta: dict[str, Any] | None = None,
) -> latest.AudioContent:
    """Sound; see `image`. At 2024-11-05 it is sent as an embedded resource."""
    kind = _checked(data, mime_type, "audio")
    return latest.AudioContent(
        data=_base64(data), mime_type=kind, annotations=annotations, meta=meta
    )


def embedded(
    uri: str,
    data: str | Data,
    *,
    mime_type: str | None = None,
    annotations: latest.Annotations | None = None,
    meta: dict[str, Any] | None = None,
) -> latest.EmbeddedResource:
    """A resource with its contents: a `str` is its text, other data its blob.

    Raises:
        OSError: the file cannot be read.
    """
    mime_type = mime_type or _guessed(uri if isinstance(data, (str, bytes)) else data)
    contents: latest.TextResourceContents | latest.BlobResourceContents
    if isinstance(data, str):
        contents = latest.TextResourceContents(uri=uri, text=data, mime_type=mime_type)
    else:
        contents = latest.BlobResourceContents(uri=uri, blob=_base64(data), mime_type=mime_type)
    return latest.EmbeddedResource(resource=contents, annotations=annotations, meta=meta)


def link(
    uri: str,
    name: str | None = None,
    *,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    size_bytes: int | None = None,
    icons: list[latest.Icon] | None = None,
    annotations: latest.Annotations | None = None,
    meta: dict[str, Any] | None = None,
) -> latest.ResourceLink:
    """A resource that the client may read; `name` is the end of its URI unless given.

    Before 2025-06-18 it is sent as text.
    """
    return latest.ResourceLink(
        uri=uri,
        name=name or uri.rstrip("/").rpartition("/")[2] or uri,
        title=title,
        description=description,
        mime_type=mime_type or _guessed(uri),
        size=size_bytes,
        icons=icons,
        annotations=annotations,
        meta=meta,
    )


def _checked(data: Data, mime_type: str | None, kind: str) -> str:
    """The type, which must be of the kind."""
    if isinstance(data, str):
        raise UsageError(f"{kind}: expected bytes or a Path, got a text")
    found = mime_type or (None if isinstance(data, bytes) else _guessed(data))
    if found is None or not found.startswith(f"{kind}/"):
        raise UsageError(f"{kind}: expected a `{kind}/` type, got {found}: say it with mime_type=")
    return found


def _guessed(name: str | os.PathLike[str]) -> str | None:
    # Loaded when used: it reads the tables of the system.
    import mimetypes

    return mimetypes.guess_type(name)[0]


def _base64(data: Data) -> str:
    if not isinstance(data, bytes):
        with open(data, "rb") as file:
            data = file.read()
    return base64.b64encode(data).decode()

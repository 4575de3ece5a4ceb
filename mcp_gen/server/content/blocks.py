"""Content block helpers: text, images, audio, embedded resources and links.

They return wire types of the newest revision, which are projected to the revision of each peer.
Tools return them, alone or in a list with texts; prompts use them in messages.

    @server.tool
    def chart(year: int) -> list[str | ImageContent]:
        return [f"Sales in {year}:", content.image(Path(f"sales-{year}.png"))]

Data is bytes, or the path of a file (an `os.PathLike`), which is read at once. Each block takes
`annotations` (audience and priority) and `meta`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.core.text_encoding import base64_text
from mcp_wire import latest

__all__ = ["Data", "Structured", "audio", "embedded", "image", "link", "text"]

T = TypeVar("T")

Data: TypeAlias = "bytes | os.PathLike[str]"
"""The bytes themselves, or the path of a file with them."""


class Structured(Struct, Generic[T], frozen=True):
    """Structured tool output with content beside it.

    Annotate a tool as `-> Structured[Report]`: its output schema is that of `Report`. The data is
    also added as JSON text if the content has no text, or if the data is no JSON object.

    Args:
        data: The structured content.
        content: The content blocks; a `str` is a text block.
    """

    data: T
    content: Sequence[str | latest.ContentBlock] = ()


def text(
    text: str,
    *,
    annotations: latest.Annotations | None = None,
    meta: dict[str, Any] | None = None,
) -> latest.TextContent:
    """Return a text block; a plain `str` is enough without annotations and meta.

    Args:
        text: The text.
        annotations: Audience and priority.
        meta: The `_meta` of the block.
    """
    return latest.TextContent(text=text, annotations=annotations, meta=meta)


def image(
    data: Data,
    *,
    mime_type: str | None = None,
    annotations: latest.Annotations | None = None,
    meta: dict[str, Any] | None = None,
) -> latest.ImageContent:
    """Return an image block.

    Args:
        data: The bytes, or the path of a file, which is read at once.
        mime_type: The `image/` type; by default it is guessed from the name of the file.
        annotations: Audience and priority.
        meta: The `_meta` of the block.

    Raises:
        UsageError: no `image/` type: bytes without `mime_type`, or a file of another or an unknown
            type.
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
    """Return an audio block; at 2024-11-05 it is sent as an embedded resource.

    Args:
        data: The bytes, or the path of a file, which is read at once.
        mime_type: The `audio/` type; by default it is guessed from the name of the file.
        annotations: Audience and priority.
        meta: The `_meta` of the block.

    Raises:
        UsageError: no `audio/` type: bytes without `mime_type`, or a file of another or an unknown
            type.
        OSError: the file cannot be read.
    """
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
    """Return an embedded resource.

    Args:
        uri: The URI of the resource.
        data: A `str` is sent as text; bytes, or the path of a file, as a blob.
        mime_type: The media type; by default it is guessed from the file's name or the URI.
        annotations: Audience and priority.
        meta: The `_meta` of the block.

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
    """Return a link to a resource that the client may read; before 2025-06-18 it is sent as text.

    Args:
        uri: The URI of the resource.
        name: Its name; by default the last segment of the URI.
        title: Its name for people.
        description: What the resource is.
        mime_type: Its media type; by default it is guessed from the URI.
        size_bytes: Its size.
        icons: Its icons.
        annotations: Audience and priority.
        meta: The `_meta` of the block.
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
    """Return the media type, given or guessed, if it is one of the kind."""
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
    return base64_text(data)

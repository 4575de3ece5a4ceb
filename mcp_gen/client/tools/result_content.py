"""Content helpers for results: texts, media and resource links."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mcp_gen.core.errors import InvalidResult, UsageError
from mcp_gen.core.text_encoding import decode_base64

if TYPE_CHECKING:
    from mcp_wire import common

    HasContent: TypeAlias = (
        common.CallToolResult
        | common.GetPromptResult
        | common.ReadResourceResult
        | common.CreateMessageResult
        | common.PromptMessage
        | common.SamplingMessage
    )
    """Values with content: results of tools, prompts, resources and sampling, and messages."""

__all__ = ["Media", "images_of", "links_of", "media_of", "text_of", "texts_of"]


class Media(NamedTuple):
    """Decoded image, audio or binary resource."""

    data: bytes
    """The decoded bytes."""
    mime_type: str | None
    """MIME type such as `image/png`; None if the server did not send one."""
    uri: str | None = None
    """URI of the resource; None if the media is not a resource."""


def text_of(result: HasContent, separator: str = "\n") -> str:
    """Return all texts of a result, joined; texts of embedded resources are included.

    Args:
        result: A result or message with content.
        separator: Text between two parts.

    Returns:
        The joined texts; empty if there are none.
    """
    return separator.join(texts_of(result))


def texts_of(result: HasContent) -> list[str]:
    """Return the texts of a result, with those of embedded resources.

    Args:
        result: A result or message with content.
    """
    texts = (getattr(one, "text", None) for one in _parts(result))
    return [text for text in texts if text is not None]


def media_of(result: HasContent, kind: str = "") -> list[Media]:
    """Return the images, audio and binary resources of a result, decoded.

    Args:
        result: A result or message with content.
        kind: Prefix of the MIME type, such as `image/`; empty: all media.

    Returns:
        The media in the order of the result.

    Raises:
        InvalidResult: The data is not valid base64.
    """
    media = (_media(one) for one in _parts(result))
    return [one for one in media if one is not None and (one.mime_type or "").startswith(kind)]


def images_of(result: HasContent) -> list[Media]:
    """Return the images of a result, decoded.

    Args:
        result: A result or message with content.

    Returns:
        The media whose MIME type begins with `image/`.

    Raises:
        InvalidResult: The data is not valid base64.
    """
    return media_of(result, "image/")


def links_of(result: HasContent) -> list[Any]:
    """Return the resource links of a result.

    Args:
        result: A result or message with content.

    Returns:
        The content blocks of type ResourceLink.
    """
    return [one for one in _parts(result) if getattr(one, "type", None) == "resource_link"]


def _parts(result: Any) -> Iterator[Any]:
    """Yield the content blocks and resource contents of a result, in order.

    Raises:
        UsageError: It is a coroutine, whose result nobody has awaited.
    """
    if inspect.iscoroutine(result):
        name = result.__qualname__
        result.close()  # otherwise Python warns that nobody awaits it
        raise UsageError(f"{name}(...) is not awaited: write `await` in front of it")
    for message in getattr(result, "messages", None) or (result,):
        content: Any = getattr(message, "content", None)
        if content is None:
            content = getattr(message, "contents", None) or []
        blocks: list[Any] = content if content.__class__ is list else [content]
        for block in blocks:
            # An embedded resource block has no content besides its resource.
            yield getattr(block, "resource", block)


def _media(part: Any) -> Media | None:
    encoded: Any = getattr(part, "data", None)
    if encoded is None:
        encoded = getattr(part, "blob", None)
    if not isinstance(encoded, str):
        return None
    try:
        data = decode_base64(encoded)
    except ValueError:
        raise InvalidResult("expected base64, got other characters") from None
    return Media(data, getattr(part, "mime_type", None), getattr(part, "uri", None))

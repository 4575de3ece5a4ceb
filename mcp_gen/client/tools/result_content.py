"""What results hold, whatever the kinds of their blocks: texts, pictures, sounds, links."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mcp_gen.core.errors import InvalidParams

if TYPE_CHECKING:
    from mcp_wire import common

    Holds: TypeAlias = (
        common.CallToolResult
        | common.GetPromptResult
        | common.ReadResourceResult
        | common.CreateMessageResult
        | common.PromptMessage
        | common.SamplingMessage
    )
    """What has content: results of tools, prompts, resources and models, and single messages."""

__all__ = ["Media", "images_of", "links_of", "media_of", "text_of"]


class Media(NamedTuple):
    """A picture, a sound or a file."""

    data: bytes
    mime_type: str | None
    """What it is, such as `image/png`; None if the server did not say."""
    uri: str | None = None
    """Where it is from, if it is a resource."""


def text_of(result: Holds, separator: str = "\n") -> str:
    """All texts of a result, those of embedded resources among them, with `separator` between."""
    texts = (getattr(one, "text", None) for one in _parts(result))
    return separator.join(text for text in texts if text is not None)


def media_of(result: Holds, kind: str = "") -> list[Media]:
    """The pictures, sounds and files of a result, whose MIME type begins with `kind`.

    Raises:
        InvalidParams: data that is no base64.
    """
    found = (_media(one) for one in _parts(result))
    return [one for one in found if one is not None and (one.mime_type or "").startswith(kind)]


def images_of(result: Holds) -> list[Media]:
    """The pictures of a result.

    Raises:
        InvalidParams: data that is no base64.
    """
    return media_of(result, "image/")


def links_of(result: Holds) -> list[Any]:
    """The resources that a result refers to: blocks of type ResourceLink."""
    return [one for one in _parts(result) if getattr(one, "type", None) == "resource_link"]


def _parts(result: Any) -> Iterator[Any]:
    """The blocks and resource contents of a result, in their order."""
    for message in getattr(result, "messages", None) or (result,):
        held: Any = getattr(message, "content", None)
        if held is None:
            held = getattr(message, "contents", None) or []
        blocks: list[Any] = held if held.__class__ is list else [held]
        for block in blocks:
            # A resource that is embedded is what its block holds, and all it holds.
            yield getattr(block, "resource", block)


def _media(part: Any) -> Media | None:
    encoded: Any = getattr(part, "data", None)
    if encoded is None:
        encoded = getattr(part, "blob", None)
    if not isinstance(encoded, str):
        return None
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidParams("expected base64, got other characters") from None
    return Media(data, getattr(part, "mime_type", None), getattr(part, "uri", None))

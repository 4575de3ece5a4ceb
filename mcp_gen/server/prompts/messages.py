"""Prompt messages: `user`, `assistant`, and conversion of a prompt's return value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import mcp_wire
from mcp_gen.core.projection.project import restate
from mcp_gen.server.content.results import is_alternative_result
from mcp_wire import UnknownContent, Wire, latest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_wire import common

__all__ = ["MessageContent", "assistant", "prompt_result", "user"]

MessageContent: TypeAlias = "str | common.ContentBlock"
"""Text, or a content block of any revision."""

_BLOCKS = frozenset(kind.__name__ for kind in get_args(latest.ContentBlock))


def user(content: MessageContent) -> latest.PromptMessage:
    """Return a message with the role `user`.

    Args:
        content: Text, or a content block such as ImageContent, of any revision.

    Raises:
        TypeError: The content is neither.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#promptmessage
    """
    return _message("user", content)


def assistant(content: MessageContent) -> latest.PromptMessage:
    """Return a message with the role `assistant`: an answer of the model.

    Args:
        content: Text, or a content block such as ImageContent, of any revision.

    Raises:
        TypeError: The content is neither.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#promptmessage
    """
    return _message("assistant", content)


def prompt_result(
    value: Any, description: str | None
) -> common.GetPromptResult | common.InputRequiredResult:
    """Return the result of `prompts/get` for a prompt's return value.

    Texts and content blocks become messages with the role `user`. A `GetPromptResult` or
    `InputRequiredResult` stays as it is.

    Args:
        value: Return value of the prompt function.
        description: Description of the prompt.

    Raises:
        TypeError: The value cannot be converted to messages.
    """
    if _kind(value) == latest.GetPromptResult.__name__ or is_alternative_result(
        cast("Any", type(value))
    ):
        return cast("common.GetPromptResult | common.InputRequiredResult", value)
    several = isinstance(value, list | tuple)
    values = cast("Sequence[Any]", value) if several else [value]
    messages = [_as_message(one) for one in values]
    return latest.GetPromptResult(messages=messages, description=description)


def _as_message(value: Any) -> latest.PromptMessage:
    if _kind(value) == latest.PromptMessage.__name__:
        message: latest.PromptMessage = restate(value, mcp_wire.LATEST).value
        return message
    return _message("user", value)


def _message(role: Literal["user", "assistant"], content: MessageContent) -> latest.PromptMessage:
    if isinstance(content, str):
        return latest.PromptMessage(role=role, content=latest.TextContent(text=content))
    if not isinstance(content, UnknownContent) and _kind(content) not in _BLOCKS:
        raise TypeError(
            f"{type(content).__name__}: expected a text, a content block, a PromptMessage, "
            "a list of these, or a GetPromptResult: write `user(text)` or `assistant(text)`"
        )
    block: latest.ContentBlock = restate(content, mcp_wire.LATEST).value
    return latest.PromptMessage(role=role, content=block)


def _kind(value: Any) -> str:
    """Return the class name of a wire type of any revision; empty for other values."""
    return type(value).__name__ if isinstance(value, Wire) else ""

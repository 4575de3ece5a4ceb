"""Answers to elicitation requests, and the messages that sampling takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_wire import latest

__all__ = ["Accepted", "Answer", "Cancelled", "Declined", "Messages"]

T = TypeVar("T")

Messages: TypeAlias = "str | Sequence[str | latest.SamplingMessage]"
"""Messages of a conversation, oldest first; a text is one message of the user."""


class Accepted(Struct, Generic[T], frozen=True):
    """The user accepted the elicitation.

    Args:
        content: The form as the user filled it in; None for a URL.
        action: Always `"accept"`.
    """

    content: T
    action: Literal["accept"] = "accept"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Loaded with the first mistake.
            from mcp_gen.core.mistakes.checks import missing_attribute

            raise missing_attribute(self, name, ("action", "content"))


class Declined(Struct, frozen=True):
    """The user declined the elicitation.

    Args:
        action: Always `"decline"`.
    """

    action: Literal["decline"] = "decline"


class Cancelled(Struct, frozen=True):
    """The user dismissed the elicitation without a choice.

    Args:
        action: Always `"cancel"`.
    """

    action: Literal["cancel"] = "cancel"


Answer: TypeAlias = Accepted[T] | Declined | Cancelled
"""Answer of a user to an elicitation request."""

"""Answers of a user to elicitation requests; the messages that sampling takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_wire import latest

__all__ = ["Accepted", "Answer", "Cancelled", "Declined", "Messages"]

T = TypeVar("T")

Messages: TypeAlias = "str | Sequence[str | latest.SamplingMessage]"
"""A conversation: what the user says, or turns of both sides, oldest first."""


class Accepted(Struct, Generic[T], frozen=True):
    """The user has agreed: `content` is the filled-in form, and None where a page was asked for."""

    content: T
    action: Literal["accept"] = "accept"


class Declined(Struct, frozen=True):
    """The user has said no."""

    action: Literal["decline"] = "decline"


class Cancelled(Struct, frozen=True):
    """The user has made no choice: the question was dismissed."""

    action: Literal["cancel"] = "cancel"


Answer: TypeAlias = Accepted[T] | Declined | Cancelled

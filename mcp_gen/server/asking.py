"""Questions to the client, in one form for every revision: to the user, to the model, for roots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from mcp_gen.server.context import Context
    from mcp_wire import latest

__all__ = [
    "Accepted",
    "Answer",
    "Cancelled",
    "Declined",
    "elicit",
    "elicit_url",
    "list_roots",
    "sample",
]

T = TypeVar("T")

Messages: TypeAlias = "str | Sequence[str | latest.SamplingMessage]"


class Accepted(Struct, Generic[T], frozen=True):
    """The user has answered: `content` is the filled-in form."""

    content: T
    action: Literal["accept"] = "accept"


class Declined(Struct, frozen=True):
    """The user has said no."""

    action: Literal["decline"] = "decline"


class Cancelled(Struct, frozen=True):
    """The user has made no choice."""

    action: Literal["cancel"] = "cancel"


Answer: TypeAlias = Accepted[T] | Declined | Cancelled


async def elicit(
    ctx: Context, message: str, form: type[T], *, key: str | None, timeout_s: float | None
) -> Answer[T]:
    """See `Context.elicit`."""
    raise NotImplementedError


async def elicit_url(
    ctx: Context,
    message: str,
    url: str,
    elicitation_id: str | None,
    *,
    key: str | None,
    timeout_s: float | None,
) -> Answer[None]:
    """See `Context.elicit_url`."""
    raise NotImplementedError


async def sample(
    ctx: Context,
    messages: Messages,
    *,
    max_tokens: int,
    key: str | None,
    timeout_s: float | None,
    **params: Any,
) -> latest.CreateMessageResult:
    """See `Context.sample`."""
    raise NotImplementedError


async def list_roots(
    ctx: Context, *, key: str | None, timeout_s: float | None
) -> Sequence[latest.Root]:
    """See `Context.list_roots`."""
    raise NotImplementedError

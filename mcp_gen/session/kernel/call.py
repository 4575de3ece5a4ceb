"""One request in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    import asyncio

    from mcp_gen.core.connection import Batch
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.session.kernel.binding import RevisionBinding
    from mcp_gen.session.peer.session import RequestOrigin
    from mcp_wire.method import Route

__all__ = ["Call"]

C = TypeVar("C")


# Seen by the collector: a POST whose client has gone holds its calls, and they hold the POST.
class Call(Struct, Generic[C], eq=False):
    """One request, decoded and admitted, and its progress."""

    id: RequestId
    route: Route[C]
    params: Any
    ctx: C
    caller: RequestOrigin
    binding: RevisionBinding[C]
    error_code: int | None = None
    """What it was refused with, once it has been."""
    batch: Batch | None = None
    """The array that it came in, where it did."""
    task: asyncio.Task[None] | None = None
    """Where its handler runs; None before it does."""
    cancelled: bool = False
    """Whether it is to get no answer."""
    result: Any = None
    """What its handler gave, until it is written."""
    written: bytes | None = None
    """Its answer, where that could not wait until it is sent."""

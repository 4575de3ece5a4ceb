"""One request in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    import asyncio

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.protocol_state import Batch
    from mcp_gen.session.kernel.binding import RevisionBinding
    from mcp_gen.session.peer.session import RequestOrigin
    from mcp_wire.method import Route

__all__ = ["Call"]

C = TypeVar("C")


# Tracked by the garbage collector: a POST that lost its client and its calls refer to each other.
class Call(Struct, Generic[C], eq=False):
    """One request, decoded and admitted, and its progress.

    Args:
        id: Id of the request.
        route: Route to its handler.
        params: Decoded params.
        ctx: Context that its handler gets.
        caller: Origin of the request.
        binding: Server bound to the request's revision.
        error_code: JSON-RPC error code of the response, once it has failed.
        missing_scopes: Scopes that the token of the request lacks, if it failed for that reason.
        may_retry: True if it failed because a shared store cannot be reached now.
        batch: JSON-RPC batch that the request came in, if any.
        task: Task that runs its handler; None before it has started.
        cancelled: True if the request is cancelled and gets no response.
        result: Result of its handler, until it is encoded.
        written: Encoded response, if it was encoded before it is sent.
    """

    id: RequestId
    route: Route[C]
    params: Any
    ctx: C
    origin: RequestOrigin
    binding: RevisionBinding[C]
    error_code: int | None = None
    missing_scopes: frozenset[str] = frozenset()
    may_retry: bool = False
    batch: Batch | None = None
    task: asyncio.Task[None] | None = None
    cancelled: bool = False
    result: Any = None
    written: bytes | None = None

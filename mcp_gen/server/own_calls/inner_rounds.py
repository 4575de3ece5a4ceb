"""Input requests of a handler that another handler has called: those of the outer request."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.server.context.context import rounds_of
from mcp_gen.server.input_requests.rounds import InputRequest, Rounds
from mcp_gen.server.input_requests.run import current_rounds, previous_rounds

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context

__all__ = ["InnerRounds"]

T = TypeVar("T")


class InnerRounds(Rounds):
    """Rounds of a call within a request.

    They ask in the rounds of the outer handler, which runs again from its beginning for the answer,
    and with it this call. Keys are those of this call alone.

    Args:
        outer: Request of the outer handler.
        params: Encoded params of the call, which tell it from other calls of the outer handler.
        depth: Number of calls around it; 1 for a call of the handler of a request.
    """

    spans_mounts = True

    def __init__(self, outer: Context, params: bytes, depth: int) -> None:
        super().__init__(outer, params)
        self.depth = depth
        self._scope = ""
        self._has_ended = False
        before = previous_rounds(outer)
        self.number = before.number if before is not None else 1

    @property
    def closed(self) -> bool:
        """True once this handler has returned, or the outer one is being ended."""
        outer = rounds_of(self.ctx)
        return self._has_ended or (outer is not None and outer.closed)

    @closed.setter
    def closed(self, closed: bool) -> None:
        self._has_ended = closed

    def _in_scope(self, key: str) -> str:
        if not self._scope:
            self._scope = current_rounds(self.ctx).scope_of(self.params)
        return f"{self._scope}/{key}"

    async def request_input(
        self,
        request: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """Ask in the rounds of the outer handler; see `Rounds.request_input`."""
        key = None if key is None else self._in_scope(key)
        return await current_rounds(self.ctx).request_input(request, key, read, timeout_s)

    @property
    def values(self) -> dict[str, Any]:
        """Values made by `once` in this call, kept with those of the outer handler."""
        made: dict[str, Any] = current_rounds(self.ctx).values.setdefault(self._in_scope(""), {})
        return made

    async def end(self, handler: Any, result: Any, failure: BaseException | None) -> Any:
        """Return the result of the handler, or raise its failure."""
        self.closed = True
        if failure is not None:
            raise failure
        return result

"""A client that has shaken hands over HTTP: who it is, and which of its requests are open."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.session.outlet import ANSWER_ONLY, AnswerOnly
from mcp_gen.session.peer import Session

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.session.kernel import Call, Kernel
    from mcp_gen.session.notices import Notices

__all__ = ["HttpSession"]

C = TypeVar("C")


class HttpSession(Session):
    """The `session` of its callers, and what session hooks get."""

    def __init__(self, kernel: Kernel[Any], notices: Notices) -> None:
        super().__init__(kernel)
        self.notices = notices
        self.in_flight: dict[RequestId, asyncio.Task[Any] | None] = {}
        """The client's requests that have not ended, with their tasks; None for a cancelled one."""

    @property
    def outlet(self) -> AnswerOnly:
        """There is no stream to the client yet."""
        return ANSWER_ONLY

    def end(self) -> None:
        """Nothing is kept open for it."""

    async def run(self, kernel: Kernel[C], call: Call[C]) -> bytes | None:
        """Run a request in the task of its POST; None if the client cancelled it meanwhile."""
        task = self.in_flight[call.id] = asyncio.current_task()
        body: bytes | None = None
        try:
            body = await kernel.run(call)
        except asyncio.CancelledError:
            if self.in_flight[call.id]:
                raise
        finally:
            still_wanted = self.in_flight.pop(call.id)
        if still_wanted:
            return body
        # The request has ended, its task has not: unless the HTTP server has cancelled it as well.
        if task and task.uncancel():
            raise asyncio.CancelledError
        return None

    def ready(self, params: Any) -> None:
        """The client is ready, now that it has shaken hands."""
        self.begin()

    def cancel(self, params: Any) -> None:
        """Cancel the request that the params of a notification name, if it is still open."""
        task = self.in_flight.get(params.request_id)
        if task:
            self.in_flight[params.request_id] = None
            task.cancel()

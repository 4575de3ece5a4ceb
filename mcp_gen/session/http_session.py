"""A client that has shaken hands over HTTP: who it is, and which of its requests are open."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.session.kernel import Call, Kernel
    from mcp_gen.session.lifecycle import Caller
    from mcp_gen.session.notices import Notices
    from mcp_wire.profile import Profile

__all__ = ["HttpSession"]

C = TypeVar("C")


class HttpSession:
    """The `session` of its callers, and what session hooks get."""

    __slots__ = ("caller", "id", "in_flight", "notices")

    def __init__(self, notices: Notices) -> None:
        self.id = secrets.token_urlsafe(16)
        self.caller: Caller | None = None
        self.notices = notices
        self.in_flight: dict[RequestId, asyncio.Task[Any] | None] = {}
        """The client's requests that have not ended, with their tasks; None for a cancelled one."""

    @property
    def profile(self) -> Profile | None:
        """What has been agreed on; None before."""
        return self.caller.profile if self.caller else None

    def agree(self, caller: Caller, profile: Profile) -> None:
        """Settle the revision of this session, and who the client is."""
        caller.profile = profile
        caller.ready = True
        self.caller = caller

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

    def cancel(self, params: Any) -> None:
        """Cancel the request that the params of a notification name, if it is still open."""
        task = self.in_flight.get(params.request_id)
        if task:
            self.in_flight[params.request_id] = None
            task.cancel()

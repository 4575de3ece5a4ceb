"""Channel of a task handler through a request for its result that is open at another node."""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET, Raw

from mcp_gen.core.errors import McpError, SessionLost
from mcp_gen.core.stores.failures import BusError, NodeGone
from mcp_gen.core.stores.tasks import NOTHING
from mcp_gen.server.tasks.nodes.messages import Notify, Request, Withdraw
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.server.tasks.nodes.messages import NodeReply, Question, Responded
    from mcp_gen.server.tasks.running import RunningTask
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress

__all__ = ["RemoteChannel", "RemoteRequests"]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("mcp_gen.server")


class RemoteRequests:
    """Requests to clients that other nodes send for the tasks of this node.

    Args:
        ask: Asks a node; see `TaskNodes.ask`.
    """

    def __init__(self, ask: Callable[[str, Question], Awaitable[NodeReply]]) -> None:
        self.ask = ask
        self._open: dict[str, asyncio.Future[Raw]] = {}

    def open(self) -> tuple[str, asyncio.Future[Raw]]:
        """Return a new name, and the future of the result."""
        name = secrets.token_urlsafe(12)
        future = self._open[name] = asyncio.get_running_loop().create_future()
        return name, future

    def close(self, name: str) -> None:
        """Forget a request."""
        self._open.pop(name, None)

    def responded(self, outcome: Responded) -> bool:
        """Set the outcome of a request; return False if it is not open any more."""
        future = self._open.pop(outcome.request, None)
        if future is None or future.done():
            return False
        error = outcome.error
        if error is not None:
            future.set_exception(McpError(error.code, error.message, error.data))
        elif outcome.result != NOTHING:
            future.set_result(outcome.result)
        else:
            future.set_exception(SessionLost("the request for the task's result has ended"))
        return True


class RemoteChannel:
    """Channel of an attached request at another node.

    Args:
        requests: Requests of this node.
        node: The other node.
        attachment: Name of the attached request there.
        task: The task.
        poll_s: Seconds between two looks if the other node still waits for the client.
    """

    def __init__(
        self,
        requests: RemoteRequests,
        node: str,
        attachment: str,
        task: RunningTask,
        poll_s: float,
    ) -> None:
        self._requests = requests
        self._node = node
        self._attachment = attachment
        self._task = task
        self._poll_s = poll_s
        self._queue: list[Notify] = []
        self._sending: asyncio.Task[None] | None = None
        self._withdrawing: asyncio.Task[None] | None = None
        self.reachable = True
        """False once the request has ended, or its node is lost."""

    def close(self) -> None:
        """Send no more: the request has ended."""
        self.reachable = False

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification, after those before it."""
        raw = NOTHING if params is UNSET else Raw(encode(params))
        self._queue.append(Notify(self._attachment, method.name, raw))
        if self._sending is None or self._sending.done():
            self._sending = self._task.loop.create_task(self._send_queued())

    async def _send_queued(self) -> None:
        while self._queue and self.reachable:
            self.reachable = await self._ask(self._queue.pop(0)) and self.reachable

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        """Send a request to the client through the other node, and return its result undecoded.

        The caller limits the time. Progress of the client is not passed on.

        Raises:
            McpError: The client answered with an error.
            SessionLost: The request for the task's result has ended, or its node is lost.
        """
        await self.drain()
        name, future = self._requests.open()
        question = Request(self._attachment, name, method.name, Raw(encode(params)))
        try:
            is_known = await self._ask(question)
            while not future.done():
                if not is_known:
                    raise SessionLost("the request for the task's result has ended elsewhere")
                await asyncio.wait({future}, timeout=self._poll_s)
                # The other node sends it once, however often it is asked.
                is_known = future.done() or await self._ask(question)
            return future.result()
        except SessionLost:
            self.reachable = False
            raise
        finally:
            self._requests.close(name)
            if not future.done() and self.reachable:
                self._withdrawing = self._task.loop.create_task(self._withdraw(name))

    async def _ask(self, question: Question) -> bool:
        """Return False if the other node is lost, or does not know the request."""
        try:
            return (await self._requests.ask(self._node, question)).is_known
        except NodeGone:
            return False
        except BusError as error:
            # Silent for now: the next look tells, or the lease of the node lapses.
            _log.debug("task %s: %s", self._task.id, error)
            return True

    async def _withdraw(self, name: str) -> None:
        try:
            await self._requests.ask(self._node, Withdraw(self._attachment, name))
        except BusError as error:
            _log.debug("task %s: a request could not be cancelled: %s", self._task.id, error)

    async def drain(self) -> None:
        """Wait until the notifications before are sent."""
        if self._sending is not None:
            await asyncio.wait({self._sending})

    def answers(self, id: RequestId | None) -> bool:
        """Return True until the request for the result has ended."""
        return self.reachable

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the asyncio task of the handler."""
        return self._task.handler

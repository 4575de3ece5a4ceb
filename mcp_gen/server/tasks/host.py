"""Protocols of the parts that a running task needs: its manager, its channel and its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from msgspec import Raw

    from mcp_gen.core.stores.tasks import TaskStore
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.session.messages.channel import Channel

__all__ = ["ReattachableChannel", "TaskHost", "TaskInput"]


class TaskHost(Protocol):
    """The manager of a task, as the task sees it."""

    options: Tasks
    store: TaskStore
    now: Callable[[], float]

    def acquire_server(self) -> AbstractAsyncContextManager[None]:
        """Hold the lifespan and the mounts of the server while a handler runs."""
        ...

    def handler_ended(self, id: str) -> None:
        """Forget the handler of a task: it has ended."""
        ...

    def written(self, result: Any, revision: str) -> tuple[Raw, bool]:
        """Encode a result at a revision; the flag is true if the tool reports a failure."""
        ...


class ReattachableChannel(Protocol):
    """Channel of a task that moves to whichever request of its client is open."""

    def open(self, way: Channel) -> None:
        """Attach a request that waits for the result."""
        ...

    def close(self, way: Channel) -> None:
        """Detach it."""
        ...

    def check(self) -> None:
        """Look for a way to the client again."""
        ...


class TaskInput(Protocol):
    """Questions of a task, answered by requests of their own."""

    async def answered(self, responses: Mapping[str, Any]) -> None:
        """Take answers of the client; those to nothing that is open are ignored.

        Raises:
            InvalidParams: one is no result of what was asked: then none is taken.
        """
        ...

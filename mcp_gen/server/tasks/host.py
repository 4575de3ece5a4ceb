"""Protocols of the parts that a running task needs: its manager, its channel and its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from msgspec import Raw

    from mcp_gen.core.stores.tasks import StoredTask, TaskStore
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.profile import Profile

__all__ = ["OtherNodes", "ReattachableChannel", "TaskHost", "TaskInput"]


class TaskHost(Protocol):
    """Manager of a running task, as the task uses it."""

    options: Tasks
    store: TaskStore
    now: Callable[[], float]
    nodes: OtherNodes | None

    @property
    def mask_errors(self) -> bool:
        """True sends nothing of a failure but the id under which it is logged."""
        ...

    def acquire_server(self) -> AbstractAsyncContextManager[None]:
        """Return a context manager that holds the server's lifespan and mounts during a handler."""
        ...

    def handler_ended(self, id: str) -> None:
        """Forget a task whose handler has ended."""
        ...

    def encode_result(self, result: Any, revision: str) -> tuple[Raw, bool]:
        """Encode a result at a revision; the flag is the `isError` of the result."""
        ...


class ReattachableChannel(Protocol):
    """Channel of a task, attached to any open `tasks/result` request of its client."""

    def open(self, channel: Channel) -> None:
        """Attach the channel of a request that waits for the result."""
        ...

    def close(self, channel: Channel) -> None:
        """Detach the channel of a request."""
        ...

    def check(self) -> None:
        """Check again if the client is reachable."""
        ...


class TaskInput(Protocol):
    """Input requests of a task, answered by `tasks/update`."""

    async def accept_responses(self, responses: Mapping[str, Any]) -> None:
        """Accept responses of the client, by key; keys that are not open are ignored.

        Raises:
            InvalidParams: A response does not fit its request. Then none is accepted.
        """
        ...


class OtherNodes(Protocol):
    """Other nodes of a cluster, as the manager of one node uses them."""

    @property
    def node(self) -> str:
        """Id of this node."""
        ...

    def publish(self, task: StoredTask) -> None:
        """Tell all nodes that a stored task has changed."""
        ...

    def watch(self, id: str) -> AbstractContextManager[Callable[[float], Awaitable[None]]]:
        """Watch a task: enter a function that waits for its next change, at most some seconds."""
        ...

    async def check(self, task: StoredTask) -> StoredTask:
        """Return a task that does not run here; fail it first if its node is lost."""
        ...

    async def respond(self, task: StoredTask, responses: Mapping[str, Any]) -> None:
        """Pass responses of the client to the node that runs a task.

        Raises:
            McpError: A response does not fit, or the node cannot be reached now.
        """
        ...

    def attach(
        self, channel: Channel, profile: Profile
    ) -> AbstractAsyncContextManager[Callable[[StoredTask], Awaitable[None]]]:
        """Offer the channel of a request for a result to the node that runs the task."""
        ...

"""What a session asks a server about its tasks: chosen once, by what a Profile says of tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.errors import InvalidParams, McpError, TaskGone, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Coroutine

    from mcp_gen.client.tasks.state import TaskSnapshot

__all__ = ["InputAnswers", "NoTasks", "TaskProtocol", "known"]


class InputAnswers(Protocol):
    """Answers to the input requests of one task."""

    answers: dict[str, Any]
    """What was answered, by key."""
    told: set[str]
    """The keys whose answers the server has."""


class TaskProtocol(ABC):
    """The requests of one protocol for tasks, on one connection."""

    @abstractmethod
    async def task_params(self, tool: str, asked_for: Any) -> Any:
        """What to add to a call so that it may go on as a task; None where that is not asked for.

        `asked_for` is True, how many milliseconds it is to be kept, or TaskMetadata.
        """

    @abstractmethod
    async def requires_task(self, tool: str, error: McpError) -> bool:
        """Whether a call was refused because it has to be one that may go on as a task."""

    @abstractmethod
    def forget(self) -> None:
        """There are other tools now."""

    @abstractmethod
    async def get(self, id: str, timeout_s: float | None) -> TaskSnapshot:
        """Where a task stands.

        Raises:
            TaskGone: the server does not know it.
        """

    @abstractmethod
    def answer_input(
        self, task: InputAnswers, seen: TaskSnapshot
    ) -> Coroutine[Any, Any, Any] | None:
        """See to what the server asks for; gives what comes of the task, where it says so.

        None where nothing is to be done.
        """

    @abstractmethod
    async def outcome(self, seen: TaskSnapshot, timeout_s: float | None) -> Any:
        """What came of a task that is completed or failed.

        Raises:
            McpError: that.
        """

    @abstractmethod
    async def cancel(self, id: str, timeout_s: float | None) -> TaskSnapshot | None:
        """Call a task off; gives where it stands then, where the server says so.

        Raises:
            TaskGone: the server does not know it.
        """

    @property
    @abstractmethod
    def can_cancel(self) -> bool:
        """Whether the server takes it to heart when a task is called off."""

    @abstractmethod
    def list_tasks(self) -> AsyncIterator[TaskSnapshot]:
        """All tasks that the server knows of this client.

        Raises:
            UsageError: servers do not tell.
        """


class NoTasks(TaskProtocol):
    """A connection without tasks: every call is answered when it is done."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def task_params(self, tool: str, asked_for: Any) -> Any:
        """Nothing can be asked for."""
        return None

    async def requires_task(self, tool: str, error: McpError) -> bool:
        """It was refused for another reason."""
        return False

    def forget(self) -> None:
        """Nothing is known of tools."""

    async def get(self, id: str, timeout_s: float | None) -> TaskSnapshot:
        """There is no task."""
        raise self._none()

    def answer_input(
        self, task: InputAnswers, seen: TaskSnapshot
    ) -> Coroutine[Any, Any, Any] | None:
        """There is no task."""
        raise self._none()

    async def outcome(self, seen: TaskSnapshot, timeout_s: float | None) -> Any:
        """There is no task."""
        raise self._none()

    async def cancel(self, id: str, timeout_s: float | None) -> TaskSnapshot | None:
        """There is no task."""
        raise self._none()

    @property
    def can_cancel(self) -> bool:
        """There is no task."""
        return False

    def list_tasks(self) -> AsyncIterator[TaskSnapshot]:
        """There is no task."""
        raise self._none()

    def _none(self) -> UsageError:
        return UsageError(self._why)


async def known(id: str, asking: Awaitable[Any]) -> Any:
    """What the server says of a task.

    Raises:
        TaskGone: it does not know it.
    """
    try:
        return await asking
    except McpError as error:
        if error.code != InvalidParams.code:
            raise
        raise TaskGone(id, error) from error

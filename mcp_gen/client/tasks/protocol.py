"""Task protocol: the requests about tasks, selected by the profile of the revision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.errors import InvalidParams, McpError, TaskGone, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping

    from msgspec import Raw

    from mcp_gen.client.tasks.state import TaskSnapshot

__all__ = ["InputAnswers", "NoTasks", "TaskProtocol", "await_known_task"]


class InputAnswers(Protocol):
    """Answers to the input requests of one task."""

    answers: dict[str, Any]
    """The answers by key."""
    told: set[str]
    """Keys of the answers that the server has received."""


class TaskProtocol(ABC):
    """Requests of one task protocol on one connection."""

    @abstractmethod
    async def task_params(self, tool: str, task_request: Any) -> Any:
        """Return the `task` param of a call; None if the server or the tool does not support tasks.

        `task_request` is True, a time to live in milliseconds, or TaskMetadata.
        """

    @abstractmethod
    async def requires_task(self, tool: str, error: McpError) -> bool:
        """Return True if a call was rejected because the tool runs only as a task."""

    listed_type: Any = None
    """Wire type of the tool lists that tell which tools run as tasks; None if none do."""

    def note_listed(self, raw: Raw) -> Mapping[str, str | None]:
        """Cache and return the task support of the tools on a page of the tool list."""
        return {}

    @abstractmethod
    def forget(self) -> None:
        """Drop cached facts about tools: the tool list has changed."""

    @abstractmethod
    async def get(self, id: str, timeout_s: float | None) -> TaskSnapshot:
        """Send `tasks/get`.

        Raises:
            TaskGone: The server does not know the task.
        """

    @abstractmethod
    def answer_input(
        self, task: InputAnswers, snapshot: TaskSnapshot
    ) -> Coroutine[Any, Any, Any] | None:
        """Return a coroutine that handles the task's input requests; None if there are none.

        The coroutine returns the result of the task if the server sent it, or else None.
        """

    @abstractmethod
    async def outcome(self, snapshot: TaskSnapshot, timeout_s: float | None) -> Any:
        """Return the result of a completed or failed task.

        Raises:
            McpError: The error of a failed task.
        """

    @abstractmethod
    async def cancel(self, id: str, timeout_s: float | None) -> TaskSnapshot | None:
        """Send `tasks/cancel`; return the new snapshot if the server sends one.

        Raises:
            TaskGone: The server does not know the task.
        """

    @property
    @abstractmethod
    def can_cancel(self) -> bool:
        """True if the server supports `tasks/cancel`."""

    @abstractmethod
    def list_tasks(self) -> AsyncIterator[TaskSnapshot]:
        """Yield all tasks that the server has for this client (`tasks/list`).

        Raises:
            UsageError: The protocol has no list of tasks.
        """


class NoTasks(TaskProtocol):
    """Protocol of a connection without tasks: every call is answered with its result."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def task_params(self, tool: str, task_request: Any) -> Any:
        """Return None: calls cannot request a task."""
        return None

    async def requires_task(self, tool: str, error: McpError) -> bool:
        """Return False."""
        return False

    def forget(self) -> None:
        """Do nothing: no facts are cached."""

    async def get(self, id: str, timeout_s: float | None) -> TaskSnapshot:
        """Raise UsageError."""
        raise self._error()

    def answer_input(
        self, task: InputAnswers, snapshot: TaskSnapshot
    ) -> Coroutine[Any, Any, Any] | None:
        """Raise UsageError."""
        raise self._error()

    async def outcome(self, snapshot: TaskSnapshot, timeout_s: float | None) -> Any:
        """Raise UsageError."""
        raise self._error()

    async def cancel(self, id: str, timeout_s: float | None) -> TaskSnapshot | None:
        """Raise UsageError."""
        raise self._error()

    @property
    def can_cancel(self) -> bool:
        """False."""
        return False

    def list_tasks(self) -> AsyncIterator[TaskSnapshot]:
        """Raise UsageError."""
        raise self._error()

    def _error(self) -> UsageError:
        return UsageError(self._reason)


async def await_known_task(id: str, request: Awaitable[Any]) -> Any:
    """Await the answer to a request about a task.

    Raises:
        TaskGone: The server does not know the task.
    """
    try:
        return await request
    except McpError as error:
        if error.code != InvalidParams.code:
            raise
        raise TaskGone(id, error) from error

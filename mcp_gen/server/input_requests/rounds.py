"""Questions to the client and the base class of the rounds in which they are asked.

The revision decides between server requests (`live_rounds.py`) and `input_required` results that
the client answers by making the request again (`replayed_rounds.py`).
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from mcp_gen.core.errors import McpError, ProtocolError, UsageError
from mcp_gen.server.context.context import runtime_of
from mcp_wire import Wire, encode, latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context

__all__ = [
    "Handler",
    "InputKind",
    "InputRequest",
    "Rounds",
    "input_requests_in",
]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

Handler: TypeAlias = "Callable[[Context, P], Coroutine[Any, Any, R]]"


class InputKind(StrEnum):
    """Kind of a question to the client; the value is the name of its method on a Profile."""

    ELICIT = "elicit"
    CREATE_MESSAGE = "create_message"
    LIST_ROOTS = "list_roots"

    @property
    def request_type(self) -> Any:
        """The newest wire type of a question that is sent in a result."""
        return _TYPES[self].request

    @property
    def result_type(self) -> type[Wire]:
        """The newest wire type of an answer."""
        return _TYPES[self].result


class _Types(NamedTuple):
    request: Any
    result: type[Wire]


_TYPES: Mapping[InputKind, _Types] = {
    InputKind.ELICIT: _Types(latest.ElicitRequest, latest.ElicitResult),
    InputKind.CREATE_MESSAGE: _Types(latest.CreateMessageRequest, latest.CreateMessageResult),
    InputKind.LIST_ROOTS: _Types(latest.ListRootsRequest, latest.ListRootsResult),
}
_ROLES: Mapping[type, InputKind] = {role.request_type: role for role in InputKind}


class InputRequest(NamedTuple):
    """One question to the client; `params` are of the newest types, None where there are none."""

    kind: InputKind
    params: Any = None
    elicitation_id: str | None = None
    """The id of a page, where the revision has ids for them."""
    as_task: bool = False
    """Whether the client may answer it as a task of its own."""


class Rounds(ABC):
    """The questions and answers of one request."""

    def __init__(self, ctx: Context, params: Any) -> None:
        self.ctx = ctx
        self.params = params
        self.number = 1
        """How often the handler has been run, this time included."""
        self.closed = False
        """Whether the handler has been run for the last time, or is to end for a new round."""
        self.responses: Mapping[str, Any] | None = None
        self.user_state: str | None = None
        self.values: dict[str, Any] = {}
        """What `once` has made."""
        self._making: dict[str, asyncio.Lock] = {}
        self._digests: dict[str, str] = {}
        self._times: dict[str, int] = {}

    @abstractmethod
    async def ask(
        self,
        question: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """The client's answer, as `read` makes it from the result.

        `read` raises InvalidParams for a result that is no answer to this question.
        """

    @abstractmethod
    async def end(
        self, handler: Handler[Any, Any], result: Any, failure: BaseException | None
    ) -> Any:
        """What the request is answered with, now that the handler has returned or failed."""

    def key_for(self, question: InputRequest, key: str | None) -> str:
        """The key of a question: its own, or one that is the same in every run of the handler.

        Raises:
            UsageError: the key is that of another question.
        """
        digest = f"{question.kind}-{_digest(encode(question.params))}"
        if key is not None:
            if self._digests.setdefault(key, digest) != digest:
                raise UsageError(f"two questions have the key {key!r}; give each its own")
            return key
        if question.params is None:
            return digest
        self._times[digest] = times = self._times.get(digest, 0) + 1
        return f"{digest}-{times}"

    def restart(self) -> None:
        """The handler is about to be run anew: it asks from its first question on."""
        self._digests.clear()
        self._times.clear()

    def next_round(self) -> None:
        """One more round is to come.

        Raises:
            McpError: there have been too many; the client is not to be asked for ever.
        """
        if self.number >= runtime_of(self.ctx).max_rounds:
            raise McpError(
                ProtocolError.code,
                f"no end after {self.number} rounds of questions; a question that reads "
                "differently every time needs a `key`",
            )
        self.number += 1

    async def once(self, key: str, make: Callable[[], Any]) -> Any:
        """See `Context.once`."""
        # Two tasks of one handler may come here together.
        async with self._making.setdefault(key, asyncio.Lock()):
            if key not in self.values:
                made = make()
                self.values[key] = await made if inspect.isawaitable(made) else made
            return self.values[key]


def input_requests_in(result: latest.InputRequiredResult) -> dict[str, InputRequest]:
    """The questions that a handler returned, by its keys."""
    asked = result.input_requests or {}
    return {key: InputRequest(_ROLES[type(one)], one.params) for key, one in asked.items()}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

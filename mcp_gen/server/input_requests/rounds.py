"""A request that is answered in rounds: questions to the client, and the handler run with answers.

Which way the questions go is a fact of the revision: as requests of their own (`live.py`), or in
the result, after which the client makes the request again (`replay.py`).
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar

from mcp_gen.core.errors import McpError, ProtocolError, UrlElicitationRequired, UsageError
from mcp_wire import encode
from mcp_wire.latest import (
    CreateMessageRequest,
    ElicitRequest,
    InputRequiredResult,
    ListRootsRequest,
)

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context

__all__ = [
    "Handler",
    "Question",
    "Role",
    "Rounds",
    "earlier_rounds",
    "in_rounds",
    "questions_of",
    "rounds_of",
]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

Handler: TypeAlias = "Callable[[Context, P], Coroutine[Any, Any, R]]"
Role: TypeAlias = Literal["elicit", "create_message", "list_roots"]
"""What is asked of the client; also the name of the method's place on a Profile."""


class Question(NamedTuple):
    """One question to the client; `params` are of the newest types, None where there are none."""

    role: Role
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
        self.over = False
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
        question: Question,
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

    def claim(self, question: Question, key: str | None) -> str:
        """The key of a question: its own, or one that is the same in every run of the handler.

        Raises:
            UsageError: the key is that of another question.
        """
        digest = f"{question.role}-{_digest(encode(question.params))}"
        if key is not None:
            if self._digests.setdefault(key, digest) != digest:
                raise UsageError(f"two questions have the key {key!r}; give each its own")
            return key
        if question.params is None:
            return digest
        self._times[digest] = times = self._times.get(digest, 0) + 1
        return f"{digest}-{times}"

    def begin_again(self) -> None:
        """The handler is about to be run anew: it asks from its first question on."""
        self._digests.clear()
        self._times.clear()

    def count(self) -> None:
        """One more round is to come.

        Raises:
            McpError: there have been too many; the client is not to be asked for ever.
        """
        if self.number >= self.ctx.server.max_rounds:
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


def rounds_of(ctx: Context) -> Rounds:
    """The rounds of a request whose handler is running.

    Raises:
        UsageError: it is no tool, prompt or resource, or it has returned.
    """
    rounds = ctx.rounds
    if ctx.asking is None and not (rounds and rounds.over):
        raise UsageError(
            "the client can be asked in tools, prompts and resources only, "
            "and only until they return: await what you ask"
        )
    if rounds is None:
        rounds = ctx.rounds = _rounds(ctx, ctx.asking)
    return rounds


def _rounds(ctx: Context, params: Any) -> Rounds:
    if ctx.profile.asks_client == "input_required":
        from mcp_gen.server.input_requests.replayed_rounds import ReplayedRounds

        return ReplayedRounds(ctx, params)
    from mcp_gen.server.input_requests.live_rounds import LiveRounds

    return LiveRounds(ctx, params)


def earlier_rounds(ctx: Context) -> Rounds | None:
    """The rounds of a request, if this is not its first or if it has asked something."""
    if ctx.rounds is None and getattr(ctx.asking, "input_responses", None) is not None:
        return rounds_of(ctx)
    return ctx.rounds


async def in_rounds(ctx: Context, params: P, handler: Handler[P, R]) -> R:
    """Run a handler that may ask the client, and answer with its questions while it has any.

    A request that asks nothing pays for a few looks at its fields.
    """
    ctx.asking = params
    if getattr(params, "request_state", None) is not None:
        # Before anything is done for a client that may not have it from here.
        rounds_of(ctx)
    result: Any = None
    failure: BaseException | None = None
    try:
        answer = await handler(ctx, params)
        if ctx.rounds is None and type(answer) is not InputRequiredResult:
            return answer
        result = answer
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        if ctx.rounds is None and not isinstance(error, UrlElicitationRequired):
            raise
        failure = error
    finally:
        ctx.asking = None
    rounds = ctx.rounds = ctx.rounds or _rounds(ctx, params)
    settled: R = await rounds.end(handler, result, failure)
    return settled


def questions_of(result: InputRequiredResult) -> dict[str, Question]:
    """The questions that a handler returned, by its keys."""
    asked = result.input_requests or {}
    return {key: Question(_ROLES[type(one)], one.params) for key, one in asked.items()}


_ROLES: Mapping[type, Role] = {
    ElicitRequest: "elicit",
    CreateMessageRequest: "create_message",
    ListRootsRequest: "list_roots",
}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

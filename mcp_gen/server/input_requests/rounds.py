"""Input requests to the client and the base class of the rounds that carry them.

The revision decides between server requests (`live_rounds.py`) and multi round-trip requests
(`input_required`, `replayed_rounds.py`).
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from mcp_gen.core.errors import InvalidParams, McpError, ProtocolError, UsageError
from mcp_gen.server.context.context import runtime_of
from mcp_gen.server.input_requests.request_state import check_value
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
    """Kind of an input request; the value is the name of its method on a Profile."""

    ELICIT = "elicit"
    CREATE_MESSAGE = "create_message"
    LIST_ROOTS = "list_roots"

    @property
    def request_type(self) -> Any:
        """Wire type of the request in an `InputRequiredResult`, at the newest revision."""
        return _TYPES[self].request

    @property
    def result_type(self) -> type[Wire]:
        """Wire type of the response, at the newest revision."""
        return _TYPES[self].result


class _Types(NamedTuple):
    request: Any
    result: type[Wire]


_TYPES: Mapping[InputKind, _Types] = {
    InputKind.ELICIT: _Types(latest.ElicitRequest, latest.ElicitResult),
    InputKind.CREATE_MESSAGE: _Types(latest.CreateMessageRequest, latest.CreateMessageResult),
    InputKind.LIST_ROOTS: _Types(latest.ListRootsRequest, latest.ListRootsResult),
}
_KIND_BY_TYPE: Mapping[type, InputKind] = {kind.request_type: kind for kind in InputKind}


class InputRequest(NamedTuple):
    """Elicitation, sampling or roots request to the client.

    `params` are of the newest revision's types; None for `roots/list`.
    """

    kind: InputKind
    params: Any = None
    elicitation_id: str | None = None
    """Id of a URL elicitation, for revisions that have such ids."""
    as_task: bool = False
    """True if the client may answer it as a task of its own."""


class Rounds(ABC):
    """Input requests and responses of one request, over all runs of its handler."""

    spans_mounts = False
    """True if the handlers of mounted servers ask in these rounds, too."""

    def __init__(self, ctx: Context, params: Any) -> None:
        self.ctx = ctx
        self.params = params
        self.number = 1
        """Number of the current run of the handler; the first is 1."""
        self.in_vain = False
        """True if the client has not answered a question of some round in a way that fits."""
        self.closed = False
        """True once the handler has run for the last time, or is being ended for another round."""
        self.responses: Mapping[str, Any] | None = None
        self.user_state: str | None = None
        self._values: dict[str, Any] = {}
        self._making: dict[str, asyncio.Lock] = {}
        self._digests: dict[str, str] = {}
        self._occurrences: dict[str, int] = {}

    @property
    def values(self) -> dict[str, Any]:
        """Values made by `once`, by key."""
        return self._values

    async def load_values(self) -> None:
        """Load what earlier rounds have stored; nothing where the handler runs once."""
        return

    @abstractmethod
    async def request_input(
        self,
        request: InputRequest,
        key: str | None,
        read: Callable[[Any], T],
        timeout_s: float | None,
    ) -> T:
        """Return the client's response, converted by `read`.

        Args:
            request: The input request.
            key: Key of the request, unique in the handler; None derives one from its content.
            read: Converts the result; raises InvalidResult if it does not fit the request.
            timeout_s: Seconds to wait, where the request is sent at once; None for the default.
        """

    @abstractmethod
    async def end(
        self, handler: Handler[Any, Any], result: Any, failure: BaseException | None
    ) -> Any:
        """Return the result of the request, after the handler has returned or failed."""

    def key_for(self, request: InputRequest, key: str | None) -> str:
        """Return the given key, or derive one that is the same in every run of the handler.

        Raises:
            UsageError: Another input request has the key.
        """
        digest = f"{request.kind}-{_digest(encode(request.params))}"
        if key is not None:
            if self._digests.setdefault(key, digest) != digest:
                raise UsageError(f"two questions have the key {key!r}; give each its own")
            return key
        if request.params is None:
            return digest
        self._occurrences[digest] = occurrence = self._occurrences.get(digest, 0) + 1
        return f"{digest}-{occurrence}"

    def scope_of(self, params: bytes) -> str:
        """Return a name for a call of the handler that is the same in every run of it.

        Args:
            params: Encoded params of the call.
        """
        digest = _digest(params)
        self._occurrences[digest] = occurrence = self._occurrences.get(digest, 0) + 1
        return f"{digest}-{occurrence}"

    def restart(self) -> None:
        """Forget the keys used so far, before the handler is run again."""
        self._digests.clear()
        self._occurrences.clear()

    def next_round(self, *, asked_again: bool = False) -> None:
        """Count one more round.

        Args:
            asked_again: True if the client has not answered a question of the last round, or not in
                a way that fits.

        Raises:
            InvalidParams: The limit of the server, `max_rounds`, is reached, and in some round by
                such a client.
            McpError: The limit is reached by a handler that asks for ever.
        """
        self.in_vain |= asked_again
        if self.number >= runtime_of(self.ctx).max_rounds:
            if self.in_vain:
                raise InvalidParams(
                    f"no answer that fits the questions after {self.number} rounds"
                    " - at `$.inputResponses`"
                )
            raise McpError(
                ProtocolError.code,
                f"no end after {self.number} rounds of questions; a question that reads "
                "differently every time needs a `key`",
            )
        self.number += 1

    async def once(self, key: str, make: Callable[[], Any]) -> Any:
        """See `Context.once`.

        Raises:
            UsageError: A cluster stores the value as JSON, and it would come back as another.
        """
        # Two tasks of one handler may use the same key concurrently.
        async with self._making.setdefault(key, asyncio.Lock()):
            if key not in self.values:
                made = make()
                value = await made if inspect.isawaitable(made) else made
                if runtime_of(self.ctx).once_store.values_are_json:
                    check_value(key, value)
                self.values[key] = value
            return self.values[key]


def input_requests_in(result: latest.InputRequiredResult) -> dict[str, InputRequest]:
    """Return the input requests that a handler returned, by key."""
    requests = result.input_requests or {}
    return {
        key: InputRequest(_KIND_BY_TYPE[type(request)], request.params)
        for key, request in requests.items()
    }


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

"""What a handler may ask about the request it answers, and what it may ask and tell the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from mcp_gen.session.peer import client_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.server.asking import Answer, Messages
    from mcp_gen.server.blocking import BlockingContext
    from mcp_gen.server.rounds import Rounds
    from mcp_gen.server.server import Server
    from mcp_gen.session.lifecycle import Caller
    from mcp_gen.session.peer import Session
    from mcp_wire import latest
    from mcp_wire.callers import ClientCaller
    from mcp_wire.profile import Profile

__all__ = ["Context"]

T = TypeVar("T")


class Context(Struct, eq=False):
    """One request being answered. Ask for it with a parameter annotated `Context`."""

    server: Server
    """The server that answers it."""
    request_id: RequestId | None
    """The id of the request; None in a hook of a notification, which has none."""
    caller: Caller
    meta: dict[str, Any] | None
    """The request's `_meta`, as it came."""
    rounds: Rounds | None = None
    """The questions of this request, where it may ask: in tools, prompts and resources."""
    last_progress: float | None = None
    """What was reported last: progress only goes up."""

    # --- the request ---

    @property
    def profile(self) -> Profile:
        """The facts of the revision this request is answered at."""
        return self.caller.profile

    @property
    def revision(self) -> str:
        """The revision this request is answered at."""
        return self.caller.profile.revision

    @property
    def session(self) -> Session | None:
        """The client's session; None at revisions whose requests stand for themselves."""
        return self.caller.session

    @property
    def client_info(self) -> Any:
        """What the client says it is: a wire type, or plain JSON; None if it does not say.

        For display and logs only: nothing vouches for it.
        """
        return self.caller.client_info

    @property
    def client_capabilities(self) -> Any:
        """What the client declared: a wire type, or plain JSON."""
        return self.caller.capabilities

    @property
    def headers(self) -> Mapping[str, str] | None:
        """The HTTP headers, names in lower case; None where there is no HTTP."""
        return cast("Mapping[str, str] | None", self.caller.headers)

    @property
    def client(self) -> ClientCaller:
        """The client, asked and told as a part of this request.

        Raises:
            UsageError: from its calls, where the revision has no such message: prefer `elicit`,
                `sample` and `list_roots`, which work at all of them.
        """
        return client_at(self.profile, self.caller.outlet, self.server.kernel, self)

    @property
    def lifespan(self) -> Any:
        """What the server's lifespan gave; None without one."""
        return self.server.lifespan_value

    # --- telling the client ---

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell how far this request has come, if the client wants to know.

        What does not exceed the last report is left out, as is everything after the answer.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
        """
        from mcp_gen.server.reporting import report_progress

        await report_progress(self, progress, total, message)

    async def log(
        self, level: latest.LoggingLevel, data: Any, *, logger: str | None = None
    ) -> None:
        """Send a log message to the client, if it wants to hear of this level.

        `data` is a text or any JSON. Raises UsageError for a level that there is none of.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
        """
        from mcp_gen.server.logs import log

        await log(self, level, data, logger)

    async def close_stream(self, retry_ms: int | None = None) -> None:
        """Hang up while this request is being answered: the client comes back for the answer.

        It is asked to wait for `retry_ms`. Where nobody would come back nothing happens: before
        2025-11-25 and from 2026-07-28 on, on other transports than HTTP, and where the client has
        been promised an answer in one piece.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
        """
        hang_up = getattr(self.caller.outlet, "close_stream", None)
        if hang_up is not None:
            hang_up(retry_ms)

    # --- asking the client: one body for every revision ---

    async def elicit(
        self, message: str, form: type[T], *, key: str | None = None, timeout_s: float | None = None
    ) -> Answer[T]:
        """Ask the user to fill in a form: a dataclass, a Struct or a TypedDict of plain fields.

        Where the client cannot be asked while a request is open, the request ends with the question
        and this handler runs again, from its beginning, with the answer. `key` names the question
        over these rounds; without it, what is asked and how often before names it.

        Raises:
            MissingCapability: the client has not declared that it can ask its user.
            UsageError: not in a tool, prompt or resource; a form that JSON cannot carry flat.
            RequestTimeout, SessionLost, McpError: from the client, where it is asked at once.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
        """
        from mcp_gen.server.asking import elicit

        return await elicit(self, message, form, key=key, timeout_s=timeout_s)

    async def elicit_url(
        self,
        message: str,
        url: str,
        *,
        elicitation_id: str | None = None,
        key: str | None = None,
        timeout_s: float | None = None,
    ) -> Answer[None]:
        """Ask the user to go to a URL, for what must not pass through the client; see `elicit`."""
        from mcp_gen.server.asking import elicit_url

        return await elicit_url(self, message, url, elicitation_id, key=key, timeout_s=timeout_s)

    async def sample(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        key: str | None = None,
        timeout_s: float | None = None,
        **params: Any,
    ) -> latest.CreateMessageResult:
        """Ask the client's model to go on with a conversation; see `elicit` for how and errors.

        `messages` is a text, or a list of texts and SamplingMessages; `params` are the other fields
        of CreateMessageRequestParams, such as `system_prompt` and `tools`.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
        """
        from mcp_gen.server.asking import sample

        return await sample(
            self, messages, max_tokens=max_tokens, key=key, timeout_s=timeout_s, **params
        )

    async def list_roots(
        self, *, key: str | None = None, timeout_s: float | None = None
    ) -> Sequence[latest.Root]:
        """Ask which folders the client works in; see `elicit` for how and errors.

        Kept for the session until the client says that they have changed.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/roots
        """
        from mcp_gen.server.asking import list_roots

        return await list_roots(self, key=key, timeout_s=timeout_s)

    async def once(self, key: str, make: Callable[[], Awaitable[T] | T]) -> T:
        """Do something once, though the handler runs again for every round of questions.

        The value stays on this server while the rounds last. If an answer gets lost on its way, it
        may be made again: at least once, not at most.
        """
        from mcp_gen.server.rounds import once

        return await once(self, key, make)

    @property
    def round(self) -> int:
        """How often the handler has been run for this request, this time included: 1 at first."""
        return self.rounds.number if self.rounds else 1

    @property
    def input_responses(self) -> Mapping[str, Any] | None:
        """The answers to an InputRequiredResult that this handler returned, by key."""
        return self.rounds.responses if self.rounds else None

    @property
    def request_state(self) -> str | None:
        """The state of the InputRequiredResult that this handler returned last."""
        return self.rounds.user_state if self.rounds else None

    @property
    def blocking(self) -> BlockingContext:
        """The same for a handler that is not async: each call waits for its answer."""
        from mcp_gen.server.blocking import BlockingContext

        return BlockingContext(self)

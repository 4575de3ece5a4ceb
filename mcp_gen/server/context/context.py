"""What a handler may ask about the request it answers, and what it may ask and tell the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from msgspec import Struct

from mcp_gen.core.extensions.extensions import CLIENT, declared, missing
from mcp_gen.session.messages.gather import gather_all
from mcp_gen.session.peer.session import client_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.server.context.answers import Answer, Messages
    from mcp_gen.server.context.blocking import BlockingContext
    from mcp_gen.server.context.rate_limit import RateLimiter
    from mcp_gen.server.context.server_view import ServerView
    from mcp_gen.server.context.services import RoundsView, TaskHandle, ToolTasks
    from mcp_gen.server.context.threads import ThreadBridge
    from mcp_gen.session.peer.session import RequestOrigin, Session, SessionClient
    from mcp_wire import latest
    from mcp_wire.extension import Extension
    from mcp_wire.profile import Profile

__all__ = ["Context"]

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")


class Context(Struct, eq=False):
    """One request being answered. Ask for it with a parameter annotated `Context`."""

    server: ServerView[Context]
    """The server that answers it."""
    request_id: RequestId | None
    """The id of the request; None in a hook of a notification, which has none."""
    caller: RequestOrigin
    meta: dict[str, Any] | None
    """The request's `_meta`, as it came."""
    asking: Any = None
    """The params of a tool, prompt or resource while it runs: then it may ask the client."""
    rounds: RoundsView | None = None
    """The questions of this request, once there are any."""
    worker: ThreadBridge | None = None
    """The thread that a handler runs in, where it does."""
    last_progress: float | None = None
    """What was reported last: progress only goes up."""
    reports: RateLimiter | None = None
    """How many reports may still be sent, once there has been one."""
    task: TaskHandle | None = None
    """The task that the handler runs as; None where the request is answered with its result."""
    task_box: ToolTasks[Context] | None = None
    """Who keeps its tasks, where the server is mounted in another one."""

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
    def client(self) -> SessionClient:
        """The client, asked and told as a part of this request.

        Raises:
            UsageError: from its calls, where the revision has no such message: prefer `elicit`,
                `sample` and `list_roots`, which work at all of them.
        """
        return client_at(self.profile, self.caller.channel, self.server.runtime.kernel, self)

    @property
    def lifespan(self) -> Any:
        """What the server's lifespan gave; None without one."""
        return self.server.runtime.lifespan_value

    # --- extensions ---

    def declares(self, extension: Extension) -> dict[str, Any] | None:
        """The settings with which the client declared an extension; None if it did not.

        They may be empty. Where the revision does not carry the extension, nobody can.
        """
        return declared(extension, self.caller.capabilities, self.profile, CLIENT)

    def require(self, extension: Extension) -> dict[str, Any]:
        """The same where the request makes no sense without it.

        Raises:
            MissingCapability: the client has not declared it.

        Source:
        https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation
        """
        settings = self.declares(extension)
        if settings is None:
            raise missing(extension, self.profile)
        return settings

    def allow(self, result: T) -> T:
        """Let a result pass, unless it is one of an extension that the client has not declared.

        Raises:
            MissingCapability: it is.
        """
        arms = self.server.runtime.kernel.extensions.arms
        if arms and type(result) in arms:
            self.require(arms[type(result)])
        return result

    # --- telling the client ---

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell how far this request has come, if the client wants to know.

        What does not exceed the last report is left out, as is everything after the answer, and
        what is more than `Server(max_progress_per_s=)`, unless it reaches `total`.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
        """
        await self.server.runtime.services(self).report_progress(progress, total, message)

    async def log(
        self, level: latest.LoggingLevel, data: Any, *, logger: str | None = None
    ) -> None:
        """Send a log message to the client, if it wants to hear of this level.

        `data` is a text or any JSON. Raises UsageError for a level that there is none of.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
        """
        await self.server.runtime.services(self).log(level, data, logger)

    async def close_stream(self, retry_ms: int | None = None) -> None:
        """Hang up while this request is being answered: the client comes back for the answer.

        It is asked to wait for `retry_ms`. Where nobody would come back nothing happens: before
        2025-11-25 and from 2026-07-28 on, on other transports than HTTP, and where the client has
        been promised an answer in one piece.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
        """
        hang_up = getattr(self.caller.channel, "close_stream", None)
        if hang_up is not None:
            hang_up(retry_ms)

    # --- asking the client: one body for every revision ---

    async def elicit(
        self,
        message: str,
        form: type[T],
        *,
        key: str | None = None,
        timeout_s: float | None = None,
        task: bool = False,
    ) -> Answer[T]:
        """Ask the user to fill in a form: a dataclass, a Struct or a TypedDict of plain fields.

        Where the client cannot be asked while a request is open, the request ends with the question
        and this handler runs again, from its beginning, with the answer. `key` names the question
        over these rounds; without it, what is asked and how often before names it. An answer under
        a key is the answer to every question of that key.

        A field is a str, int, float, bool, datetime or date, a Literal or an Enum of texts, or a
        list of one of these two; `Annotated[..., msgspec.Meta(...)]` adds titles, descriptions,
        bounds and, in `extra_json_schema`, the formats `email` and `uri`.

        Where the client is asked at once, its answer may take `timeout_s`, which is 600 if it is
        not given; `math.inf` waits for ever. An answer that does not fit the form is InvalidResult
        there. Where it comes with the next request, it is asked for again.

        With `task` a client that has declared so may take the question as a task of its own: it is
        looked at until it is over, and cancelled if nobody waits any more.

        Raises:
            MissingCapability: the client has not declared that it can ask its user.
            UsageError: not in a tool, prompt or resource; a form that JSON cannot carry flat.
            ProjectionError: the revision's forms have no such field; the message ends in the path.
            RequestTimeout, SessionLost, McpError, InvalidResult: from the client, where it is asked
                at once.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
        """
        services = self.server.runtime.services(self)
        return await services.elicit(message, form, key=key, timeout_s=timeout_s, task=task)

    async def elicit_url(
        self,
        message: str,
        url: str,
        *,
        elicitation_id: str | None = None,
        key: str | None = None,
        timeout_s: float | None = None,
    ) -> Answer[None]:
        """Ask the user to go to a URL, for what must not pass through the client; see `elicit`.

        Accepted means that the user has agreed to go there, not that anything has been done. A URL
        that is made anew in every round needs a `key`, or `once`. `elicitation_id` is the name for
        `elicitation_complete`, where the revision has it; without it one is made up.

        Source:
        https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
        """
        services = self.server.runtime.services(self)
        return await services.elicit_url(message, url, elicitation_id, key=key, timeout_s=timeout_s)

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """Tell the client that its user is done at a URL, where the revision has a word for it.

        See `server.notify.elicitation_complete` for after the request.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        await self.server.runtime.services(self).elicitation_complete(elicitation_id)

    async def sample(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        model_preferences: latest.ModelPreferences | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        tools: list[latest.Tool] | None = None,
        tool_choice: latest.ToolChoice | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
        key: str | None = None,
        timeout_s: float | None = None,
        task: bool = False,
    ) -> latest.CreateMessageResult:
        """Ask the client's model to go on with a conversation; see `elicit` for how and errors.

        `messages` is a text, or a list of texts and SamplingMessages; a text is the user's turn.
        The client must have declared `sampling.tools` for `tools` and `tool_choice`, and from
        2025-11-25 `sampling.context` for an `include_context` other than `none`.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
        """
        return await self.server.runtime.services(self).sample(
            messages,
            max_tokens=max_tokens,
            key=key,
            timeout_s=timeout_s,
            task=task,
            system_prompt=system_prompt,
            model_preferences=model_preferences,
            temperature=temperature,
            stop_sequences=stop_sequences,
            metadata=metadata,
            tools=tools,
            tool_choice=tool_choice,
            include_context=include_context,
        )

    async def list_roots(
        self, *, key: str | None = None, timeout_s: float | None = None
    ) -> Sequence[latest.Root]:
        """Ask which folders the client works in; see `elicit` for how and errors.

        Kept for the session until the client says that they have changed, if it has declared that
        it does; for this request where there is no session. The client may take 60 s, or
        `timeout_s`.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/roots
        """
        return await self.server.runtime.services(self).list_roots(key=key, timeout_s=timeout_s)

    @overload
    async def ask_all(self, a: Awaitable[T1], /) -> tuple[T1]: ...

    @overload
    async def ask_all(self, a: Awaitable[T1], b: Awaitable[T2], /) -> tuple[T1, T2]: ...

    @overload
    async def ask_all(
        self, a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], /
    ) -> tuple[T1, T2, T3]: ...

    @overload
    async def ask_all(
        self, a: Awaitable[T1], b: Awaitable[T2], c: Awaitable[T3], d: Awaitable[T4], /
    ) -> tuple[T1, T2, T3, T4]: ...

    @overload
    async def ask_all(
        self,
        a: Awaitable[T1],
        b: Awaitable[T2],
        c: Awaitable[T3],
        d: Awaitable[T4],
        e: Awaitable[T5],
        /,
    ) -> tuple[T1, T2, T3, T4, T5]: ...

    @overload
    async def ask_all(self, *questions: Awaitable[T]) -> tuple[T, ...]: ...

    async def ask_all(self, *questions: Awaitable[Any]) -> tuple[Any, ...]:
        """Ask everything at once, in one round: `await ctx.ask_all(ctx.elicit(...), ...)`.

        The answers come in the order of the questions. Where one fails, the others are cancelled,
        at the client too, and its error is raised.
        """
        return await gather_all(*questions)

    @overload
    async def once(self, key: str, make: Callable[[], Awaitable[T]]) -> T: ...

    @overload
    async def once(self, key: str, make: Callable[[], T]) -> T: ...

    async def once(self, key: str, make: Callable[[], Any]) -> Any:
        """Do something once, though the handler runs again for every round of questions.

        The value stays on this server while the rounds last. If an answer gets lost on its way, it
        may be made again: at least once, not at most.
        """
        return await self.server.runtime.services(self).rounds().once(key, make)

    @property
    def round(self) -> int:
        """How often the handler has been run for this request, this time included: 1 at first."""
        rounds = self.server.runtime.services(self).previous_rounds()
        return rounds.number if rounds else 1

    @property
    def input_responses(self) -> Mapping[str, Any] | None:
        """The answers to an InputRequiredResult that this handler returned, by key.

        None in the first round; a key without an answer is missing. Values are ElicitResult,
        CreateMessageResult and ListRootsResult of the newest types, as the client sent them.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
        """
        rounds = self.server.runtime.services(self).previous_rounds()
        return rounds.responses if rounds else None

    @property
    def request_state(self) -> str | None:
        """The state of the InputRequiredResult that this handler returned last."""
        rounds = self.server.runtime.services(self).previous_rounds()
        return rounds.user_state if rounds else None

    @property
    def blocking(self) -> BlockingContext:
        """The same for a handler that is not async, in its thread: each call waits for its answer.

        Raises:
            UsageError: from its calls, on the loop: await them there.
        """
        # Imported here: a server whose handlers are all async has no use for it.
        from mcp_gen.server.context.blocking import BlockingContext

        return BlockingContext(self)

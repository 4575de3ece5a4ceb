"""`Context`, the request that a handler answers; its services are handed in by the server."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast, overload

from msgspec import UNSET, Struct

# Types of the fields are imported at run time: `help(Context)` evaluates them.
from mcp_gen.core.envelope import RequestId
from mcp_gen.core.extensions.extensions import CLIENT, declared, missing
from mcp_gen.core.mistakes.checks import Elsewhere, explains_calls
from mcp_gen.server.context.rate_limit import RateLimiter
from mcp_gen.server.context.server_view import ServerView
from mcp_gen.server.context.services import RoundsView, TaskHandle, ToolTasks
from mcp_gen.server.context.state import State
from mcp_gen.server.context.threads import ThreadBridge
from mcp_gen.session.messages.gather import gather_all
from mcp_gen.session.messages.sender import SendingLayer
from mcp_gen.session.peer.session import RequestOrigin, client_at

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    import typing_extensions
    from typing_extensions import TypeForm

    from mcp_gen.core.transport.access_token import AccessToken
    from mcp_gen.server.context.answers import Answer, Messages
    from mcp_gen.server.context.blocking import BlockingContext
    from mcp_gen.server.context.services import ServerRuntime
    from mcp_gen.session.peer.session import Session, SessionClient
    from mcp_wire import latest
    from mcp_wire.extension import Extension
    from mcp_wire.profile import Profile

__all__ = [
    "Context",
    "input_params_of",
    "last_progress_of",
    "masks_errors",
    "origin_of",
    "outer_layers",
    "outer_of",
    "progress_limiter_of",
    "rounds_of",
    "runtime_of",
    "set_input_params",
    "set_last_progress",
    "set_outer",
    "set_progress_limiter",
    "set_rounds",
    "set_thread_bridge",
    "set_tool_tasks",
    "thread_bridge_of",
    "tool_tasks_of",
]

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
T5 = TypeVar("T5")
if TYPE_CHECKING:
    App_co = typing_extensions.TypeVar("App_co", covariant=True, default=Any)
else:  # defaults of type variables are for type checkers only: before 3.13 `typing` has none
    App_co = TypeVar("App_co", covariant=True)


class Context(Struct, Generic[App_co], eq=False):
    """The request that a handler answers. Handlers get it with a parameter annotated `Context`.

        @server.tool
        async def book(room: str, ctx: Context) -> str:
            await ctx.report_progress(1, 3)
            answer = await ctx.elicit("For how many people?", Party)
            ...

    Contexts are made by the server. `Context[Database]` tells type checkers the type of
    `ctx.lifespan`; what a handler gets is the same.

    Args:
        server: Server that answers the request.
        request_id: JSON-RPC id of the request; None in a hook of a notification.
        meta: `_meta` of the request, as received; None without one.
        task: Task that the handler runs as; None if the request is answered with its result.
    """

    server: ServerView[Context]
    """Server that answers the request."""
    request_id: RequestId | None
    """JSON-RPC id of the request; None in a hook of a notification."""
    _origin: RequestOrigin
    meta: dict[str, Any] | None
    """`_meta` of the request, as received."""
    _input_params: Any = None
    """Params of a tool, prompt or resource while its handler runs and may send input requests."""
    _rounds: RoundsView | None = None
    """State of the multi round-trip request, once there is an input request."""
    _thread_bridge: ThreadBridge | None = None
    """Bridge to the thread of a sync handler."""
    _last_progress: float | None = None
    """Last progress value sent; progress must increase."""
    _progress_limiter: RateLimiter | None = None
    """Rate limiter of progress notifications, made by the first one."""
    task: TaskHandle | None = None
    """Task that the handler runs as; None if the request is answered with its result."""
    _tool_tasks: ToolTasks[Context] | None = None
    """Task manager of the outermost server, where the server of the request is mounted."""
    _outer: Context | None = None
    """Context of the same request in the server that this one is mounted in."""

    # --- the request ---

    @property
    def profile(self) -> Profile:
        """Facts of the revision at which the request is answered."""
        return self._origin.profile

    @property
    def revision(self) -> str:
        """Protocol revision at which the request is answered, such as `"2025-11-25"`."""
        return self._origin.profile.revision

    @property
    def session(self) -> Session | None:
        """Session of the client; None at revisions without sessions."""
        return self._origin.session

    @property
    def client_info(self) -> latest.Implementation | None:
        """Name and version that the client states, of the newest type; None if it states none.

        For display and logs only: it is not authenticated. Of a malformed one, the members that fit
        are kept; a missing text is empty.
        """
        return self._origin.info_read()

    @property
    def client_capabilities(self) -> latest.ClientCapabilities:
        """Capabilities that the client declared, of the newest type at every revision.

        What it did not declare is None; `extra` has the capabilities that the type does not name.
        Before the handshake nothing is declared.
        """
        return self._origin.capabilities_read()

    @property
    def principal(self) -> str | None:
        """Authenticated principal of an HTTP request; None where there is none.

        It comes from `Server.asgi(auth=...)`, from `Server.asgi(principal=...)` or from an
        authenticating ASGI middleware. With `auth` it names issuer and user, or issuer and client
        where no user takes part, and is the same for every token of theirs.
        """
        return self._origin.principal

    @property
    def token(self) -> AccessToken | None:
        """Verified access token of this request: claims and scopes; None where there is none.

        There is one over HTTP with `Server.asgi(auth=...)` alone; the transports of local clients
        have no tokens. In a session it is that of the current request. Never send it to another
        server: its audience is this one.
        """
        admission = self._origin.admission
        return None if admission is None else admission.token

    @property
    def headers(self) -> Mapping[str, str] | None:
        """HTTP headers of the request, names in lower case; None on other transports."""
        return cast("Mapping[str, str] | None", self._origin.headers)

    @property
    def client(self) -> SessionClient:
        """Requests and notifications to the client, sent as part of this request.

        Its calls raise UsageError where the revision has no such message. Prefer `elicit`, `sample`
        and `list_roots`, which work at every revision.
        """
        kernel, channel = runtime_of(self).kernel, self._origin.channel
        said = self._origin.capabilities
        return client_at(self.profile, channel, kernel, self, said, outer_layers(self))

    @property
    def lifespan(self) -> App_co:
        """Value of the lifespan of the server; None without a lifespan."""
        return cast("App_co", runtime_of(self).lifespan_value)

    @property
    def state(self) -> State:
        """Values that handlers keep for this client between requests, in a store.

            count = await ctx.state.get("count", int, 0)
            await ctx.state.set("count", count + 1)

        State belongs to the session; where there is none, to the key that the application names
        with `Server(session_state=SessionState(key=...))`.

        Raises:
            UsageError: there is neither a session nor a key.
        """
        return runtime_of(self).state_of(self)

    # --- extensions ---

    def declares(self, extension: Extension) -> dict[str, Any] | None:
        """Return the settings with which the client declared an extension.

        Returns:
            The settings, which may be empty. None if the client did not declare the extension, or
            if the revision does not carry it.
        """
        return declared(extension, self._origin.capabilities, self.profile, CLIENT)

    def require(self, extension: Extension) -> dict[str, Any]:
        """Return the settings of an extension that the request depends on.

        Raises:
            MissingCapability: the client has not declared the extension.

        Source:
        https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation
        """
        settings = self.declares(extension)
        if settings is None:
            raise missing(extension, self.profile)
        return settings

    def allow(self, result: T) -> T:
        """Return a result, after a check that the client supports its type.

        A result type of an extension needs a client that declared the extension.

        Raises:
            MissingCapability: the client has not declared the extension of the result type.
        """
        arms = runtime_of(self).kernel.extensions.arms
        if arms and type(result) in arms:
            self.require(arms[type(result)])
        return result

    # --- calls to the same server ---

    @overload
    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None
    ) -> latest.CallToolResult: ...

    @overload
    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, returns: None
    ) -> None: ...

    # Checkers without TypeForm understand classes.

    @overload
    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, returns: type[T]
    ) -> T: ...

    @overload
    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, returns: TypeForm[T]
    ) -> T: ...

    @explains_calls("ctx.call_tool", 'await ctx.call_tool(name, {"a": 1})')
    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, *, returns: Any = UNSET
    ) -> Any:
        """Call a tool of the server of this request, as its client would.

            forecast = await ctx.call_tool("forecast", {"city": "Oslo"}, returns=Forecast)

        The call passes hooks, middleware, filters, the checks of arguments and results, and mounts.
        A tool that runs as a task is awaited like any other. Input requests of the tool are part of
        this request: in a multi round-trip request this handler runs again, too; see `elicit`. Its
        progress is not sent. Calls may be nested up to `PeerLimits.max_nested_calls`.

        Args:
            name: Name of the tool in this server; in a mounted server, without the prefix.
            arguments: Arguments by name: plain JSON, or values that JSON can carry.
            returns: Type of the result, as for a client's `call_tool`; None for a tool that gives
                nothing. Not given: the plain result.

        Returns:
            The CallToolResult, also one with `is_error`; with `returns`, a value of that type.

        Raises:
            ToolError: with `returns`: the tool failed.
            InvalidResult: with `returns`: the content does not fit the type.
            InvalidParams: there is no such tool for this client, or, at revisions that say so in
                errors, the arguments do not fit.
            McpError: raised by the tool, or calls are nested too deeply.
            UsageError: the server has no tools, the arguments cannot be encoded, or the tool
                returned an InputRequiredResult.
        """
        return await runtime_of(self).services(self).call_tool(name, arguments, returns)

    async def read_resource(self, uri: str) -> latest.ReadResourceResult:
        """Read a resource of the server of this request, as its client would; see `call_tool`.

        Args:
            uri: URI of the resource.

        Returns:
            The contents, in the newest wire types.

        Raises:
            McpError: there is no such resource for this client, or calls are nested too deeply.
            UsageError: the server has no resources.
        """
        return await runtime_of(self).services(self).read_resource(uri)

    # --- notifications to the client ---

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send notifications/progress, if the client requested progress.

        A report is dropped if `progress` does not exceed the last one, after the response, and
        beyond the rate limit `Server(max_progress_per_s=)`. A report that reaches `total` ignores
        the rate limit.

        Args:
            progress: Progress so far; it must increase with every report.
            total: Value of `progress` at the end, if it is known.
            message: Description of the current step; sent at revisions that have it.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
        """
        await runtime_of(self).services(self).report_progress(progress, total, message)

    @explains_calls("ctx.log", 'await ctx.log("info", data)')
    async def log(
        self, level: latest.LoggingLevel | int, data: Any, *, logger: str | None = None
    ) -> None:
        """Send notifications/message, a log message, if the client enabled its level.

        Messages beyond `Server(max_log_per_s=)` are left out; data longer than `max_log_bytes` is
        cut, and sent as text.

        Args:
            level: Severity, from `"debug"` to `"emergency"`; a `LogLevel`, or a number of
                `logging`.
            data: A text, or any serializable value.
            logger: Name of the logger.

        Raises:
            UsageError: an unknown level.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
        """
        await runtime_of(self).services(self).log(level, data, logger)

    async def close_stream(self, retry_ms: int | None = None) -> None:
        """Close the SSE stream of this request; the client reconnects for the response.

        Does nothing where clients do not reconnect: before 2025-11-25, from 2026-07-28 on, on
        transports other than HTTP, and where the response is a single JSON object.

        Args:
            retry_ms: Milliseconds that the client should wait before it reconnects; None leaves it
                to the client.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
        """
        close = getattr(self._origin.channel, "close_stream", None)
        if close is not None:
            close(retry_ms)

    # --- input requests to the client, the same code at every revision ---

    @explains_calls("ctx.elicit", "await ctx.elicit(message, Form)")
    async def elicit(
        self,
        message: str,
        form: type[T],
        *,
        key: str | None = None,
        timeout_s: float | None = None,
        task: bool = False,
    ) -> Answer[T]:
        """Ask the user to fill in a form (`elicitation/create`).

        Up to revision 2025-11-25 the client receives a request and the handler waits for its
        response. From 2026-07-28 on this is a multi round-trip request: the request ends with
        `input_required`, and the handler runs again from its beginning when the client sends the
        answer. Code before `elicit` then runs more than once; see `once`.

        A form is a dataclass, an attrs class, a msgspec.Struct, a TypedDict or a pydantic model of
        plain fields. A field is a str,
        int, float, bool, datetime or date, a Literal or an Enum of texts, or a list of such a
        Literal or Enum.
        `Annotated[..., msgspec.Meta(...)]` adds titles, descriptions, bounds and, in
        `extra_json_schema`, the formats `email` and `uri`.

        Args:
            message: Text that the user sees.
            form: Type of the form.
            key: Name of this question when the handler runs again; questions with one key have one
                answer. Without a key a question is identified by its content, and equal questions
                by their order: pass a key if the message can change between two runs.
            timeout_s: Seconds to wait for the user's response; None: 600, `math.inf`: no limit. Not
                used in multi round-trip requests.
            task: True if a client that declared it may answer with a task. The task is polled until
                it is done, and cancelled if the handler no longer waits.

        Returns:
            `Accepted` with the form in `content`, `Declined` or `Cancelled`. In a multi round-trip
            request, an answer that does not fit the form is requested again.

        Raises:
            MissingCapability: the client has not declared elicitation.
            UsageError: called outside the handler of a tool, prompt or resource; or a field has a
                type that no revision allows in a form.
            ProjectionError: a field has a type that this client's revision does not allow; the
                message ends with its path.
            RequestTimeout: no response in time.
            SessionLost: the client disconnected.
            McpError: the client answered with an error.
            InvalidResult: the response does not fit the form.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
        """
        services = runtime_of(self).services(self)
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
        """Ask the user to open a URL, for data that must not pass through the client.

        `Accepted` means that the user agreed to open the URL, not that anything has been done
        there. See `elicit` for multi round-trip requests and for errors.

        Args:
            message: Text that the user sees.
            url: URL to open. If it differs in every round, pass a `key` or make it with `once`.
            elicitation_id: Id for `elicitation_complete`, at revisions that have it; the default is
                a random one.
            key: See `elicit`.
            timeout_s: See `elicit`.

        Source:
        https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
        """
        services = runtime_of(self).services(self)
        return await services.elicit_url(message, url, elicitation_id, key=key, timeout_s=timeout_s)

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """Send notifications/elicitation/complete, at revisions that have it.

        Use `server.notify.elicitation_complete` after the request has ended.

        Args:
            elicitation_id: Id that was passed to `elicit_url`.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#completion-notifications-for-url-mode-elicitation
        """
        await runtime_of(self).services(self).elicitation_complete(elicitation_id)

    @explains_calls("ctx.sample", "await ctx.sample(messages, max_tokens=1000)")
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
        """Ask the language model of the client for a message (`sampling/createMessage`).

        If the message uses tools, the handler runs them and asks again with their results. See
        `elicit` for multi round-trip requests.

        Args:
            messages: A string, or a list of strings and SamplingMessages; a string becomes a
                message with the role `user`.
            max_tokens: Maximum number of tokens to generate.
            system_prompt: System prompt.
            model_preferences: Hints for the choice of the model.
            temperature: Sampling temperature.
            stop_sequences: Texts that end the generation.
            metadata: Metadata for the model provider.
            tools: Tools that the model may use; needs the client capability `sampling.tools`.
            tool_choice: Rules for the use of tools; needs the client capability `sampling.tools`.
            include_context: MCP servers whose context the client adds to the prompt: this one, all
                or none. From 2025-11-25 on, a value other than `"none"` needs the client capability
                `sampling.context`.
            key: See `elicit`.
            timeout_s: See `elicit`.
            task: See `elicit`.

        Returns:
            The message of the model.

        Raises:
            MissingCapability: the client has not declared sampling, or what the arguments need.
            UsageError: called outside the handler of a tool, prompt or resource.
            RequestTimeout, SessionLost: no response in time, or the client disconnected.
            McpError: the client answered with an error; so it does if its user refuses.
            InvalidResult: the response is not a message.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/sampling
        """
        return (
            await runtime_of(self)
            .services(self)
            .sample(
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
        )

    async def list_roots(
        self, *, key: str | None = None, timeout_s: float | None = None
    ) -> Sequence[latest.Root]:
        """Return the folders that the client works in (`roots/list`).

        The list is cached for the session until the client sends `list_changed`, if the client
        declared that it does. Without a session it is cached for this request. See `elicit` for
        multi round-trip requests and for errors.

        Args:
            key: See `elicit`.
            timeout_s: Seconds to wait for the client; the default is 60.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/client/roots
        """
        return await runtime_of(self).services(self).list_roots(key=key, timeout_s=timeout_s)

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
    async def ask_all(self, *requests: Awaitable[T]) -> tuple[T, ...]: ...

    async def ask_all(self, *requests: Awaitable[Any]) -> tuple[Any, ...]:
        """Send several input requests at once, in one round, and wait for all answers.

            name, roots = await ctx.ask_all(ctx.elicit("Name?", Name), ctx.list_roots())

        If one fails, the others are cancelled, also at the client, and its error is raised.

        Args:
            requests: Calls of this context that are not awaited yet. Type checkers know the results
                of up to five: `a`, `b`, `c`, `d` and `e`.

        Returns:
            The answers, in the order of the arguments.
        """
        return await gather_all(*requests)

    @overload
    async def once(self, key: str, make: Callable[[], Awaitable[T]]) -> T: ...

    @overload
    async def once(self, key: str, make: Callable[[], T]) -> T: ...

    async def once(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the value of `make()`, called once for all rounds of the request.

        A handler runs again from its beginning in every round of a multi round-trip request; use
        this for side effects. The value stays in the memory of this process for the duration of the
        rounds. With a cluster every node can go on with it, and it must be plain JSON: None, a
        bool, a number, a text, or a list or dict of these. If a response is lost on its way, `make`
        may run again: at least once, not at most once.

        Args:
            key: Key of the value, unique within the handler.
            make: Function without arguments, async or sync.

        Raises:
            UsageError: with a cluster, the value is not plain JSON.
        """
        return await runtime_of(self).services(self).rounds().once(key, make)

    @property
    def round(self) -> int:
        """Number of the current run of the handler in this request; the first is 1."""
        rounds = runtime_of(self).services(self).previous_rounds()
        return rounds.number if rounds else 1

    @property
    def input_responses(self) -> Mapping[str, Any] | None:
        """Answers to an InputRequiredResult that this handler returned, by key.

        None in the first round. A request without an answer has no entry. Values are ElicitResult,
        CreateMessageResult and ListRootsResult of the newest revision, as the client sent them.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
        """
        rounds = runtime_of(self).services(self).previous_rounds()
        return rounds.responses if rounds else None

    @property
    def request_state(self) -> str | None:
        """`request_state` of the InputRequiredResult that this handler returned last."""
        rounds = runtime_of(self).services(self).previous_rounds()
        return rounds.user_state if rounds else None

    @property
    def blocking(self) -> BlockingContext:
        """The same calls for a sync handler in a worker thread; each call blocks the thread.

        Its calls raise UsageError on the event loop; await the calls of this context there.
        """
        # Imported here: servers whose handlers are all async do not need it.
        from mcp_gen.server.context.blocking import BlockingContext

        return BlockingContext(self)


if not TYPE_CHECKING:
    for _name in (
        "client_id",
        "critical",
        "debug",
        "error",
        "fastmcp",
        "get_prompt",
        "get_state",
        "info",
        "lifespan_context",
        "request_context",
        "session_id",
        "set_state",
        "warning",
    ):
        setattr(Context, _name, Elsewhere(_name))


# --- Access for the other rooms of the server ---

# Users get properties; these fields belong to the package. The accessors are C functions: they
# cost no Python frame on the path of every request, and type checkers accept them where they
# refuse `ctx._origin`. A context is always tracked by the garbage collector, because it refers to
# its server, so writing past `Struct.__setattr__` is safe.

_fields: Any = Context.__dict__

origin_of: Callable[[Context], RequestOrigin] = attrgetter("_origin")
"""Return the origin of a request: revision, capabilities, session, principal, channel."""
runtime_of: Callable[[Context], ServerRuntime[Context]] = attrgetter("server.runtime")
"""Return the internal parts of the server that answers a request."""
input_params_of: Callable[[Context], Any] = attrgetter("_input_params")
"""Return the params while the handler may send input requests, else None."""
set_input_params: Callable[[Context, Any], None] = _fields["_input_params"].__set__
"""Allow input requests for these params, or with None forbid them."""
rounds_of: Callable[[Context], RoundsView | None] = attrgetter("_rounds")
"""Return the state of a multi round-trip request, None before its first input request."""
set_rounds: Callable[[Context, RoundsView], None] = _fields["_rounds"].__set__
"""Set the state of a multi round-trip request."""
thread_bridge_of: Callable[[Context], ThreadBridge | None] = attrgetter("_thread_bridge")
"""Return the bridge to the thread of a sync handler, None for an async one."""
set_thread_bridge: Callable[[Context, ThreadBridge], None] = _fields["_thread_bridge"].__set__
"""Set the bridge to the thread of a sync handler."""
last_progress_of: Callable[[Context], float | None] = attrgetter("_last_progress")
"""Return the last progress value that was sent."""
set_last_progress: Callable[[Context, float], None] = _fields["_last_progress"].__set__
"""Set the last progress value that was sent."""
progress_limiter_of: Callable[[Context], RateLimiter | None] = attrgetter("_progress_limiter")
"""Return the rate limiter of progress notifications, None before the first one."""
set_progress_limiter: Callable[[Context, RateLimiter], None] = _fields["_progress_limiter"].__set__
"""Set the rate limiter of progress notifications."""
tool_tasks_of: Callable[[Context], ToolTasks[Context] | None] = attrgetter("_tool_tasks")
"""Return the task manager of the outermost server, None where the server is not mounted."""
set_tool_tasks: Callable[[Context, ToolTasks[Context] | None], None] = _fields[
    "_tool_tasks"
].__set__
"""Set the task manager of the outermost server."""
outer_of: Callable[[Context], Context | None] = attrgetter("_outer")
"""Return the context in the server that the server of the request is mounted in, if it is."""
set_outer: Callable[[Context, Context | None], None] = _fields["_outer"].__set__
"""Set the context in the server that the server of the request is mounted in."""


def outer_layers(ctx: Context) -> Sequence[SendingLayer]:
    """Return the hooks and middleware that further servers run around what a request sends.

    These are the servers that the server of the request is mounted in, the innermost first.
    """
    outer = outer_of(ctx)
    if outer is None:
        return ()
    kernel = runtime_of(outer).kernel
    layer = SendingLayer(kernel.hooks.outbound, kernel.outbound_middleware, outer)
    return (layer, *outer_layers(outer))


def masks_errors(ctx: Context) -> bool:
    """Return True if failures of the request are masked, here or by an outer server."""
    outer = outer_of(ctx)
    return runtime_of(ctx).kernel.mask_errors or (outer is not None and masks_errors(outer))

"""The exception tree of this package.

McpGenError
├── ProtocolError          the peer broke the protocol; `code` is the JSON-RPC error code
│   ├── ParseError         not valid JSON
│   ├── InvalidRequest     valid JSON, but no JSON-RPC message, or one not allowed at this point
│   ├── MethodNotFound     a method that this peer does not support
│   ├── InvalidParams      params of the wrong shape
│   └── InvalidResult      a result of the wrong shape, or an answer that does not fit its form
│       └── UncheckedResult  the server's output schema takes too much time or memory to check
├── McpError               a JSON-RPC error, received from a peer or to be sent to it
│   ├── InsufficientScope  the token of a request lacks scopes that the operation needs
│   ├── MissingCapability  the client has not declared a capability that a request needs
│   ├── TaskGone           the server does not know the task, or no longer
│   └── UrlElicitationRequired  the user must open a URL first
├── ToolError              a tool failed; its result has `isError`
├── ToolNotApproved        a tool is not as it was when its server was locked
├── ResourceNotFound       the resource does not exist
├── AuthError              no token that the server accepts, and none can be had
├── TransportError         messages cannot be sent or received
│   ├── CommandEnded       the server's command has ended; `exit_status` tells how
│   ├── HttpError          an HTTP response with an error status; see `status`
│   ├── MessageTooLarge    a message of the server is larger than `max_message_bytes`
│   └── SessionLost        the connection ended while a response was pending
│       └── SessionExpired the server does not know the HTTP session any more
├── RequestTimeout         no response in time
├── TaskCancelled          the awaited task was cancelled; it has no result
├── InputRefused           an input request of the server was not answered
├── LifespanError          a server's lifespan failed to start
├── SchemaNotChecked       a JSON Schema takes too much time or memory to check
├── ProjectionError        a value that another revision cannot represent
└── UsageError             a call with wrong arguments or at the wrong time; fix the calling code
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

__all__ = [
    "AuthError",
    "CommandEnded",
    "HttpError",
    "InputRefused",
    "InsufficientScope",
    "InvalidParams",
    "InvalidRequest",
    "InvalidResult",
    "LifespanError",
    "McpError",
    "McpGenError",
    "MessageTooLarge",
    "MethodNotFound",
    "MissingCapability",
    "ParseError",
    "ProjectionError",
    "ProtocolError",
    "RequestTimeout",
    "ResourceNotFound",
    "SchemaNotChecked",
    "SessionExpired",
    "SessionLost",
    "TaskCancelled",
    "TaskGone",
    "ToolError",
    "ToolNotApproved",
    "TransportError",
    "UncheckedResult",
    "UrlElicitation",
    "UrlElicitationRequired",
    "UsageError",
]


LAST_LINES = 10
"""Lines of the stderr of a command that ended at its start, in its error."""
MAX_LAST_WORDS = 500
"""Maximum number of characters of a command's stderr in an error message."""


MAX_TEXT = 10_000
"""Characters of a JSON-RPC error's message that its text has: as many as a reader may want."""


class McpGenError(Exception):
    """Base class of all errors that this package raises on purpose."""


class ProtocolError(McpGenError):
    """The peer broke the protocol."""

    code: ClassVar[int] = -32603
    """JSON-RPC error code of this kind of error.

    Source: https://www.jsonrpc.org/specification#error_object
    """


class ParseError(ProtocolError):
    """A message is not valid JSON, or not UTF-8.

    Args:
        message: The error message.
        request_id: The id of the request, if it could be read; else None.
    """

    code = -32700

    def __init__(self, message: str, request_id: int | str | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class InvalidRequest(ProtocolError):
    """A message is valid JSON, but no JSON-RPC message, or one that is not allowed at this point.

    Args:
        message: The error message.
        request_id: The id of the request, if it could be read; else None.
    """

    code = -32600

    def __init__(self, message: str, request_id: int | str | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class MethodNotFound(ProtocolError):
    """The revision does not have the method, or this peer does not support it."""

    code = -32601


class InvalidParams(ProtocolError):
    """Params have the wrong shape. The message ends with the path."""

    code = -32602


class InvalidResult(ProtocolError):
    """A result has the wrong shape, or an answer does not fit its form or type.

    It has the error code of InvalidParams. The message ends with the path if there is one.
    """

    code = -32602


class UncheckedResult(InvalidResult):
    """The server's output schema could not be checked: it takes too much time or memory.

    The fault is the server's, not that of the result: nothing is known about the result.
    """


class McpError(McpGenError):
    """A JSON-RPC error. Raised in a handler, it is sent; raised by a call, the peer sent it.

    Args:
        code: The JSON-RPC error code.
        message: The error message.
        data: Additional JSON data; None for none.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        text = self.message
        if len(text) > MAX_TEXT:
            # A peer chooses it; `message` has all of it.
            text = f"{text[:MAX_TEXT]}... ({len(text)} characters)"
        return f"{text} ({self.code})"


class MissingCapability(McpError):
    """The client has not declared a capability that a request needs. The request was not sent.

    The error's data names the capability under `requiredCapabilities`, in the shape of
    ClientCapabilities.

    Args:
        capability: Dotted path of the capability, such as `sampling.tools`.
        code: The revision's own error code where it has one; else that of an invalid request.
        path: The steps of `capability`; needed where a step contains dots.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/schema#missingrequiredclientcapabilityerror
    """

    def __init__(
        self, capability: str, code: int = InvalidRequest.code, path: Sequence[str] = ()
    ) -> None:
        required: dict[str, Any] = {}
        for name in reversed(path or capability.split(".")):
            required = {name: required}
        super().__init__(
            code,
            f"this request needs a client that declares the capability `{capability}`",
            {"requiredCapabilities": required},
        )
        self.capability = capability


class InsufficientScope(McpError):
    """The token of a request lacks scopes that the operation needs.

    Items with `scopes=` raise it before their handler runs; a handler may raise it, too. Over HTTP
    the response has status 403 and names the scopes in `WWW-Authenticate`, so that the client can
    ask its user for them. The error's data has the members `error` and `scope` of that header.

    Args:
        missing: The scopes that are needed and not granted; a text is split at its spaces.

    Source: https://www.rfc-editor.org/rfc/rfc6750#section-3.1
    """

    def __init__(self, missing: Collection[str]) -> None:
        self.missing = frozenset(missing.split() if isinstance(missing, str) else missing)
        names = " ".join(sorted(self.missing))
        data = {"error": "insufficient_scope", "scope": names}
        super().__init__(InvalidRequest.code, f"the token lacks the scope {names}", data)


class TaskGone(McpError):
    """The server does not know the task: it expired, belongs to another client, or never existed.

    Args:
        id: The task id.
        error: The error that the server sent; its code and data are kept.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#protocol-errors
    """

    def __init__(self, id: str, error: McpError) -> None:
        description = f"the server has no task {id!r} (any more): {error.message}"
        super().__init__(error.code, description, error.data)
        self.id = id


class UrlElicitation(NamedTuple):
    """A URL that the user must open, for a URL mode elicitation.

    Args:
        message: The reason, shown to the user.
        url: The URL to open.
        elicitation_id: The elicitation's id. If None, an id is generated where the revision has
            elicitation ids.
    """

    message: str
    url: str
    elicitation_id: str | None = None


class _Elicitation(msgspec.Struct, rename="camel"):
    message: str
    url: str
    elicitation_id: str | None = None


class _Elicitations(msgspec.Struct):
    elicitations: list[_Elicitation]


class UrlElicitationRequired(McpError):
    """Raised in a tool, prompt or resource: the user must open one or more URLs first.

    The client receives the error that its revision has for this, or URL elicitations as the input
    requests of an `input_required` result. Afterwards the client sends the request again: store
    the outcome for the user, not for the session. Raised anywhere else, it is sent as an invalid
    request.

    Args:
        elicitations: The URLs to open.
        message: The error message.

    Source:
    https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
    """

    def __init__(
        self,
        elicitations: Sequence[UrlElicitation],
        message: str = "the user has to open a page before this can be done",
    ) -> None:
        super().__init__(InvalidRequest.code, message)
        self.elicitations = list(elicitations)

    @classmethod
    def from_error(cls, error: McpError) -> UrlElicitationRequired | None:
        """Read URL elicitations from the data of another error.

        Args:
            error: A JSON-RPC error that a peer sent.

        Returns:
            This error with the same message; None if the data holds no readable elicitations.
        """
        try:
            found = msgspec.convert(error.data, _Elicitations)
        except msgspec.ValidationError:
            return None
        elicitations = [
            UrlElicitation(p.message, p.url, p.elicitation_id) for p in found.elicitations
        ]
        return cls(elicitations, error.message) if elicitations else None


class ToolError(McpGenError):
    """Raised in a tool: the result is an error (`isError`) for the model to read."""


class ToolNotApproved(McpGenError):
    """A tool is not as it was when its server was locked, or was not there.

    `ClientManager(lock=...)` refuses to call it.

    Args:
        message: The error message.
        server: The name of the server.
        tool: The server's own name of the tool.
        changes: What has changed, a text each, such as `changed: description was "a", and is "b"`.
    """

    def __init__(self, message: str, server: str, tool: str, changes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.server = server
        self.tool = tool
        self.changes = changes


class ResourceNotFound(McpGenError):
    """Raised in a resource's function: the resource does not exist.

    It is sent with the error code that the client's revision has for it.

    Args:
        uri: The URI that was not found; None for the requested URI.
    """

    def __init__(self, uri: str | None = None) -> None:
        super().__init__(f"resource not found: {uri}" if uri else "resource not found")
        self.uri = uri


class AuthError(McpGenError):
    """Authorization failed: there is no token that the server accepts, and none can be had.

    Args:
        message: Whose fault it is, what was expected, and the next step; without secrets.
        error: Error code of the authorization server, such as `invalid_grant`; None if it gave
            none.

    Source: https://www.rfc-editor.org/rfc/rfc6749#section-5.2
    """

    def __init__(self, message: str, error: str | None = None) -> None:
        super().__init__(message)
        self.error = error


class TransportError(McpGenError):
    """Messages cannot be sent or received: a command that does not start, a closed pipe."""


class MessageTooLarge(TransportError):
    """A message of the server is larger than `max_message_bytes`, so it was not read.

    Sending the request again would not help.
    """


class HttpError(TransportError):
    """The server answered an HTTP request with an error status.

    Args:
        message: The error message.
        status: The HTTP status.
        error: The JSON-RPC error in the body; None if there is none.
        headers: Response headers by name in lower case; `www-authenticate` describes the
            authentication that a 401 asks for.
    """

    def __init__(
        self,
        message: str,
        status: int,
        error: McpError | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.headers: Mapping[str, str] = headers or {}


class CommandEnded(TransportError):
    """The command of a server, a child process, has ended.

    Args:
        exit_status: The exit status, or the negative number of the signal that ended the process.
        stderr: The last output on stderr, at most 4096 bytes; empty if stderr was not captured.
        hint: A possible cause, for the end of the message; empty for none.
        at_start: True if it ended before its first message. The text then has the last ten lines of
            stderr, which are not copied to the stderr of this process; else it has the last one.
    """

    def __init__(
        self, exit_status: int, stderr: str = "", hint: str = "", *, at_start: bool = False
    ) -> None:
        lines = [line.rstrip()[:MAX_LAST_WORDS] for line in stderr.strip().splitlines()]
        last = lines[-LAST_LINES if at_start else -1 :]
        text = f"the command ended with exit status {exit_status}"
        if len(last) == 1:
            text += f"; the last line of its stderr: {last[0]}"
        elif last:
            text += "\n    ".join(["; the last lines of its stderr:", *last])
        if hint:
            text += f"\n{hint}" if len(last) > 1 else f"; {hint}"
        super().__init__(text)
        self.exit_status = exit_status
        self.stderr = stderr
        self.hint = hint
        self.at_start = at_start


class SessionLost(TransportError):
    """The connection ended while a response was pending."""

    @property
    def exit_status(self) -> int | None:
        """Exit status of the server's command; None if it was 0, or if there is no command."""
        cause = self.__cause__
        return cause.exit_status if isinstance(cause, CommandEnded) else None

    @property
    def stderr(self) -> str:
        """The last output of the server's command on stderr; empty if unknown."""
        cause = self.__cause__
        return cause.stderr if isinstance(cause, CommandEnded) else ""


class SessionExpired(SessionLost):
    """The server does not know the HTTP session any more. It did not process the request."""


class RequestTimeout(McpGenError):
    """No response came in time. The request has been cancelled."""


class TaskCancelled(McpGenError):
    """The awaited task was cancelled by this client, by another client or by the server."""


class InputRefused(McpGenError):
    """This client did not answer an input request (elicitation, sampling, roots) of the server.

    A refused input request has no answer in a multi round-trip request (`input_required`), so the
    whole request is abandoned.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
    """


class LifespanError(McpGenError):
    """A server's lifespan failed, so it does not serve. `__cause__` is the original error."""


class SchemaNotChecked(McpGenError):
    """A value was not checked against a JSON Schema: the check took too much time or memory.

    The fault is that of the schema, of its author or of the peer that sent it; the message says
    which schema, and what is wrong with it.
    """


class ProjectionError(McpGenError):
    """A value cannot be represented at the other revision. The message ends with the path."""


class UsageError(McpGenError):
    """A call with wrong arguments or at the wrong time. The message says what to write instead."""

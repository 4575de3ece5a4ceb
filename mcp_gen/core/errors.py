"""All errors of this package, as one tree.

McpGenError
├── ProtocolError          the peer broke the protocol; `code` is what it is answered with
│   ├── ParseError         not JSON
│   ├── InvalidRequest     JSON, but no JSON-RPC message, or one that is out of place
│   ├── MethodNotFound     a method that is not offered here
│   └── InvalidParams      params or a result of the wrong shape
├── McpError               a JSON-RPC error that a peer sent, or that is to be sent
│   ├── MissingCapability  the client has not declared what a request needs
│   ├── TaskGone       the server does not know the task, or not any more
│   └── UrlElicitationRequired  the user must go to a URL first
├── ToolError              a tool's result says that it failed
├── ResourceNotFound       there is no such resource
├── TransportError         messages cannot be moved
│   ├── CommandEnded       a command that was spoken to has ended; `exit_status` says how
│   ├── HttpError          an HTTP answer that is no answer; `status` says which
│   └── SessionLost        the connection ended while something was waited for
│       └── SessionExpired the server does not know the HTTP session any more
├── RequestTimeout         no answer in time
├── TaskCancelled          a task was called off, so nothing comes of it
├── InputRefused           what a server asked for before it goes on was not given
├── LifespanError          what a server needs to serve could not be set up
├── ProjectionError        a value that another revision cannot hold
└── UsageError             ours to fix: a call that makes no sense as written
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

__all__ = [
    "CommandEnded",
    "HttpError",
    "InputRefused",
    "InvalidParams",
    "InvalidRequest",
    "LifespanError",
    "McpError",
    "McpGenError",
    "MethodNotFound",
    "MissingCapability",
    "ParseError",
    "ProjectionError",
    "ProtocolError",
    "RequestTimeout",
    "ResourceNotFound",
    "SessionExpired",
    "SessionLost",
    "TaskCancelled",
    "TaskGone",
    "ToolError",
    "TransportError",
    "UrlElicitation",
    "UrlElicitationRequired",
    "UsageError",
]


MAX_LAST_WORDS = 500
"""Characters of a command's stderr that stand in a message."""


class McpGenError(Exception):
    """Base of every error this package raises on purpose."""


class ProtocolError(McpGenError):
    """The peer broke the protocol."""

    code: ClassVar[int] = -32603
    """The JSON-RPC error code that says so (https://www.jsonrpc.org/specification#error_object)."""


class ParseError(ProtocolError):
    """Not JSON, or not UTF-8. `request_id` if it was readable all the same."""

    code = -32700

    def __init__(self, message: str, request_id: int | str | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class InvalidRequest(ProtocolError):
    """JSON, but no JSON-RPC message, or one out of place. `request_id` if it was readable."""

    code = -32600

    def __init__(self, message: str, request_id: int | str | None = None) -> None:
        super().__init__(message)
        self.request_id = request_id


class MethodNotFound(ProtocolError):
    """A method that the revision lacks, or that this peer does not offer."""

    code = -32601


class InvalidParams(ProtocolError):
    """Params or a result of the wrong shape; the message ends in the path."""

    code = -32602


class McpError(McpGenError):
    """A JSON-RPC error: raised in a handler it is sent, raised by a call it came from the peer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class MissingCapability(McpError):
    """The client has not declared what the request needs: it was not asked.

    `capability` is a path such as `sampling.tools`; `path` has its steps, where they hold dots. The
    error's data names it under `requiredCapabilities`, in the shape of ClientCapabilities; `code`
    is the revision's own where it has one, and that of an invalid request elsewhere.

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


class TaskGone(McpError):
    """The server does not know the task: its time is over, or it is another's, or never was.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#protocol-errors
    """

    def __init__(self, id: str, error: McpError) -> None:
        said = f"the server has no task {id!r} (any more): {error.message}"
        super().__init__(error.code, said, error.data)
        self.id = id


class UrlElicitation(NamedTuple):
    """A page that the user must go to: why, where, and the id under which it is spoken of.

    Without an id it gets one, where the revision has ids for it.
    """

    message: str
    url: str
    elicitation_id: str | None = None


class _Page(msgspec.Struct, rename="camel"):
    message: str
    url: str
    elicitation_id: str | None = None


class _Pages(msgspec.Struct):
    elicitations: list[_Page]


class UrlElicitationRequired(McpError):
    """Raised in a tool, prompt or resource: the user must go to these pages first.

    The client gets the error that its revision has for this, or the pages as questions of an
    `input_required` result. Once the user has been there it makes the request again: keep what
    came of it under the user's name, not the session's. Raised anywhere else it is an invalid
    request.

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
        """Return this error for the pages in another's data; None if there are none to read."""
        try:
            found = msgspec.convert(error.data, _Pages)
        except msgspec.ValidationError:
            return None
        pages = [UrlElicitation(p.message, p.url, p.elicitation_id) for p in found.elicitations]
        return cls(pages, error.message) if pages else None


class ToolError(McpGenError):
    """Raised in a tool: its result is an error for the model to read."""


class ResourceNotFound(McpGenError):
    """Raised in a resource's function: there is nothing to read.

    `uri` is what there is none of; None: what was asked for. The client is told so with the code
    that its revision has for it.
    """

    def __init__(self, uri: str | None = None) -> None:
        super().__init__(f"resource not found: {uri}" if uri else "resource not found")
        self.uri = uri


class TransportError(McpGenError):
    """Messages cannot be moved: a command that does not start, a pipe that is closed."""


class HttpError(TransportError):
    """The server answered a request with an HTTP status that says no.

    `error` is the JSON-RPC error in the body, where there is one; `headers` are those of the
    answer, by name in lower case (`www-authenticate` says what a 401 asks for).
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
    """A command that was spoken to has ended.

    `exit_status` is its own, or the negative number of the signal that ended it; `stderr` the end
    of what it wrote there, at most 4096 bytes, if that went through here.
    """

    def __init__(self, exit_status: int, stderr: str = "") -> None:
        words = stderr.strip().rpartition("\n")[2][:MAX_LAST_WORDS]
        said = f"; the last line of its stderr: {words}" if words else ""
        super().__init__(f"the command ended with exit status {exit_status}{said}")
        self.exit_status = exit_status
        self.stderr = stderr


class SessionLost(TransportError):
    """The connection ended while an answer was waited for."""

    @property
    def exit_status(self) -> int | None:
        """How the server's command ended; None if in good order, or if it was no command."""
        cause = self.__cause__
        return cause.exit_status if isinstance(cause, CommandEnded) else None

    @property
    def stderr(self) -> str:
        """The end of what the server's command wrote to its stderr, if it is known."""
        cause = self.__cause__
        return cause.stderr if isinstance(cause, CommandEnded) else ""


class SessionExpired(SessionLost):
    """The server does not know the session any more: the request has not been looked at."""


class RequestTimeout(McpGenError):
    """No answer came in time. The request has been cancelled."""


class TaskCancelled(McpGenError):
    """The task that was waited for was called off: by this client, another, or the server."""


class InputRefused(McpGenError):
    """A server asked for something before it goes on, and this client's side did not give it.

    Such a request has no answer: it is given up.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
    """


class LifespanError(McpGenError):
    """A server's lifespan failed: it does not serve. The cause is what was raised in it."""


class ProjectionError(McpGenError):
    """A value that the other revision cannot hold; the message ends in the path."""


class UsageError(McpGenError):
    """A call that makes no sense as written. The message says what to write instead."""

"""Formatter of `logging`: one JSON object per line, with the request that the record belongs to."""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from mcp_gen.core.errors import UsageError
from mcp_gen.core.peer_values import shortened
from mcp_gen.server.context.context import Context
from mcp_gen.session.messages.current import CURRENT

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["JsonLines", "log_as_json"]

MAX_EXTRA = 20
"""Members of `extra=` that are written."""
SESSION_DIGITS = 12
"""Hexadecimal digits of a session's hash: enough to tell sessions apart, of no use to a thief."""

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes that every record has; the others are those of `extra=`."""
_RENAMED: Mapping[Any, str] = {"id": "request"}
"""Members of a record of `RequestLog` that have another name here."""


class JsonLines(logging.Formatter):
    """Formats each record as one JSON object on one line, for collectors of logs.

        handler = logging.StreamHandler()
        handler.setFormatter(JsonLines())
        logging.basicConfig(level=logging.INFO, handlers=[handler])

    The members are `time` (UTC), `level`, `logger`, `message` and `node`; within a request also
    `session`, `request` and `revision`, in its tasks and threads, too; those of a record of
    `RequestLog`; those of `extra=`; `error` and `traceback` of an exception. Members without a
    value are left out. A session is written as a hash, since its id would let a reader of the log
    take part in it; its lines have the same hash at every node.

    Args:
        node: Name of this process, or a function that returns it; the default is host and pid.
        max_chars: Most characters of a text; of a traceback, the last ones are kept.

    Raises:
        UsageError: `max_chars` is not above 0.
    """

    def __init__(
        self, *, node: str | Callable[[], str] | None = None, max_chars: int = 4_000
    ) -> None:
        if not max_chars > 0:
            raise UsageError(f"JsonLines: max_chars={max_chars}: expected more than 0")
        super().__init__()
        self._node = node or _this_process
        self._max_chars = max_chars

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        node = self._node
        members: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._text(_message_of(record)),
            "node": node if isinstance(node, str) else node(),
            **_request_members(),
        }
        extra = {name: one for name, one in vars(record).items() if name not in _STANDARD}
        logged: Any = extra.pop("mcp", None)
        if isinstance(logged, Mapping):
            request_log: dict[str, Any] = {**logged}
            members |= {_RENAMED.get(name, name): one for name, one in request_log.items()}
            members["message"] = f"{members.get('method')}: {members.get('outcome')}"
        for name, one in list(extra.items())[:MAX_EXTRA]:
            # The members above are facts, which `extra=` does not replace.
            members.setdefault(name, self._plain(one))
        if record.exc_info and record.exc_info[0] is not None:
            members.update(self._error(record.exc_info))
        return msgspec.json.encode(members).decode()

    def _error(
        self, raised: tuple[type[BaseException], BaseException, TracebackType | None] | Any
    ) -> dict[str, str]:
        text = self.formatException(raised)
        if len(text) > self._max_chars:
            text = "..." + text[-self._max_chars :]
        said = self._text(f"{raised[0].__name__}: {raised[1]}")
        return {"error": said, "traceback": _encodable(text)}

    def _text(self, text: str) -> str:
        if len(text) > self._max_chars:
            text = f"{text[: self._max_chars]}... ({len(text)} characters)"
        return _encodable(text)

    def _plain(self, value: Any) -> Any:
        if value is None or value.__class__ in (bool, int, float):
            return value
        return self._text(value if isinstance(value, str) else repr(value))


def log_as_json(node: str | Callable[[], str] | None = None) -> None:
    """Send all records of this process from INFO on to stderr, as JSON lines.

    Args:
        node: Name of this process, or a function that returns it; the default is host and pid.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(node=node))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)


def _request_members() -> dict[str, Any]:
    ctx: Any = CURRENT.get()
    if not _is_context(ctx):
        return {}
    request_id, session = ctx.request_id, ctx.session
    members = {
        "session": None if session is None else _hashed(session.id),
        "request": shortened(request_id) if isinstance(request_id, str) else request_id,
        "revision": ctx.revision,
    }
    return {name: value for name, value in members.items() if value is not None}


def _is_context(value: object) -> TypeGuard[Context]:
    return isinstance(value, Context)


def _hashed(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()[:SESSION_DIGITS]


def _message_of(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:
        # A line with the mistake is worth more than none.
        return f"{record.msg!r} cannot be filled in: {error}"


def _encodable(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _this_process() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"

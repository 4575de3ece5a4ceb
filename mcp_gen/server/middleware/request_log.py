"""Middleware that logs one structured record per request."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
from msgspec import UNSET

from mcp_gen.core.errors import UsageError
from mcp_gen.core.peer_values import shortened
from mcp_gen.core.redaction import HIDDEN, is_secret_name, shown_text
from mcp_gen.server.middleware.records import RequestRecord, observe
from mcp_gen.server.middleware.timing import shown_target

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.middleware import CallNext

__all__ = ["RequestLog"]

MAX_DEPTH = 8
"""Levels of arguments that are logged; deeper ones are left out."""
MAX_ITEMS = 50
"""Members of one object or array of the arguments that are logged."""
MAX_SEARCHED = 1_000
"""Characters of a text that are searched for secrets."""
MAX_SHOWN = 500
"""Characters of a longer text that are logged: fewer, as a secret may be cut at the end."""


class RequestLog:
    """Logs one record per request: `server.add_middleware(RequestLog())`.

        {"method":"tools/call","target":"add","outcome":"ok","duration_ms":0.4,...}

    The members are `method`, `target`, `outcome`, `code`, `duration_ms`, `server`, `revision`,
    `principal` and `id`, the id of the request; those without a value are left out. They are also
    the attribute `mcp` of the `logging.LogRecord`, for handlers that send structured records.
    Texts of peers are cut and escaped, and URIs are shown without user info and query values.

    Args:
        format: `"json"` for a JSON object, `"key=value"` for pairs with JSON values.
        logger: The logger, or its name.
        level: Level of the records.
        arguments: True adds the arguments of tools and prompts. Values under names such as
            `token` or `password` are hidden, and so are random texts and secrets in URLs; all
            else is logged as it is.

    Raises:
        UsageError: an unknown format.
    """

    def __init__(
        self,
        format: Literal["json", "key=value"] = "json",
        *,
        logger: logging.Logger | str = "mcp_gen.requests",
        level: int = logging.INFO,
        arguments: bool = False,
    ) -> None:
        writers = {"json": _as_json, "key=value": _as_pairs}
        if format not in writers:
            raise UsageError(f"RequestLog({format!r}): expected 'json' or 'key=value'")
        self._write = writers[format]
        self._logger = logging.getLogger(logger) if isinstance(logger, str) else logger
        self._level = level
        self._arguments = arguments

    async def __call__(self, ctx: Context, method: str, params: Any, call_next: CallNext) -> Any:
        """Run the request and log its record."""
        if not self._logger.isEnabledFor(self._level):
            return await call_next(params)
        request_id = ctx.request_id

        def emit(record: RequestRecord, params: Any) -> None:
            members = self._members(record, request_id, params)
            self._logger.log(self._level, "%s", self._write(members), extra={"mcp": members})

        return await observe(ctx, method, params, call_next, emit)

    def _members(self, record: RequestRecord, request_id: Any, params: Any) -> dict[str, Any]:
        members: dict[str, Any] = {
            "method": shortened(record.method),
            "target": None if record.target is None else shortened(shown_target(record.target)),
            "outcome": record.outcome,
            "code": record.code,
            "duration_ms": round(record.duration_s * 1000, 3),
            "server": record.server,
            "revision": record.revision,
            "principal": None if record.principal is None else shortened(record.principal),
            "id": shortened(request_id) if isinstance(request_id, str) else request_id,
        }
        if self._arguments:
            given = getattr(params, "arguments", None)
            members["arguments"] = None if given is UNSET else shown_json(given)
        return {name: value for name, value in members.items() if value is not None}


def shown_json(value: Any, depth: int = MAX_DEPTH) -> Any:
    """Return a JSON value for the log: secrets hidden, long texts cut, at most so many levels.

    Args:
        value: Decoded JSON.
        depth: Levels that are shown.
    """
    if isinstance(value, str):
        begin = shown_text(value[:MAX_SEARCHED])
        if len(value) <= MAX_SEARCHED:
            return shortened(begin)
        return f"{shortened(begin[:MAX_SHOWN])}... ({len(value)} characters)"
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        if depth == 0:
            return f"{{{len(members)} members}}"
        shown: dict[str, Any] = {
            shortened(name): HIDDEN if is_secret_name(name) else shown_json(one, depth - 1)
            for name, one in list(members.items())[:MAX_ITEMS]
        }
        return shown if len(shown) == len(members) else {**shown, "...": len(members)}
    if isinstance(value, list):
        items = _items(value)
        if depth == 0:
            return f"[{len(items)} items]"
        some = [shown_json(one, depth - 1) for one in items[:MAX_ITEMS]]
        return some if len(some) == len(items) else [*some, f"... {len(items)} items"]
    return value


def _items(value: Any) -> list[Any]:
    # The type checkers differ on whether `value` needs a cast where it is known to be a list.
    items: list[Any] = value
    return items


def _as_json(members: dict[str, Any]) -> str:
    return msgspec.json.encode(members).decode()


def _as_pairs(members: dict[str, Any]) -> str:
    return " ".join(
        f"{name}={msgspec.json.encode(value).decode()}" for name, value in members.items()
    )

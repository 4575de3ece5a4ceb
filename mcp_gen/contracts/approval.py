"""Approval of a server's tools: those that its lock has, as they were when they were locked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

import mcp_wire
from mcp_gen.contracts.changes import ContractChange, compare_items
from mcp_gen.contracts.lock import LISTS, ServerLock
from mcp_gen.core.errors import ProjectionError, ToolNotApproved
from mcp_gen.core.projection.project import restate
from mcp_wire import latest

__all__ = ["OnToolChange", "ToolApproval"]

OnToolChange: TypeAlias = Literal["refuse", "report"]
"""Treatment of a tool that is not as it was locked."""

MAX_CHANGES = 5
"""Most changes in the text of an error."""
MAX_TEXT = 300
"""Most characters of a change in the text of an error."""
MAX_REMEMBERED = 1_000
"""Most tools whose verdict is remembered: a server may list others each time."""

_TOOLS = LISTS[0]


class ToolApproval:
    """Compares the tools of one server with its lock.

    Args:
        server: The name of the server.
        lock: Its lock.
        on_change: `refuse` leaves tools out that are not approved; `report` keeps them.
        report: Called with the error of each tool that is not approved, once per form of it.
    """

    def __init__(
        self,
        server: str,
        lock: ServerLock,
        on_change: OnToolChange,
        report: Callable[[ToolNotApproved], None],
    ) -> None:
        self._server = server
        self._lock = lock
        self._report = report
        self._verdicts: dict[tuple[str, bytes], ToolNotApproved | None] = {}
        self._refused: dict[str, ToolNotApproved] = {}
        self.refuses = on_change == "refuse"
        """True if tools that are not approved cannot be called."""

    def admit(self, tools: Sequence[latest.Tool], revision: str) -> list[latest.Tool]:
        """Return the tools of a list that may be used, and report those that are not approved.

        Args:
            tools: The whole list.
            revision: The revision that it was listed at.
        """
        self._refused = {}
        admitted: list[latest.Tool] = []
        for tool in tools:
            error = self._verdict(tool, revision)
            if error is not None and self.refuses:
                self._refused[tool.name] = error
            else:
                admitted.append(tool)
        return admitted

    def check(self, name: str, listed: bool) -> None:
        """Check that a tool may be called.

        Args:
            name: The server's own name of it.
            listed: True if it was admitted.

        Raises:
            ToolNotApproved: it may not.
        """
        if self.refuses and not listed:
            raise self._refused.get(name) or ToolNotApproved(
                f"{self._server}: the tool {name!r} is not listed, so that it cannot be compared "
                "with the lock",
                self._server,
                name,
            )

    def _verdict(self, tool: latest.Tool, revision: str) -> ToolNotApproved | None:
        """Return why a tool is not approved; None if it is. The first time it is reported."""
        key = (revision, mcp_wire.encode(tool))
        if key not in self._verdicts:
            if len(self._verdicts) >= MAX_REMEMBERED:
                self._verdicts.clear()
            self._verdicts[key] = error = self._compared(tool, revision)
            if error is not None:
                self._report(error)
        return self._verdicts[key]

    def _compared(self, tool: latest.Tool, revision: str) -> ToolNotApproved | None:
        promise = self._lock.revisions.get(revision)
        if promise is None:
            return self._error(tool, f"the lock has no revision {revision}")
        locked = promise.tools.get(tool.name)
        if locked is None:
            return self._error(tool, "it is not in the lock")
        expected = _at_latest(locked, revision)
        if expected is None:
            return self._error(tool, "the lock has no valid tool of this name")
        now = cast("dict[str, Any]", msgspec.to_builtins(tool))
        if mcp_wire.encode(expected) == mcp_wire.encode(tool):
            return None
        changes = compare_items(_TOOLS, tool.name, msgspec.to_builtins(expected), now)
        if not changes:
            return None  # the same in another order
        shown = "; ".join(shorten(one.says) for one in changes[:MAX_CHANGES])
        more = f"; and {len(changes) - MAX_CHANGES} more" if len(changes) > MAX_CHANGES else ""
        return self._error(tool, f"it has changed since it was approved: {shown}{more}", changes)

    def _error(
        self, tool: latest.Tool, why: str, changes: tuple[ContractChange, ...] = ()
    ) -> ToolNotApproved:
        return ToolNotApproved(
            f"{self._server}: the tool {tool.name!r} is not approved: {why}; if that is meant, "
            "make the lock again with `mcp-gen lock`",
            self._server,
            tool.name,
            tuple(f"{one.verdict}: {one.says}" for one in changes),
        )


def shorten(text: str) -> str:
    """Return a text of bounded length."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def _at_latest(locked: Any, revision: str) -> latest.Tool | None:
    """Return a tool of a lock as sessions return it; None if it is none."""
    wire: Any = mcp_wire.types(revision).Tool
    try:
        tool: latest.Tool = restate(msgspec.convert(locked, wire), mcp_wire.LATEST).value
    except (msgspec.ValidationError, ProjectionError):
        return None
    return tool

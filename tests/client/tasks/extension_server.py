"""Scripted server whose calls become tasks, by the extension at 2026-07-28."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, TypeAlias

import mcp_wire
from mcp_gen import Client, ClientSession
from mcp_gen.compat.frame_check import FrameChecker
from mcp_gen.compat.recording import Frame
from mcp_gen.core.extensions.extensions import Extensions
from mcp_wire.extensions.tasks import EXTENSION
from tests.client.scripted import CannedServer, Recorded
from tests.client.tasks.core_server import text

__all__ = ["ASKS", "REVISION", "ExtensionServer", "Until", "session_with", "violations"]

REVISION = "2026-07-28"
NOW = "2026-07-28T12:00:00Z"
DECLARED: dict[str, Any] = {EXTENSION.identifier: {}}
ASKS: dict[str, Any] = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


State: TypeAlias = str | dict[str, Any]
"""State of the task: its status, or its status with other members."""


class Until(NamedTuple):
    """State at each poll until the server has this number of answers.

    Clients poll while they answer, on a slow machine any number of times.
    """

    answers: int
    state: State


class ExtensionServer(CannedServer):
    """Server with one task, `t1`, whose state at each poll is the next of `states`, then `then`."""

    def __init__(
        self,
        *states: State | Until,
        then: State = "completed",
        poll_ms: int | None = 1,
        ttl_ms: int | None = None,
    ) -> None:
        super().__init__(REVISION)
        self.states: list[State | Until] = list(states)
        self.then = then
        self.told: list[str] = []
        """Statuses returned by `tasks/get`."""
        self.poll_ms, self.ttl_ms = poll_ms, ttl_ms
        self.answers: list[dict[str, Any]] = []
        """Answers received by `tasks/update`."""
        opening: Any = self.replies["server/discover"](None)
        opening["result"]["capabilities"] = {"tools": {}, "extensions": DECLARED}
        self.on("server/discover", opening)
        tool: dict[str, Any] = {"name": "work", "inputSchema": {"type": "object"}}
        tool["outputSchema"] = {"type": "object", "properties": {"n": {"type": "integer"}}}
        listed = {"tools": [tool], "ttlMs": 0, "cacheScope": "private"}
        self.on("tools/list", self.complete(listed))
        self.on("tools/call", lambda _: {"result": {"resultType": "task", **self.task("working")}})
        self.on("tasks/get", self._get)
        self.on("tasks/update", self._update)
        self.on("tasks/cancel", self.complete({}))

    def task(self, status: str, **more: Any) -> dict[str, Any]:
        """Return the task at its current status."""
        made = {"taskId": "t1", "status": status, "createdAt": NOW, "lastUpdatedAt": NOW}
        poll = {} if self.poll_ms is None else {"pollIntervalMs": self.poll_ms}
        return {**made, "ttlMs": self.ttl_ms, **poll, **more}

    def sent(self, method: str) -> list[dict[str, Any]]:
        """Return the params of all requests of a method, without the common `_meta`."""
        found = [one["params"] for one in self.came if one.get("method") == method]
        return [{key: one[key] for key in one if key != "_meta"} for one in found]

    def _next_state(self) -> State:
        while self.states:
            state = self.states[0]
            if isinstance(state, Until) and len(self.answers) < state.answers:
                return state.state
            del self.states[0]
            if not isinstance(state, Until):
                return state
        return self.then

    def _get(self, params: Any) -> dict[str, Any]:
        state = self._next_state()
        more: dict[str, Any] = {"status": state} if isinstance(state, str) else dict(state)
        status = more.pop("status")
        self.told.append(status)
        if status == "completed":
            more.setdefault("result", text("done"))
        return self.complete(self.task(status, **more))

    def _update(self, params: Any) -> dict[str, Any]:
        self.answers.append(params["inputResponses"])
        return self.complete({})


def violations(frames: list[Frame]) -> list[str]:
    """Return the violations in a conversation with the tasks extension."""
    checker = FrameChecker(mcp_wire.profile(REVISION), Extensions([EXTENSION]))
    return [
        f"{frame.sender}: {found}"
        for frame in frames
        for found in checker.check(frame.data, frame.sender)
    ]


@asynccontextmanager
async def session_with(
    server: CannedServer, make: Callable[..., Client] = Client, **options: Any
) -> AsyncGenerator[ClientSession]:
    """Connect a client that supports tasks; its frames are checked."""
    recorded = Recorded(server)
    async with make("c", **{"tasks": True, **options}) as client:
        yield await client.connect(recorded, revision=REVISION, reconnect=False)
    found = [one for one in violations(recorded.frames) if one.startswith("client")]
    assert found == []

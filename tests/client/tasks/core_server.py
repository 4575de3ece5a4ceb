"""Scripted server whose tools run as tasks, by the protocol of 2025-11-25."""

from __future__ import annotations

from typing import Any

from tests.client.scripted import CannedServer

__all__ = ["DONE", "REVISION", "CoreServer", "text"]

REVISION = "2025-11-25"
NOW = "2026-07-28T12:00:00Z"
RELATED = "io.modelcontextprotocol/related-task"


def text(said: str, **more: Any) -> dict[str, Any]:
    """Return a tool result with this text."""
    return {"content": [{"type": "text", "text": said}], **more}


DONE = text("done", _meta={RELATED: {"taskId": "t1"}})


class CoreServer(CannedServer):
    """Server with one task, `t1`, whose status at each poll is the next of `states`, then `then`.

    Clients poll while they answer, on a slow machine any number of times: what a test needs until
    something has happened is its `then`. The task ends with `outcome`, a result or `{"error": …}`.
    A call that asks for no task is refused if the tool `needs` one, and else answered at once.
    """

    def __init__(
        self,
        *states: str,
        then: str = "completed",
        outcome: dict[str, Any] = DONE,
        support: str | None = "required",
        declares: dict[str, Any] | None = None,
        poll_ms: int | None = 1,
    ) -> None:
        super().__init__(REVISION)
        self.states = list(states)
        self.then = then
        self.outcome = outcome
        self.support = support
        self.poll_ms = poll_ms
        if declares is None:
            declares = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        opening: Any = self.replies["initialize"](None)
        opening["result"]["capabilities"] = {"tools": {}, "tasks": declares}
        self.declared: dict[str, Any] = {}

        def begin(params: Any) -> Any:
            self.declared = params["capabilities"]
            return opening

        self.on("initialize", begin)
        self.on("ping", {"result": {}})
        self.on("tools/list", self._list)
        self.on("tools/call", self._call)
        self.on("tasks/get", self._get)
        self.on("tasks/result", lambda _: self._outcome())
        self.on("tasks/cancel", lambda _: {"result": self.task("cancelled")})

    def task(self, status: str, **more: Any) -> dict[str, Any]:
        """Return the task at its current status."""
        made = {"taskId": "t1", "status": status, "createdAt": NOW, "lastUpdatedAt": NOW}
        poll = {} if self.poll_ms is None else {"pollInterval": self.poll_ms}
        return {**made, "ttl": None, **poll, **more}

    def tell(self, status: str, **more: Any) -> None:
        """Send a status notification for the task."""
        self.send(method="notifications/tasks/status", params=self.task(status, **more))

    def sent(self, method: str) -> list[Any]:
        """Return the params of all requests of a method."""
        return [one.get("params") for one in self.came if one.get("method") == method]

    def _list(self, params: Any) -> dict[str, Any]:
        tool: dict[str, Any] = {"name": "work", "inputSchema": {"type": "object"}}
        if self.support is not None:
            tool["execution"] = {"taskSupport": self.support}
        tool["outputSchema"] = {"type": "object", "properties": {"n": {"type": "integer"}}}
        return {"result": {"tools": [tool]}}

    def _call(self, params: Any) -> dict[str, Any]:
        if "task" in params:
            return {"result": {"task": self.task("working")}}
        if self.support == "required":
            return {"error": {"code": -32601, "message": "only as a task"}}
        return {"result": text("at once")}

    def _get(self, params: Any) -> dict[str, Any]:
        if params["taskId"] != "t1":
            return {"error": {"code": -32602, "message": "no such task"}}
        return {"result": self.task(self.states.pop(0) if self.states else self.then)}

    def _outcome(self) -> dict[str, Any]:
        return self.outcome if "error" in self.outcome else {"result": self.outcome}

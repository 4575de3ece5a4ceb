"""Expectations: which live message stands for which recorded one, and waiting for it."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET

from mcp_gen.compat.json_values import Json, entries, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.recordings.replaying.differences import (
    NOTHING,
    Difference,
    differences,
    shown_value,
)

if TYPE_CHECKING:
    from mcp_gen.compat.recordings.lines import RecordedLine
    from mcp_gen.compat.recordings.pointers import Pointer
    from mcp_gen.compat.recordings.redactor import Redactor
    from mcp_gen.compat.recordings.replaying.live_values import LiveValues
    from mcp_gen.compat.transcript import Transcript, WireEvent

__all__ = ["Expectations"]

SHORTEST_WAIT_S = 0.2
"""Wait for a message after many have not come, in seconds."""
SETTLE_S = 0.1
"""Seconds in which what was not recorded may still come at the end."""

POLL = "get_task"
"""Python name of the method that asks how far a task is."""
POLL_S = 0.05
"""Seconds between two such requests, when the recorded one came too early."""

Key = tuple[str, ...]
Repeat: TypeAlias = Callable[[Json, Any], Awaitable[None]]
"""Sends a request, given with the id of the one that it repeats."""


class _LiveFrame(NamedTuple):
    """A live message."""

    event: WireEvent
    members: Any


class Expectations:
    """Server messages of a recording that are to come, and those that came.

    Args:
        transcript: What comes and goes.
        bindings: Live values by the recorded ones.
        redactor: Replaces secrets of live messages where they are shown.
        timeout_s: Longest wait for a message, in seconds; it is halved after each that has not
            come.
        ignored: Pointers to what may differ.
    """

    def __init__(
        self,
        transcript: Transcript,
        bindings: LiveValues,
        redactor: Redactor,
        *,
        timeout_s: float,
        ignored: Sequence[Pointer] = (),
    ) -> None:
        self.bindings = bindings
        self.found: list[Difference] = []
        self.compared = 0
        """Number of server messages that came as they were expected to, or otherwise."""
        self.timeout_s = timeout_s
        self.event_ids: dict[str, str] = {}
        """Live ids of SSE events by the recorded ones."""
        self._transcript = transcript
        self._redactor = redactor
        self._ignored = ignored
        self._pending: list[tuple[int, RecordedLine, Any]] = []
        self.repeat: Repeat | None = None
        """Sends a request of the client once more, with another id."""
        self._asked: dict[bytes, Json] = {}
        """Requests of the client, by their ids."""
        self._repeats = 0
        self._came: dict[Key, deque[_LiveFrame]] = defaultdict(deque)
        transcript.listen(self._heard)

    # --- what is expected ---

    def expect(self, number: int, line: RecordedLine) -> None:
        """Expect what a line of the server holds."""
        if line.message is UNSET:
            self._pending.append((number, line, UNSET))
        for frame in entries(line.message):
            self._pending.append((number, line, frame))

    def sent(self, message: Any) -> None:
        """Note the requests of a client message, whose answers have ids alone."""
        for frame in entries(message):
            if "method" in frame and "id" in frame:
                self._asked[msgspec.json.encode(frame["id"])] = frame

    async def settle(self) -> None:
        """Wait until each message that is expected has come, and compare it."""
        pending, self._pending = self._pending, []
        for number, line, frame in pending:
            await self._meet(number, line, frame)

    async def end(self) -> None:
        """Wait for what is expected, and note what came beside it."""
        await self.settle()
        await self._transcript.first(lambda event: event.kind == "closed", SETTLE_S)
        for frames in self._came.values():
            for one in frames:
                self.found.append(
                    Difference(
                        line=0,
                        about=self._about(one.members),
                        path="$",
                        expected=NOTHING,
                        came=self._shown(one.members),
                    )
                )

    def differs(self, number: int, about: str, path: str, expected: str, came: str) -> None:
        """Note a difference beside those of messages."""
        self.found.append(
            Difference(line=number, about=about, path=path, expected=expected, came=came)
        )

    # --- what comes ---

    def _heard(self, event: WireEvent) -> None:
        if event.sender != "server" or event.kind != "message":
            return
        if event.message is UNSET:
            text = event.data.decode("utf-8", "backslashreplace")
            self._came["text",].append(_LiveFrame(event, text))
        for frame in entries(event.message):
            self._came[self._key(frame)].append(_LiveFrame(event, frame))

    async def _meet(self, number: int, line: RecordedLine, frame: Any) -> None:
        recorded: Any = line.text if frame is UNSET else frame
        key = ("text",) if frame is UNSET else self._key(frame, is_recorded=True)
        live = await self._take(key)
        about = self._about(recorded)
        if live is None:
            wait = f"{NOTHING} in {self.timeout_s:g} s"
            self.differs(number, about, "$", shown_value(recorded), wait)
            self.timeout_s = max(SHORTEST_WAIT_S, self.timeout_s / 2)
            return
        self.compared += 1
        event_id = line.fields.get("id")
        for one in live.event.about.split("\n"):
            if event_id is not None and one.startswith("id: "):
                self.event_ids[event_id] = one.removeprefix("id: ")
        expected: Any = recorded
        came = live.members
        if not isinstance(recorded, str):
            if "method" in recorded and "id" in recorded:
                self.bindings.bind_request(recorded["id"], live.members["id"])
            # A request of the server has an id of its own; an answer was found by its id.
            came = (await self._polled(recorded, live)).members
            expected, came = _without_id(recorded), _without_id(came)
            if _is_at_work(recorded) and self._is_poll(recorded):
                # How far a task is depends on the time.
                expected, came = _task_of(expected), _task_of(came)
        self.found += differences(
            expected,
            came,
            self.bindings,
            self._redactor,
            line=number,
            about=about,
            ignored=self._ignored,
        )

    def _is_poll(self, answer: Json) -> bool:
        return python_name(str(self._request_of(answer).get("method"))) == POLL

    async def _polled(self, recorded: Json, live: _LiveFrame) -> _LiveFrame:
        """Ask for a task again while it is at work, and in the recording was not any more."""
        if self.repeat is None or not self._is_poll(recorded) or _is_at_work(recorded):
            return live
        request = self._request_of(recorded)
        until_s = monotonic() + self.timeout_s
        while _is_at_work(live.members) and monotonic() < until_s:
            await asyncio.sleep(POLL_S)
            self._repeats += 1
            again = {**request, "id": f"{request['id']}-again-{self._repeats}"}
            await self.repeat(again, request["id"])
            came = await self._take(self._key({"id": again["id"]}))
            if came is None:
                break
            live = came
        return live

    async def _take(self, key: Key) -> _LiveFrame | None:
        if not self._came[key]:
            await self._transcript.first(
                lambda event: bool(self._came[key]) or event.kind == "closed", self.timeout_s
            )
        return self._came[key].popleft() if self._came[key] else None

    # --- names ---

    def _key(self, frame: Json, *, is_recorded: bool = False) -> Key:
        """Return what tells which live message stands for a recorded one.

        Those with the same key stand for one another in their order.
        """
        id = msgspec.json.encode(frame["id"]).decode() if "id" in frame else ""
        if "method" not in frame:
            return ("answer", id)
        params = frame.get("params")
        about = [
            member(params, name) for name in ("progressToken", "uri", "taskId", "elicitationId")
        ]
        if is_recorded:
            about = [self.bindings.opaque(one) for one in about]
        kind = "method with id" if id else "method"
        named = "" if id else msgspec.json.encode(about).decode()
        return (kind, str(frame["method"]), named)

    def _about(self, frame: Any) -> str:
        if isinstance(frame, str):
            return "text"
        if "method" in frame:
            return str(self._redactor.text(str(frame["method"])))
        asked = self._request_of(frame)
        return f"answer to {asked['method']}" if asked else "answer"

    def _request_of(self, answer: Any) -> Json:
        return self._asked.get(msgspec.json.encode(member(answer, "id")), {})

    def _shown(self, frame: Any) -> str:
        if isinstance(frame, str):
            return shown_value(self._redactor.text(frame))
        return shown_value(self._redactor.message(frame))


def _is_at_work(answer: Any) -> bool:
    status: Any = member(answer, "result", "status")
    return bool(status == "working")


def _task_of(answer: Any) -> Json:
    return {"taskId": member(answer, "result", "taskId")}


def _without_id(frame: Json) -> Json:
    return {name: value for name, value in frame.items() if name != "id"}

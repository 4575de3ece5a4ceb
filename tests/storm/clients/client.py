"""Client of the storm, whatever carries its messages: what it does and what it expects."""

from __future__ import annotations

import asyncio
import json
import random
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec

from mcp_wire.extensions.tasks import EXTENSION
from tests.soak.traffic.peers import reply_to
from tests.storm.clients.wire import Cut
from tests.storm.ledger import Ledger, Outcome
from tests.storm.plan import LIMIT_S, Plan
from tests.support.frames import encoded
from tests.support.http.asgi import Event
from tests.support.peers.answering import EVERYTHING, Capable

__all__ = ["Call", "Client", "Failed", "SessionGone", "reason_of"]

POLL_S = 0.3
BEGINS_S = 3 * LIMIT_S
"""Seconds within which a session has begun, which takes several requests."""
TOLD_S = 1.0
"""Seconds after an answer in which its node tells others of a change, if the store is there."""
CALM_S, LATE_S = 1.0, 6.0
"""Seconds without a fault, and since a change, after which its update has come."""
REASONS = {"at `$.requestState`": "state", "takes no more requests": "ending"}
"""Reasons of errors that have none in their data, by the end of their text."""
RESOURCES, REST_S = 5, LIMIT_S + 2
"""A resource is changed again only when nobody can mistake the update for an earlier one's."""


class Failed(Exception):
    """A request has no result; the ledger knows why."""


class SessionGone(Exception):
    """The session has ended: the client begins another."""


@dataclass
class Call:
    """A request, and what came for it."""

    id: int
    what: str
    began_s: float
    answers: list[Any] = field(default_factory=list[Any])
    steps: list[int] = field(default_factory=list[int])
    """Numbers of the progress notifications."""
    events: list[Event] = field(default_factory=list[Event])
    """Events of its stream with ids, in order, over all connections."""
    tries: list[str] = field(default_factory=list[str])
    """Fates of the connections that were to carry it."""

    @property
    def is_answered(self) -> bool:
        return bool(self.answers)


class Client(ABC):
    """One client. All its random choices come from its seed."""

    def __init__(self, port: int, revision: str, name: str, ledger: Ledger, plan: Plan) -> None:
        self.port = port
        self.speaker = Capable(revision, EVERYTHING)
        self.profile = self.speaker.profile
        self.ledger = ledger
        self.who = revision
        self.rng = random.Random(f"{plan.seed} {name}")
        self.mark = f"mark-{self.rng.getrandbits(48):012x}"
        self.session_s = ledger.now_s()
        """Start of the session."""
        self.leaving = asyncio.Event()
        self.uris = [f"storm://{self.mark}/{part}" for part in range(RESOURCES)]
        """Resources of its own, which it listens to."""
        self.updates: dict[str, list[float]] = {uri: [] for uri in self.uris}
        """Times of their updates."""
        self.hears_s: float | None = None
        """Time since which it hears all updates without a gap; None while it hears none."""
        self._plan = plan
        self._task_s = 0.0
        """Start of its newest task."""
        self._bumped: dict[str, float] = {}
        self._ids = count(1)
        self._numbers = count(1)
        self._calls: dict[int, Call] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # --- differences between kinds ---

    @abstractmethod
    async def begin(self) -> None:
        """Open a session, or what stands for one.

        Raises:
            Failed: it could not be opened now.
        """

    @abstractmethod
    async def end(self) -> None:
        """Close the session and all that it has open."""

    @abstractmethod
    async def carry(self, call: Call, frame: bytes) -> None:
        """Send a request, and read until its answer is in the call.

        Raises:
            Failed: it ended with an error, which was settled.
            SessionGone: as Failed, and the session has ended.
        """

    @abstractmethod
    async def tell(self, frame: bytes, *, answers: bool = False) -> None:
        """Send a notification, or an answer to a question of the server."""

    # --- the life of a client ---

    async def run(self) -> None:
        """Make requests until the storm is over."""
        await self.rest()
        while not self.leaving.is_set():
            self.session_s = self.ledger.now_s()
            self.hears_s = None
            try:
                async with asyncio.timeout(BEGINS_S):
                    await self.begin()
                while not self.leaving.is_set():
                    with suppress(Failed):
                        await self.rng.choice(self.acts())()
                    await self.rest()
            except (Failed, SessionGone):
                pass
            except TimeoutError:
                self.ledger.blame("waited too long", f"{self.who}: to begin a session")
            finally:
                await self._close()
            if not self.leaving.is_set():
                await self.rest()

    async def _close(self) -> None:
        for task in [*self._tasks]:
            task.cancel()
        if self._tasks:
            await asyncio.wait([*self._tasks])
        await self.end()
        self._calls.clear()

    async def rest(self) -> None:
        """Wait a while, unless the storm is over."""
        try:
            async with asyncio.timeout(self.rng.uniform(0, 2 * self._plan.rest_s)):
                await self.leaving.wait()
        except TimeoutError:
            pass

    def acts(self) -> list[Callable[[], Awaitable[None]]]:
        """Return what the client can do at its revision."""
        found: list[Callable[[], Awaitable[None]]] = [
            *(self.echo, self.count, self.put, self.steps, self.steps),
            *(self.ask, self.bump, self.bump),
        ]
        if self.profile.tasks != "none":
            found += [self.task, self.task]
        return found

    # --- the acts ---

    async def echo(self) -> None:
        """Get back what was sent."""
        self._expect("echo", await self.call("echo", word=f"{self.mark} x"), f"{self.mark} x")

    async def count(self) -> None:
        """Have an effect, once."""
        effect = self._effect()
        await self._effective("count", effect)

    async def put(self) -> None:
        """Have an effect that may be repeated, and repeat it until there is an answer."""
        effect = self._effect(idempotent=True)
        for _ in range(3):
            try:
                await self._effective("put", effect)
            except Failed:
                await self.rest()
            else:
                return

    async def steps(self) -> None:
        """Hear numbered progress, all of it and in order."""
        effect, steps = self._effect(), self.rng.randint(3, 12)
        call, result = await self.request(
            "steps", "tools/call", self._tool("steps", effect=effect, steps=steps, pause_s=0.25)
        )
        self._answered("steps", effect, result)
        if call.steps != [*range(1, steps + 1)]:
            self.ledger.blame("event lost", f"{self.who}: {call.steps} of {steps}: {call}")
        self.ledger.checks["numbered progress"] += steps

    async def ask(self) -> None:
        """Answer a question of a tool."""
        tool = "ask" if self.profile.elicit else "ask_model"
        effect = self._effect()
        began_s = self.ledger.now_s()
        try:
            result = await self.call(tool, effect=effect, word=f"accept-{self.mark}")
        finally:
            if self.ledger.failing("emptied", began_s):
                self.ledger.excused.add(effect)
        self._answered(tool, effect, result)
        self._expect(tool, result, f"accept-{self.mark}")

    async def bump(self) -> None:
        """Change a resource of its own, and expect to hear of it while other acts go on."""
        now_s = self.ledger.now_s()
        rested = [uri for uri in self.uris if now_s - self._bumped.get(uri, -REST_S) >= REST_S]
        if not rested:
            return
        uri = rested[0]
        self._bumped[uri] = now_s
        pid = int(_text(await self.call("bump", uri=uri)).split()[-1])
        if self.hears_s is not None and self.hears_s <= now_s:
            self.spawn(self._hear_of(uri, now_s, pid, self.hears_s))

    async def _hear_of(self, uri: str, began_s: float, pid: int, since_s: float) -> None:
        """Wait for the update of a change, unless nobody is left to tell or to hear of it."""
        heard, answered_s = self.updates[uri], self.ledger.now_s()
        while not any(at_s >= began_s for at_s in heard):
            await asyncio.sleep(0.1)
            if self.leaving.is_set() or self.hears_s != since_s:
                return
            if self.ledger.fell(pid, began_s, answered_s + TOLD_S):
                return  # who was to tell it had not told it yet
            now_s = self.ledger.now_s()
            is_calm = self.ledger.quiet_since(now_s - CALM_S, even_busy=True)
            if (is_calm and now_s - answered_s > LATE_S) or now_s - began_s > LIMIT_S:
                said = (
                    f"{self.who}: since {began_s:.1f} s, answered at {answered_s:.1f} s by {pid}; "
                    f"it hears since {since_s:.1f} s, and heard at {self._heard_s()}"
                )
                self.ledger.blame("update lost", said)
                return
        self.ledger.checks["updates after a change"] += 1
        await asyncio.sleep(0.5)
        number = sum(at_s >= began_s for at_s in heard)
        if self.ledger.quiet_since(began_s - 1) and number != 1 and self.hears_s == since_s:
            self.ledger.blame("update doubled", f"{self.who}: {number} for one change")

    def _heard_s(self) -> list[float]:
        """Return the times of the last updates of all its resources."""
        return sorted(round(at_s, 1) for times in self.updates.values() for at_s in times)[-8:]

    async def task(self) -> None:
        """Run a tool as a task, and fetch its result."""
        effect = self._effect()
        params = self._tool("job", effect=effect, seconds=self.rng.uniform(0.2, 3))
        if self.profile.tasks == "core":
            params["task"] = {"ttl": 60_000}
        else:
            params["_meta"] = self._task_meta()
        self._task_s = began_s = self.ledger.now_s()
        _, made = await self.request("job", "tools/call", params)
        task = made.get("task", made)
        while task.get("status") in (None, "working", "input_required"):
            if self.ledger.now_s() - began_s > 2 * LIMIT_S:
                self.ledger.blame("waited too long", f"{self.who}: for {task}")
                raise Failed
            await asyncio.sleep(POLL_S)
            task = await self._of_task("tasks/get", task["taskId"])
        if task["status"] != "completed":
            said = Outcome("task", reason=str(task["status"]), says=str(task.get("statusMessage")))
            self.settle(said, began_s, asked_s=self.ledger.now_s())
            raise Failed
        result = task.get("result") or await self._of_task("tasks/result", task["taskId"])
        self._answered("job", effect, result)

    async def _of_task(self, method: str, id: str) -> Any:
        """Ask about a task; what fails on the way is asked again."""
        more = {"_meta": self._task_meta()} if self.profile.tasks == "extension" else {}
        for _ in range(20):
            try:
                _, result = await self.request("task", method, {"taskId": id, **more})
            except Failed as failed:
                if failed.args:
                    raise
                await asyncio.sleep(POLL_S)
            else:
                return result
        raise Failed

    def _task_meta(self) -> dict[str, Any]:
        extensions: dict[str, Any] = {"extensions": {EXTENSION.identifier: {}}}
        return {str(self.profile.client_capabilities_key): {**EVERYTHING, **extensions}}

    # --- requests ---

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its result, after the rounds that it takes."""
        more: dict[str, Any] = {}
        while True:
            params = {**self._tool(tool, **arguments), **more}
            _, result = await self.request(tool, "tools/call", params)
            if result.get("resultType") != "input_required":
                return result
            asked = result["inputRequests"]
            more = {"inputResponses": {key: reply_to(one) for key, one in asked.items()}}
            if "requestState" in result:
                more["requestState"] = result["requestState"]

    async def request(self, what: str, method: str, params: dict[str, Any]) -> tuple[Call, Any]:
        """Make a request; return what came for it, and its result.

        Raises:
            Failed: it ended with an error, which was settled. A task that is gone is its argument.
            SessionGone: the session has ended.
        """
        call = Call(next(self._ids), what, self.ledger.now_s())
        self._calls[call.id] = call
        meta = {self.profile.progress_token_key: call.id, **params.get("_meta", {})}
        frame = self.speaker.request(call.id, method, {**params, "_meta": meta})
        try:
            async with asyncio.timeout(LIMIT_S):
                await self.carry(call, frame)
        except TimeoutError:
            said = (
                f"{self.who}: {what} since {call.began_s:.1f} s, tried {call.tries[-12:]}, "
                f"got {call.events[-1:]}"
            )
            self.ledger.blame("waited too long", said)
            raise Failed from None
        self.ledger.took(self.who, what, call.began_s)
        answer = call.answers[0]
        if "result" not in answer:
            self._refused(call, answer["error"])
        self.ledger.answers[what, self.who] += 1
        return call, answer["result"]

    def _refused(self, call: Call, error: dict[str, Any]) -> None:
        reason = reason_of(error)
        is_gone = call.what == "task" and not reason
        for end, known in REASONS.items():
            if error["message"].endswith(end):
                reason = known
        said = Outcome("rpc", 0, error["code"], "task" if is_gone else reason, str(error))
        self.settle(said, self._task_s if is_gone else call.began_s, call.began_s)
        raise Failed("gone") if is_gone else Failed

    def settle(self, outcome: Outcome, began_s: float, asked_s: float | None = None) -> None:
        """Record what ended without a result, and when its last request was made."""
        transport = str(self.profile.http_transport)
        self.ledger.settle(self.who, transport, outcome, began_s, self.session_s)
        self.ledger.took(self.who, str(outcome), began_s if asked_s is None else asked_s)

    def note(self, cut: Cut, call: str) -> None:
        """Record a lost connection: whoever got no word for so long waited in vain."""
        if cut.is_late:
            self.ledger.blame("waited too long", f"{self.who}: {call} has no response")

    def _tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        return {"name": name, "arguments": arguments}

    def _effect(self, *, idempotent: bool = False) -> str:
        effect = f"{self.mark} {next(self._numbers)}"
        self.ledger.expect_effect(effect, idempotent=idempotent)
        return effect

    async def _effective(self, tool: str, effect: str) -> None:
        self._answered(tool, effect, await self.call(tool, effect=effect))

    def _answered(self, tool: str, effect: str, result: Any) -> None:
        if result.get("isError"):
            self.settle(Outcome("tool", says=_text(result)), self.ledger.now_s())
            raise Failed
        self._expect(tool, result, effect)
        self.ledger.effects[effect] = True

    def _expect(self, tool: str, result: Any, word: str) -> None:
        if word not in _text(result):
            self.ledger.blame("wrong answer", f"{self.who}: {tool} gave {result} for {word!r}")

    # --- what the server sends ---

    def heard(self, data: bytes, call: Call | None) -> None:
        """Take a message of the server that came for a request, or for none."""
        self.ledger.belongs(self.who, self.mark, data)
        frame = msgspec.json.decode(data)
        method, id = frame.get("method"), frame.get("id")
        if method is None:
            self._heard_answer(frame, id, call)
        elif id is not None:
            self.spawn(self.tell(encoded(_reply(frame)), answers=True))
        elif method == "notifications/progress":
            self._heard_step(frame["params"])
        elif method == "notifications/resources/updated":
            self.updates[frame["params"]["uri"]].append(self.ledger.now_s())

    def _heard_answer(self, frame: Any, id: Any, call: Call | None) -> None:
        found = self._calls.get(id)
        if found is None or (call is not None and found is not call):
            self.ledger.blame("answer to nobody", f"{self.who}: {frame}")
        else:
            found.answers.append(frame)
            if len(found.answers) > 1:
                self.ledger.blame("answered twice", f"{self.who}: {found.answers}")

    def _heard_step(self, params: Any) -> None:
        call = self._calls.get(params["progressToken"])
        if call is None:
            self.ledger.blame("event at the wrong request", f"{self.who}: {params}")
            return
        step = round(params["progress"])
        expected = call.steps[-1] + 1 if call.steps else 1
        if step != expected:
            kind = "event doubled" if step < expected else "event lost"
            self.ledger.blame(kind, f"{self.who}: step {step} for {expected} of {call.what}")
        call.steps.append(step)

    def spawn(self, work: Any) -> asyncio.Task[None]:
        """Run something beside the acts until the session ends."""
        task: asyncio.Task[None] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self.ledger.blame("client failed", f"{self.who}: {task.exception()!r}")


def _reply(frame: Any) -> dict[str, Any]:
    if frame["method"] == "ping":
        return {"jsonrpc": "2.0", "id": frame["id"], "result": {}}
    return {"jsonrpc": "2.0", "id": frame["id"], "result": reply_to(frame)}


def _text(result: Any) -> str:
    content: list[dict[str, Any]] = result.get("content") or [{}]
    return str(content[0].get("text", json.dumps(result)))


def reason_of(error: dict[str, Any]) -> str:
    """Return the reason that the data of an error gives; empty for none."""
    try:
        return str(error["data"]["reason"])
    except (KeyError, TypeError):
        return ""

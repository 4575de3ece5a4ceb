"""A session over a line to the target: sends inputs, answers questions, keeps the accounts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any

from tests.fuzz.findings import BLOCK, Block, Findings
from tests.fuzz.ledger import Ledger
from tests.fuzz.making.answers import answer_to, input_responses
from tests.fuzz.making.messages import CAPABILITIES, Maker
from tests.fuzz.making.shapes import shapes_of
from tests.fuzz.reading import OPEN_ENDED, id_key
from tests.fuzz.surfaces.surface import ANSWER_S
from tests.fuzz.values import is_object
from tests.support.frames import Speaker, encoded

__all__ = ["Known", "Line", "opening", "probe"]

ROUNDS = 3
"""Most times that a request is repeated with answers to its questions."""
GOOD_REFUSAL = {"code": -1, "message": "no"}


class Known:
    """Values of the server that later inputs repeat."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"@task@": "none", "@cursor@": "none", "@state@": "none"}

    def learn(self, result: Any) -> None:
        """Keep the values of a result."""
        if not is_object(result):
            return
        task: Any = result.get("task", result)
        for key, found in (
            ("@task@", task.get("taskId") if is_object(task) else None),
            ("@cursor@", result.get("nextCursor")),
            ("@state@", result.get("requestState")),
        ):
            if isinstance(found, str):
                self._known[key] = found

    def fill(self, data: bytes) -> bytes:
        """Return an input with the latest values in it."""
        if b"@" in data:
            for key, value in self._known.items():
                data = data.replace(key.encode(), value.encode())
        return data


def opening(speaker: Speaker) -> list[bytes]:
    """Return the handshake of a client that can do everything."""
    profile = speaker.profile
    if profile.handshake is None:
        return []
    params = {
        "protocolVersion": speaker.revision,
        "capabilities": CAPABILITIES,
        "clientInfo": {"name": "fuzz", "version": "1"},
    }
    first = {"jsonrpc": "2.0", "id": "open", "method": profile.handshake.name, "params": params}
    return [encoded(first), speaker.initialized]


def probe(speaker: Speaker, id: str) -> bytes:
    """Return a valid request."""
    return speaker.call(id, "echo", text="alive")


class Line:
    """Session over any transport of whole messages, for one block of inputs or many.

    Args:
        revision: Revision of the session.
        send: Sends the bytes of a message, or of an input.
    """

    def __init__(self, revision: str, send: Callable[[bytes], None]) -> None:
        self.speaker = Speaker(revision)
        self.ledger = Ledger(revision)
        self.ended = asyncio.Event()
        self._send = send
        self._shapes = shapes_of(revision)
        self._memory = Known()
        self._asked: dict[str, dict[str, Any]] = {}
        self._results: dict[str, dict[str, Any]] = {}
        self._news = asyncio.Event()
        self._probes = 0
        self._answers: dict[str, int] = {}
        self._open = False
        self.lost = False
        """True if the session has ended by an input that must end it."""

    # --- the conversation ---

    async def talk(
        self,
        block: Block,
        findings: Findings,
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        """Send all inputs of a block, wait for all answers, and send a probe.

        Args:
            block: The inputs.
            findings: Told what is wrong.
            pause: Called now and then between two inputs.
        """
        self._block, self._findings = block, findings
        self.ledger.findings = findings
        self._asked.clear()
        self._answers.clear()
        if not self._open:
            self._open = True
            await self.open()
            await self._probe("a new session does not answer a valid request")
        for index in block.indexes:
            random = block.random(index)
            data = self._memory.fill(Maker.of(block.revision, random, index).input())
            if self.lost:
                self.lost = False
                await self.open()
            self.put(data, index, random)
            if random.random() < 0.5:
                await pause()
        await self._drain()
        await self._calm_down()
        if self.lost:
            self.lost = False
            await self.open()
        await self._probe("the session does not answer a valid request any more")
        # What need not be answered may have been, with questions.
        await self._drain()
        self.ledger.close()

    async def open(self) -> None:
        """Open the session."""
        for message in opening(self.speaker):
            self.say(message)

    def put(self, data: bytes, index: int, random: Random) -> None:
        """Send an input."""
        self._findings.inputs[index] = data
        self.say(data, index)

    def say(self, data: bytes, index: int | None = None) -> None:
        """Send a message, and take note of it."""
        self._note(data, index)
        self._send(data)

    def _note(self, data: bytes, index: int | None) -> None:
        self.ledger.sent(data, index)
        self.remember(data)

    def remember(self, data: bytes) -> None:
        """Keep a request, to repeat it if its result asks for input."""
        with suppress(ValueError, RecursionError):
            found = json.loads(data)
            if is_object(found) and "id" in found and "method" in found:
                self._asked[id_key(found["id"])] = found

    async def _probe(self, what: str) -> None:
        self._probes += 1
        name = f"probe {self._probes}"
        self.say(probe(self.speaker, name))
        await self._until(lambda: id_key(name) in self._results)
        found = self._results.pop(id_key(name), None)
        if found is None or b"alive" not in encoded(found):
            self._findings.add("ended" if self.ended.is_set() else "probe", f"{what}: {found}")

    async def _calm_down(self) -> None:
        """Cancel the requests that would stay open."""
        for asked in self._asked.values():
            if asked["method"] in OPEN_ENDED and isinstance(asked["id"], int | str):
                params = {"requestId": asked["id"]}
                whole = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
                # Not by our encoder: an id may be no Unicode text.
                self.say(json.dumps(whole).encode())

    async def _drain(self) -> None:
        """Wait for all answers; questions that may be open are refused."""
        await self._until(lambda: not self.ledger.missing() or bool(self.ledger.questions))
        while self.ledger.questions and not self.ended.is_set():
            for key, asked in [*self.ledger.questions.items()]:
                self.ledger.settled_questions(key)
                self.say(encoded({"jsonrpc": "2.0", "id": asked["id"], "error": GOOD_REFUSAL}))
            await self._until(lambda: not self.ledger.missing() or bool(self.ledger.questions))

    async def _until(self, there: Callable[[], bool]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                while not there() and not self.ended.is_set():
                    self._news.clear()
                    await self._news.wait()

    # --- what the server sends ---

    def came(self, data: bytes) -> None:
        """Handle a message of the server."""
        for part in self.ledger.came(data):
            if "method" in part and "id" in part:
                self._answer(part)
            elif "id" in part:
                key = id_key(part["id"])
                if key.startswith('"probe'):
                    self._results[key] = part
                self._memory.learn(part.get("result"))
                self._go_on(key, part.get("result"))
        self._news.set()

    def hung_up(self) -> None:
        """Handle the end of the connection."""
        self.ended.set()
        self._news.set()

    def wake(self) -> None:
        """Look again at what is waited for."""
        self._news.set()

    def _random(self, what: Any) -> Random:
        """Return random numbers for an answer to this, the same in every session."""
        text = json.dumps(what, sort_keys=True)
        self._answers[text] = times = self._answers.get(text, 0) + 1
        start = self._block.indexes[0] // BLOCK * BLOCK
        return self._block.random(start, f"answer {times} {text}")

    def _answer(self, asked: dict[str, Any]) -> None:
        data = answer_to(
            asked, self._shapes, self._random([asked.get("method"), asked.get("params")])
        )
        try:
            said = json.loads(data)
            ends = id_key(said["id"]) == id_key(asked["id"]) and "result" in said
        except (ValueError, TypeError, KeyError, RecursionError):
            ends = False
        if ends and self.ledger.is_plain(data):
            self.ledger.settled_questions(id_key(asked["id"]))
        self.say(data)

    def _go_on(self, key: str, result: Any) -> None:
        """Repeat a request whose result asks for input."""
        asked = self._asked.get(key)
        if not is_object(result) or "inputRequests" not in result or asked is None:
            return
        id, params = asked["id"], asked.get("params")
        rounds = int(id[-1]) if isinstance(id, str) and "again" in id else 0
        if rounds >= ROUNDS or not is_object(params):
            return
        random = self._random([id, rounds])
        given = input_responses(result["inputRequests"], self._shapes, random)
        more = {"inputResponses": given}
        if "requestState" in result:
            more["requestState"] = result["requestState"]
        name = f"{str(id).partition(' again')[0]} again {rounds + 1}"
        again: Any = {**asked, "id": name, "params": {**params, **more}}
        try:
            data = encoded(again)
        except (TypeError, OverflowError, ValueError):
            return
        index = self.ledger.index_of(key)
        self.say(data, index)

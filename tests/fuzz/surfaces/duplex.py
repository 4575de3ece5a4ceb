"""A session over a line to the target: sends inputs, answers questions, keeps the accounts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tests.fuzz.findings import Block, Findings
from tests.fuzz.ledger import Ledger
from tests.fuzz.making.answers import answer_to, input_responses
from tests.fuzz.making.messages import CAPABILITIES, Maker
from tests.fuzz.making.shapes import shapes_of
from tests.fuzz.reading import id_key
from tests.fuzz.surfaces.surface import ANSWER_S
from tests.support.frames import Speaker, encoded

__all__ = ["Line", "Memory", "opening", "probe"]

ROUNDS = 3
"""Most times that a request is repeated with answers to its questions."""
GOOD_REFUSAL = {"code": -1, "message": "no"}


class Memory:
    """Values of the server that later inputs repeat."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {"@task@": "none", "@cursor@": "none", "@state@": "none"}

    def learn(self, result: Any) -> None:
        """Keep the values of a result."""
        if not isinstance(result, dict):
            return
        task = result.get("task", result)
        for key, found in (
            ("@task@", task.get("taskId") if isinstance(task, dict) else None),
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
    """Session of one block, over any transport of whole messages.

    Args:
        block: The inputs.
        findings: Told what is wrong.
        send: Sends one message.
    """

    def __init__(self, block: Block, findings: Findings, send: Callable[[bytes], None]) -> None:
        self.block = block
        self.findings = findings
        self.ledger = Ledger(block.revision, findings)
        self.speaker = Speaker(block.revision)
        self.ended = asyncio.Event()
        self._send = send
        self._shapes = shapes_of(block.revision)
        self._memory = Memory()
        self._asked: dict[str, dict[str, Any]] = {}
        self._answers = 0
        self._news = asyncio.Event()
        self._results: dict[str, dict[str, Any]] = {}

    # --- the conversation ---

    async def talk(self, pause: Callable[[], Awaitable[None]]) -> None:
        """Open the session, send all inputs, wait for all answers, and send a probe.

        Args:
            pause: Called now and then between two inputs.
        """
        for message in opening(self.speaker):
            self.say(message)
        await self._probe("first", "a new session does not answer a valid request")
        for index in self.block.indexes:
            random = self.block.random(index)
            data = self._memory.fill(Maker.of(self.block.revision, random, index).input())
            self.findings.inputs[index] = data
            self.say_input(data, index)
            if random.random() < 0.5:
                await pause()
        await self._drain()
        await self._probe("last", "the session does not answer a valid request any more")
        self.ledger.close()

    def say_input(self, data: bytes, index: int) -> None:
        """Send one input."""
        self.say(data, index)

    def say(self, data: bytes, index: int | None = None) -> None:
        """Send a message, and take note of it."""
        self.ledger.sent(data, index)
        self._remember(data)
        self._send(data)

    async def _probe(self, id: str, what: str) -> None:
        name = f"probe {id}"
        self.say(probe(self.speaker, name))
        await self._until(lambda: id_key(name) in self._results)
        found = self._results.get(id_key(name))
        if found is None or b"alive" not in encoded(found):
            self.findings.add("ended" if self.ended.is_set() else "probe", f"{what}: {found}")

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

    def _remember(self, data: bytes) -> None:
        with suppress(ValueError, RecursionError):
            found = json.loads(data)
            if isinstance(found, dict) and "id" in found and "method" in found:
                self._asked[id_key(found["id"])] = found

    # --- what the server sends ---

    def came(self, data: bytes) -> None:
        """Handle a message of the server."""
        for part in self.ledger.came(data):
            if "method" in part and "id" in part:
                self._answer(part)
            elif "id" in part:
                key = id_key(part["id"])
                self._results[key] = part
                self._memory.learn(part.get("result"))
                self._go_on(key, part.get("result"))
        self._news.set()

    def hung_up(self) -> None:
        """Handle the end of the connection."""
        self.ended.set()
        self._news.set()

    def _random(self) -> Any:
        self._answers += 1
        return self.block.random(self.block.indexes[0], f"answer {self._answers}")

    def _answer(self, asked: dict[str, Any]) -> None:
        data = answer_to(asked, self._shapes, self._random())
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
        if not isinstance(result, dict) or "inputRequests" not in result or asked is None:
            return
        id, params = asked["id"], asked.get("params")
        rounds = int(id[-1]) if isinstance(id, str) and "again" in id else 0
        if rounds >= ROUNDS or not isinstance(params, dict):
            return
        given = input_responses(result["inputRequests"], self._shapes, self._random())
        more = {"inputResponses": given}
        if "requestState" in result:
            more["requestState"] = result["requestState"]
        name = f"{str(id).partition(' again')[0]} again {rounds + 1}"
        again = {**asked, "id": name, "params": {**params, **more}}
        try:
            data = encoded(again)
        except (TypeError, OverflowError, ValueError):
            return
        index = self.ledger.index_of(key)
        self.say(data, index)

"""A raw client that answers what a server asks, whichever way the question comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

import mcp_wire
from tests.support.frames import ALL, Speaker, encoded
from tests.support.peers.raw import WAIT_S, RawClient, Serves, talking

__all__ = [
    "ASKS",
    "EVERYTHING",
    "IN_RESULTS",
    "LIVE",
    "AnsweringClient",
    "Answers",
    "Asked",
    "Capable",
    "accept",
    "answering",
    "asks",
    "in_results",
    "live",
]

EVERYTHING: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {"listChanged": True},
}
"""What a client declares that can answer anything."""

ASKS = [one for one in ALL if mcp_wire.profile(one).elicit]
"""The revisions at which a user can be asked."""
LIVE = [one for one in ASKS if mcp_wire.profile(one).asks_client == "server_request"]
IN_RESULTS = [one for one in ASKS if mcp_wire.profile(one).asks_client == "input_required"]

asks = pytest.mark.parametrize("revision", ASKS)
live = pytest.mark.parametrize("revision", LIVE)
in_results = pytest.mark.parametrize("revision", IN_RESULTS)


@dataclass(frozen=True)
class Asked:
    """One question of the server, as it stood on the wire."""

    method: str
    params: dict[str, Any]

    @property
    def message(self) -> str:
        """What the user is asked."""
        return str(self.params["message"])


Answers = Callable[[Asked], Any]
"""From a question to the JSON of its result, or to an exception that is the error's message."""


def accept(**content: Any) -> dict[str, Any]:
    """The user's answer to a form."""
    return {"action": "accept", "content": content}


@dataclass(frozen=True)
class Capable(Speaker):
    """A speaker that declares capabilities."""

    capabilities: Mapping[str, Any] = field(default_factory=dict)

    def initialize(self, id: int, asked: str | None = None) -> bytes:
        frame = msgspec.json.decode(super().initialize(id, asked))
        frame["params"]["capabilities"] = self.capabilities
        return encoded(frame)

    @property
    def meta(self) -> dict[str, Any]:
        meta = super().meta
        if meta:
            meta[str(self.profile.client_capabilities_key)] = self.capabilities
        return meta


class AnsweringClient:
    """Makes requests, and answers the questions that come before their answers."""

    def __init__(self, client: RawClient, answers: Answers) -> None:
        self.client = client
        self.speaker = client.speaker
        self.answers = answers
        self.asked: list[Asked] = []
        """Every question, in the order in which they came."""
        self.rounds: list[dict[str, Asked]] = []
        """The questions of each result that had some, by key."""
        self.states: list[str | None] = []
        """The states that came with them."""
        self.told: list[Any] = []
        """The notifications that came."""
        self._ids = 0

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool to the end; the result, or the error."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def text(self, tool: str, **arguments: Any) -> str:
        """Call a tool to the end; the text of its result."""
        answer = await self.call(tool, **arguments)
        return str(answer["content"][0]["text"])

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Make a request, and make it again while it is answered with questions."""
        more: dict[str, Any] = {}
        while True:
            answer = await self.once(method, {**params, **more})
            if not isinstance(answer, dict) or answer.get("resultType") != "input_required":
                return answer
            more = self.answered(answer)

    async def once(self, method: str, params: dict[str, Any]) -> Any:
        """Make a request once; its result, or its error."""
        return await self.finished(self.send(method, params))

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Send a request; its id."""
        self._ids += 1
        self.client.send(self.speaker.request(self._ids, method, params))
        return self._ids

    async def finished(self, id: int) -> Any:
        """The result or the error of a request; questions that come before are answered."""
        while True:
            frame = await self.client.next()
            if "method" not in frame:
                assert frame["id"] == id
                return frame.get("result", frame.get("error"))
            if "id" in frame:
                self.answer(frame)
            else:
                self.told.append(frame)

    def answer(self, frame: Any) -> None:
        """Answer a question that came as a request."""
        given = self._given(Asked(frame["method"], frame.get("params", {})))
        said = {"jsonrpc": "2.0", "id": frame["id"]}
        if isinstance(given, Exception):
            said["error"] = {"code": -1, "message": str(given)}
        else:
            said["result"] = given
        self.client.send(encoded(said))

    def answered(self, result: Any) -> dict[str, Any]:
        """What the next request has beside its params, for a result with questions."""
        asked = {
            key: Asked(one["method"], one.get("params", {}))
            for key, one in (result.get("inputRequests") or {}).items()
        }
        assert len(self.rounds) < 50, "no end of questions"
        self.rounds.append(asked)
        self.states.append(result.get("requestState"))
        given = {key: self._given(one) for key, one in asked.items()}
        more: dict[str, Any] = {"inputResponses": given}
        if "requestState" in result:
            more["requestState"] = result["requestState"]
        return more

    def _given(self, asked: Asked) -> Any:
        self.asked.append(asked)
        return self.answers(asked)


@asynccontextmanager
async def answering(
    server: Serves,
    revision: str,
    answers: Answers,
    *,
    capabilities: Mapping[str, Any] = EVERYTHING,
) -> AsyncIterator[AnsweringClient]:
    """A client of the server that answers what it is asked, after the handshake if there is one."""
    async with talking(server, revision, opened=False) as client:
        client.speaker = Capable(revision, capabilities)
        if client.speaker.opening:
            client.send(*client.speaker.opening)
            await client.answer(0)
        async with asyncio.timeout(WAIT_S):
            yield AnsweringClient(client, answers)

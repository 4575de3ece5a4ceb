"""Raw client that answers input requests of either mechanism."""

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
"""Capabilities of a client that can answer every input request."""

ASKS = [one for one in ALL if mcp_wire.profile(one).elicit]
"""Revisions with elicitation."""
LIVE = [one for one in ASKS if mcp_wire.profile(one).asks_client == "server_request"]
IN_RESULTS = [one for one in ASKS if mcp_wire.profile(one).asks_client == "input_required"]

asks = pytest.mark.parametrize("revision", ASKS)
live = pytest.mark.parametrize("revision", LIVE)
in_results = pytest.mark.parametrize("revision", IN_RESULTS)


@dataclass(frozen=True)
class Asked:
    """Input request of the server, as on the wire."""

    method: str
    params: dict[str, Any]

    @property
    def message(self) -> str:
        """Message of an elicitation."""
        return str(self.params["message"])


Answers = Callable[[Asked], Any]
"""Function of an input request that returns its result, or an exception for an error."""


def accept(**content: Any) -> dict[str, Any]:
    """Return the user's answer to a form."""
    return {"action": "accept", "content": content}


@dataclass(frozen=True)
class Capable(Speaker):
    """Speaker that declares capabilities."""

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
    """Makes requests, and answers the input requests that arrive before their responses."""

    def __init__(self, client: RawClient, answers: Answers) -> None:
        self.client = client
        self.speaker = client.speaker
        self.answers = answers
        self.asked: list[Asked] = []
        """Every input request, in order."""
        self.rounds: list[dict[str, Asked]] = []
        """Input requests of each `input_required` result, by key."""
        self.states: list[str | None] = []
        """The `requestState` of each of them."""
        self.told: list[Any] = []
        """Notifications received."""
        self._ids = 0

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool, with all rounds; return the result or the error."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def text(self, tool: str, **arguments: Any) -> str:
        """Call a tool, with all rounds; return the text of its result."""
        answer = await self.call(tool, **arguments)
        return str(answer["content"][0]["text"])

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        """Make a request, and repeat it while it is answered with `input_required`."""
        more: dict[str, Any] = {}
        while True:
            answer = await self.once(method, {**params, **more})
            if not isinstance(answer, dict) or answer.get("resultType") != "input_required":
                return answer
            more = self.answered(answer)

    async def once(self, method: str, params: dict[str, Any]) -> Any:
        """Make a request once; return its result or its error."""
        return await self.finished(self.send(method, params))

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Send a request and return its id."""
        self._ids += 1
        self.client.send(self.speaker.request(self._ids, method, params))
        return self._ids

    async def finished(self, id: int) -> Any:
        """Return the result or the error of a request; earlier input requests are answered."""
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
        """Answer an input request that arrived as a request."""
        given = self._given(Asked(frame["method"], frame.get("params", {})))
        said = {"jsonrpc": "2.0", "id": frame["id"]}
        if isinstance(given, Exception):
            said["error"] = {"code": -1, "message": str(given)}
        else:
            said["result"] = given
        self.client.send(encoded(said))

    def answered(self, result: Any) -> dict[str, Any]:
        """Return the params that the next request adds, for a result with input requests."""
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
    """Connect a client that answers input requests, after the handshake if there is one."""
    async with talking(server, revision, opened=False) as client:
        client.speaker = Capable(revision, capabilities)
        if client.speaker.opening:
            client.send(*client.speaker.opening)
            await client.answer(0)
        async with asyncio.timeout(WAIT_S):
            yield AnsweringClient(client, answers)

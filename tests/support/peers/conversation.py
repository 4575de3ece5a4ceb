"""Client at the level of JSON, of any revision; tests/support/peers/connect.py opens it.

It does the opening of its revision, and answers server requests with the given handlers: at once
for requests, and in its next request for `input_required` results.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Mapping
from typing import Any

import msgspec

import mcp_wire
from mcp_gen.core.transport.protocols import Duplex
from mcp_wire.profile import Profile
from tests.support.peers.asked import SILENCE, WAIT_S, Answer, Asked, Refused

__all__ = ["Conversation"]


class Conversation:
    """Open conversation, which is its transport's receiver."""

    def __init__(
        self,
        revision: str,
        transport: Duplex,
        answers: Mapping[str, Answer],
        capabilities: dict[str, Any],
        log_level: str | None,
    ) -> None:
        self.revision = revision
        self.profile: Profile = mcp_wire.profile(revision)
        self.capabilities = capabilities
        self.log_level = log_level
        self.client_info: dict[str, Any] = {"name": "conversation", "version": "1"}
        self.opening: dict[str, Any] = {}
        """Result of the handshake, if there is one."""
        self.questions: list[tuple[str, Any]] = []
        """Input requests so far: method and params."""
        self.rounds = 0
        """Number of requests until the last result."""
        self.heard: list[dict[str, Any]] = []
        """Every notification of the server, in order."""
        self.frames: list[Any] = []
        """Every received frame, in order."""
        self.log: list[str] = []
        """Text on stderr of a server process; complete at the end."""
        self.hung_up = asyncio.Event()
        self._transport = transport
        self._answers = answers
        self._numbers = 0
        self._asked: dict[bytes, Asked] = {}
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    # --- outbound messages ---

    async def open(self) -> None:
        """Do the opening of the revision."""
        if self.profile.handshake is not None:
            params = {
                "protocolVersion": self.revision,
                "capabilities": self.capabilities,
                "clientInfo": self.client_info,
            }
            self.opening = await self.request("initialize", params)
            self.notify("notifications/initialized")
            if self.log_level:
                await self.request("logging/setLevel", {"level": self.log_level})

    @property
    def meta(self) -> dict[str, Any]:
        """Return the `_meta` of every request."""
        profile = self.profile
        if profile.protocol_version_key is None:
            return {}
        level = {str(profile.log_level_key): self.log_level} if self.log_level else {}
        return {
            profile.protocol_version_key: self.revision,
            str(profile.client_capabilities_key): self.capabilities,
            str(profile.client_info_key): self.client_info,
            **level,
        }

    def send(self, message: bytes) -> None:
        """Send any bytes as a message."""
        self._transport.send(message)

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification."""
        frame = {"jsonrpc": "2.0", "method": method}
        self.send(msgspec.json.encode(frame if params is None else {**frame, "params": params}))

    def cancel(self, asked: Asked, reason: str = "no longer needed") -> None:
        """Send the cancellation of a request."""
        self.notify("notifications/cancelled", {"requestId": asked.id, "reason": reason})

    def begin(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        id: Any = None,
    ) -> Asked:
        """Send a request without waiting. `meta` is merged into the `_meta` of every request."""
        asked, message = self.prepare(method, params, meta=meta, id=id)
        self.send(message)
        return asked

    def prepare(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        id: Any = None,
    ) -> tuple[Asked, bytes]:
        """Return a request that is not sent yet."""
        self._numbers += 1
        asked = Asked(
            self._numbers if id is None else id, asyncio.get_running_loop().create_future()
        )
        self._asked[msgspec.json.encode(asked.id)] = asked
        whole = dict(params or {})
        all_meta = {**self.meta, **whole.pop("_meta", {}), **(meta or {})}
        if all_meta:
            whole["_meta"] = all_meta
        frame = {"jsonrpc": "2.0", "id": asked.id, "method": method, "params": whole}
        return asked, msgspec.json.encode(frame)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the result of a request, after as many rounds as needed.

        Raises:
            Refused: the response is an error.
        """
        given = dict(params or {})
        for self.rounds in range(1, 20):
            result = await self.begin(method, given, meta=meta).result()
            if result.get("resultType") != "input_required":
                return result
            given = {**(params or {}), **await self.answers_to(result)}
        raise AssertionError(f"{method}: the server asks for ever")

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def text(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool and return its only text."""
        (block,) = (await self.call(tool, **arguments))["content"]
        return str(block["text"])

    async def refusal(self, method: str, params: Mapping[str, Any] | None = None) -> Refused:
        """Return the error of a request."""
        try:
            result = await self.request(method, params)
        except Refused as refused:
            return refused
        raise AssertionError(f"{method}: expected an error, got {result}")

    async def pages(self, method: str, key: str) -> list[list[dict[str, Any]]]:
        """Return every page of a list."""
        found, cursor = [], None
        while True:
            page = await self.request(method, {"cursor": cursor} if cursor else {})
            found.append(page[key])
            cursor = page.get("nextCursor")
            if cursor is None:
                return found

    async def names(self, method: str, key: str, by: str = "name") -> list[str]:
        """Return the names of all items in a list."""
        return [item[by] for page in await self.pages(method, key) for item in page]

    async def listen(self, **wanted: Any) -> Asked | None:
        """Subscribe to changes: `toolsListChanged=True`, `resourceSubscriptions=[uri]`.

        Where sessions get `list_changed` without a request, only resources are subscribed.
        """
        if self.profile.listen is None:
            for uri in wanted.get("resourceSubscriptions", ()):
                await self.request("resources/subscribe", {"uri": uri})
            return None
        asked = self.begin(self.profile.listen.name, {"notifications": wanted})
        await self.hears("notifications/subscriptions/acknowledged")
        return asked

    async def server(self) -> dict[str, Any]:
        """Return the server's info and capabilities, from the revision's own place."""
        if self.profile.handshake is not None:
            return self.opening
        found = await self.request("server/discover")
        info = found.get("_meta", {}).get(self.profile.server_info_key)
        return {**found, "serverInfo": info}

    async def settled(self) -> None:
        """Wait until the server has handled all earlier messages."""
        method = self.profile.ping or self.profile.discover
        assert method is not None
        await self.request(method.name)

    async def hears(
        self, method: str, times: int = 1, *, wait_s: float = WAIT_S
    ) -> list[dict[str, Any]]:
        """Wait for notifications; return the params of all of them so far."""
        async with asyncio.timeout(wait_s):
            while len(found := self.params_of(method)) < times:
                self._news.clear()
                await self._news.wait()
        return found

    async def asks(self, times: int = 1) -> list[tuple[str, Any]]:
        """Wait for this number of input requests; return all of them."""
        async with asyncio.timeout(WAIT_S):
            while len(self.questions) < times:
                self._news.clear()
                await self._news.wait()
        return self.questions

    def params_of(self, method: str) -> list[dict[str, Any]]:
        """Return the params of the notifications of one method so far."""
        return [one.get("params", {}) for one in self.heard if one["method"] == method]

    # --- requests of the server ---

    async def answers_to(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Return the params that answer the input requests of the result before."""
        given: dict[str, Any] = {}
        if "inputRequests" in result:
            given["inputResponses"] = {
                key: await self._respond(asked["method"], asked.get("params", {}))
                for key, asked in result["inputRequests"].items()
            }
        if "requestState" in result:
            given["requestState"] = result["requestState"]
        return given

    async def _respond(self, method: str, params: dict[str, Any]) -> Any:
        self.questions.append((method, params))
        self._news.set()
        if method not in self._answers:
            raise Refused(-32601, f"nobody answers {method}")
        made = self._answers[method](params)
        return await made if inspect.isawaitable(made) else made

    async def _answer_live(self, frame: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": frame["id"]}
        try:
            made = await self._respond(frame["method"], frame.get("params", {}))
        except Refused as refused:
            answer["error"] = refused.error
        else:
            if made is SILENCE:
                return
            answer["result"] = made
        self.send(msgspec.json.encode(answer))

    # --- receiver callbacks ---

    def receive(self, message: bytes) -> None:
        decoded = msgspec.json.decode(message)
        for frame in decoded if isinstance(decoded, list) else [decoded]:
            self.frames.append(frame)
            if "method" in frame and "id" in frame:
                self._work(self._answer_live(frame))
            elif "method" in frame:
                self.heard.append(frame)
                for asked in self._asked.values():
                    asked.notices.append(frame)
            else:
                asked_for = self._asked.pop(msgspec.json.encode(frame.get("id")), None)
                if asked_for is not None:
                    asked_for.answer.set_result(frame)
        self._news.set()

    def _work(self, answering: Awaitable[None]) -> None:
        task = asyncio.ensure_future(answering)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError(f"the server sent more than {limit_bytes} bytes")

    def closed(self, error: BaseException | None) -> None:
        self.hung_up.set()
        self._news.set()

    async def end(self) -> None:
        """Disconnect; nothing may be left running."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._transport.aclose()

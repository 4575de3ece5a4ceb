"""Client of HTTP+SSE: one stream for all messages of the server, and POSTs."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from tests.soak.traffic.kinds import SSE_PATH
from tests.soak.traffic.peers import ACCEPT
from tests.storm.clients.client import Call, Client, Failed, SessionGone
from tests.storm.clients.in_session import AGAIN_S, TELL_HEAD_S, refusal
from tests.storm.clients.wire import HEAD_S, Cut, exchange
from tests.storm.ledger import Outcome
from tests.storm.plan import LIMIT_S

__all__ = ["Paired"]


class Paired(Client):
    """Client whose session is its stream."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._path = ""
        self._news: asyncio.Condition = asyncio.Condition()
        self._over = False

    async def begin(self) -> None:
        """Open the stream, do the handshake, and subscribe."""
        self._path, self._over = "", False
        began_s = self.ledger.now_s()
        self.spawn(self._read())
        async with self._news:
            await self._news.wait_for(lambda: self._path or self._over)
        if self._over:
            self.settle(Outcome("cut", reason="stream"), began_s)
            raise Failed
        call = Call(0, "initialize", self.ledger.now_s())
        self._calls[0] = call
        await self.carry(call, self.speaker.initialize(0))
        self.ledger.answers["initialize", self.who] += 1
        await self.tell(self.speaker.initialized)
        for uri in self.uris:
            await self.request("resources/subscribe", "resources/subscribe", {"uri": uri})
        self.hears_s = self.ledger.now_s()

    async def end(self) -> None:
        """Do nothing: the stream was closed."""

    async def _read(self) -> None:
        try:
            async with exchange(self.port, "GET", SSE_PATH, ACCEPT) as response:
                if not response.is_stream:
                    await response.body()
                    return
                async with aclosing(response.events()) as events:
                    async for event in events:
                        await self._take(event.name, event.data)
        except Cut:
            pass
        finally:
            self._over, self.hears_s = True, None
            async with self._news:
                self._news.notify_all()

    async def _take(self, name: str | None, data: bytes) -> None:
        if name == "endpoint":
            self._path = data.decode()
        elif data:
            self.heard(data, None)
        async with self._news:
            self._news.notify_all()

    async def carry(self, call: Call, frame: bytes) -> None:
        """Post a request, and wait for its answer on the stream."""
        await self._post(frame, call.began_s)
        async with self._news:
            await self._news.wait_for(lambda: call.is_answered or self._over)
        if not call.is_answered:
            self.settle(Outcome("cut", reason="stream"), call.began_s)
            raise SessionGone

    async def tell(self, frame: bytes, *, answers: bool = False) -> None:
        """Post a notification or an answer, again where nobody took it."""
        began_s = self.ledger.now_s()
        while self.ledger.now_s() - began_s < LIMIT_S and not self._over:
            try:
                await self._post(frame, began_s, TELL_HEAD_S)
            except SessionGone:
                return
            except Failed:
                await asyncio.sleep(AGAIN_S)
            else:
                self.ledger.answers["answer" if answers else "notification", self.who] += 1
                return
        if not self._over:
            self.ledger.blame("waited too long", f"{self.who}: nobody takes {frame!r}")

    async def _post(self, frame: bytes, began_s: float, head_s: float = HEAD_S) -> None:
        """Post a message; what failed since the first try may be the reason of a refusal."""
        asked_s = self.ledger.now_s()
        try:
            async with exchange(
                self.port, "POST", self._path, ACCEPT, frame, head_s=head_s
            ) as response:
                body = await response.body()
        except Cut as cut:
            self.note(cut, "a POST")
            self.settle(Outcome("cut", reason="stream", says=str(cut)), began_s, asked_s)
            raise Failed from None
        if response.status == 202:
            return
        self.settle(refusal("http", response, body), began_s, asked_s)
        if response.status == 404:
            raise SessionGone
        raise Failed

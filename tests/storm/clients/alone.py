"""Client at revisions without sessions: each request stands alone, and no stream is resumed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from tests.soak.traffic.kinds import PATH
from tests.soak.traffic.peers import ACCEPT
from tests.storm.clients.client import Call, Client, Failed
from tests.storm.clients.in_session import AGAIN_S, refusal
from tests.storm.clients.wire import Cut, exchange
from tests.storm.ledger import Outcome
from tests.support.http.asgi import headers_of

__all__ = ["Alone"]


class Alone(Client):
    """Client whose requests name their revision."""

    async def begin(self) -> None:
        """Listen for changes."""
        self.spawn(self._listen())

    async def end(self) -> None:
        """Do nothing: there is no session."""

    def _post(self, frame: bytes) -> Any:
        headers = {**ACCEPT, **headers_of(self.speaker, frame)}
        return exchange(self.port, "POST", PATH, headers, frame)

    async def carry(self, call: Call, frame: bytes) -> None:
        """Post a request, and read its answer."""
        outcome = Outcome("cut", reason="no event")
        try:
            async with self._post(frame) as response:
                if not response.is_stream:
                    body = await response.body()
                    if response.status == 503 and "retry-after" not in response.headers:
                        self.ledger.blame("bare 503", f"{self.who}: {body[:200]!r}")
                    if response.status == 200 or b'"id":' in body:
                        self.heard(body, call)
                    else:
                        outcome = refusal("http", response, body)
                else:
                    async with aclosing(response.events()) as events:
                        async for event in events:
                            if event.data:
                                self.heard(event.data, call)
        except Cut as cut:
            self.note(cut, call.what)
        if not call.is_answered:
            self.settle(outcome, call.began_s)
            raise Failed

    async def tell(self, frame: bytes, *, answers: bool = False) -> None:
        """Fail: there is nothing to tell a server without a session."""
        self.ledger.blame("asked by a request", f"{self.who}: {frame!r}")

    async def _listen(self) -> None:
        """Listen to the own resource; what was missed between two streams is not owed."""
        wanted = {"notifications": {"resourceSubscriptions": self.uris}}
        while True:
            frame = self.speaker.request(next(self._ids), "subscriptions/listen", wanted)
            try:
                async with self._post(frame) as response:
                    if response.is_stream:
                        async with aclosing(response.events()) as events:
                            async for event in events:
                                if event.data:
                                    # The first message acknowledges.
                                    if self.hears_s is None:
                                        self.hears_s = self.ledger.now_s()
                                    if b'"method":' in event.data:
                                        self.heard(event.data, None)
                    else:
                        await response.body()
            except Cut:
                pass
            self.hears_s = None
            await asyncio.sleep(AGAIN_S)

"""Client of Streamable HTTP in a session: it comes back to each stream that was cut."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import aclosing
from typing import Any

import msgspec

from tests.soak.traffic.kinds import PATH
from tests.soak.traffic.peers import ACCEPT
from tests.storm.clients.client import Call, Client, Failed, SessionGone, reason_of
from tests.storm.clients.wire import HEAD_S, Cut, Response, exchange
from tests.storm.ledger import Outcome
from tests.storm.plan import LIMIT_S
from tests.support.http.asgi import Event, headers_of

__all__ = ["AGAIN_S", "TELL_HEAD_S", "InSession", "refusal"]

AGAIN_S = 0.25
NOTICED_S = 2.5
"""Seconds without a heartbeat after which a stream is resumed at another node."""
RESUME_HEAD_S = 1.5
"""Seconds until the head of a resumed stream: then the next node is asked."""
ENDS_S = 0.2
"""Seconds within which all nodes know that a session has ended."""
TELL_HEAD_S = 3.0
"""Seconds until a POST without an answer of its own is made again, at the next node."""
AUDIT_S = (10.0, 25.0)
"""Age of a stream that is read again, in seconds: a node that stood still has woken meanwhile."""


def refusal(kind: str, response: Response, body: bytes) -> Outcome:
    """Return the outcome of a request that was refused by its status."""
    code, reason = 0, ""
    try:
        error = msgspec.json.decode(body)["error"]
        code = error["code"]
        reason = reason_of(error)
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        pass
    if response.status == 503 and "retry-after" not in response.headers:
        reason = "no Retry-After"
        kind = "bare 503"
    return Outcome(kind, response.status, code, reason, body[:200].decode(errors="replace"))


class InSession(Client):
    """Client in a session, after a handshake."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._session: dict[str, str] = {}
        self._audits: deque[tuple[float, list[Event]]] = deque(maxlen=50)
        """Streams that have ended, with the time of their end."""

    # --- the session ---

    async def begin(self) -> None:
        """Do the handshake, subscribe, and open the stream of the session."""
        self._session = {}
        self._audits.clear()
        call = Call(0, "initialize", self.ledger.now_s())
        self._calls[0] = call
        await self.carry(call, self.speaker.initialize(0))
        if "result" not in call.answers[0]:
            self._refused(call, call.answers[0]["error"])
        self.ledger.answers["initialize", self.who] += 1
        await self.tell(self.speaker.initialized)
        for uri in self.uris:
            await self._insist("resources/subscribe", {"uri": uri})
        self.spawn(self._listen())

    async def _insist(self, method: str, params: dict[str, Any]) -> None:
        while True:
            try:
                await self.request(method, method, params)
            except Failed:
                await asyncio.sleep(AGAIN_S)
            else:
                return

    async def end(self) -> None:
        """End the session, and see that it has ended."""
        if not self._session:
            return
        try:
            async with exchange(self.port, "DELETE", PATH, self._headers()) as response:
                await response.body()
            if response.status == 204:
                await asyncio.sleep(ENDS_S)
                async with self._post(self.speaker.request(0, "ping")) as again:
                    await again.body()
                went_on = again.status not in (404, 502, 503, 504)
                if went_on and not self.ledger.failing("store", self.ledger.now_s() - ENDS_S):
                    self.ledger.blame("session goes on", f"{self.who}: {again.status}")
                self.ledger.checks["ended sessions"] += 1
        except Cut:
            pass
        self._session = {}

    def _headers(self, **more: str) -> dict[str, str]:
        version = self.profile.version_header
        named = {version: self.speaker.revision} if version else {}
        return {"accept": "text/event-stream", **named, **self._session, **more}

    def _post(self, frame: bytes, head_s: float = HEAD_S) -> Any:
        headers = {**ACCEPT, **headers_of(self.speaker, frame), **self._session}
        return exchange(self.port, "POST", PATH, headers, frame, head_s=head_s, silence_s=NOTICED_S)

    # --- requests ---

    async def carry(self, call: Call, frame: bytes) -> None:
        """Post a request; come back to its stream until the answer is there."""
        try:
            async with self._post(frame) as response:
                name = str(self.profile.session_header).lower()
                if call.what == "initialize" and name in response.headers:
                    self._session = {name: response.headers[name]}
                if response.status != 200:
                    self._lost(refusal("http", response, await response.body()), call)
                if not response.is_stream:
                    self.heard(await response.body(), call)
                    return
                await self._read(response, call)
        except Cut as cut:
            call.tries.append(f"POST {cut}"[:60])
            self.note(cut, call.what)
            if not call.events:
                self._lost(Outcome("cut", reason="no event", says=str(cut)), call)
        if not call.is_answered:
            await self._come_back(call)
        error = call.answers[0].get("error")
        if error is not None and reason_of(error) == "node_lost":
            self.spawn(self._read_again_later(call.events))
        else:
            self._audits.append((self.ledger.now_s(), call.events))

    def _lost(self, outcome: Outcome, call: Call) -> None:
        self.settle(outcome, call.began_s)
        if outcome.status == 404:
            raise SessionGone
        raise Failed

    async def _read(self, response: Response, call: Call) -> None:
        """Read one connection of a request's stream."""
        async with aclosing(response.events()) as events:
            async for event in events:
                if event.id is not None:
                    self._note(event, call.events)
                if event.data:
                    if call.is_answered:
                        self.ledger.blame("event after the answer", f"{self.who}: {event}")
                    self.heard(event.data, call)
        if not call.is_answered and not call.events:
            raise Cut("ended without an answer")

    def _note(self, event: Event, before: list[Event]) -> None:
        # One without data moves the place to come back to, and is no message.
        if event.data and any(one.id == event.id for one in before):
            self.ledger.blame("event doubled", f"{self.who}: {event}")
        before.append(event)

    async def _come_back(self, call: Call) -> None:
        """Resume a stream at whichever node, until it has the answer."""
        while not call.is_answered:
            if not call.events:
                self._lost(Outcome("cut", reason="no event"), call)
            self.ledger.checks["resumed streams"] += 1
            last = str(call.events[-1].id)
            try:
                async with self._resumed(last) as response:
                    call.tries.append(f"{self.ledger.now_s():.1f} s: {last}: {response.status}")
                    if response.status == 200:
                        await self._read(response, call)
                    elif response.status not in (502, 503, 504):
                        body = await response.body()
                        kind = "http" if response.status == 404 else "resume"
                        self._lost(refusal(kind, response, body), call)
            except Cut as cut:
                call.tries.append(f"{self.ledger.now_s():.1f} s: {last}: {cut}"[:60])
            if not call.is_answered:
                await asyncio.sleep(AGAIN_S)

    def _resumed(self, last: str | None) -> Any:
        more = {} if last is None else {"Last-Event-ID": last}
        headers = self._headers(**more)
        return exchange(self.port, "GET", PATH, headers, head_s=RESUME_HEAD_S, silence_s=NOTICED_S)

    async def tell(self, frame: bytes, *, answers: bool = False) -> None:
        """Post a notification or an answer, again where nobody took it."""
        began_s, is_first = self.ledger.now_s(), True
        while (now_s := self.ledger.now_s()) - began_s < LIMIT_S:
            try:
                async with self._post(frame, TELL_HEAD_S) as response:
                    body = await response.body()
            except Cut:
                is_first = False
                await asyncio.sleep(AGAIN_S)
                continue
            if response.status == 202:
                self.ledger.answers["answer" if answers else "notification", self.who] += 1
                return
            if response.status in (502, 503, 504):
                self.settle(refusal("http", response, body), began_s, now_s)
                # A node that answers too late may have taken it.
                is_first = False
                await asyncio.sleep(AGAIN_S)
                continue
            # After a lost answer to the POST, the question may be over because it was answered.
            if is_first or response.status != 400:
                kind = "answer" if response.status == 400 and answers else "http"
                self.settle(refusal(kind, response, body), began_s, now_s)
            return
        self.ledger.blame("waited too long", f"{self.who}: nobody takes {frame!r}")

    # --- the stream of the session ---

    async def _listen(self) -> None:
        last: list[Event] = []
        while True:
            try:
                async with self._resumed(str(last[-1].id) if last else None) as response:
                    if response.status == 200:
                        if self.hears_s is None:
                            self.hears_s = self.ledger.now_s()
                        async with aclosing(response.events()) as events:
                            async for event in events:
                                if event.id is not None:
                                    self._note(event, last)
                                if event.data:
                                    self.heard(event.data, None)
                    else:
                        await response.body()
                        if response.status == 404:
                            self.hears_s = None
                            return
                        if response.status == 400:
                            last.clear()
                            self.hears_s = None
            except Cut:
                pass
            if not last:
                self.hears_s = None
            await asyncio.sleep(AGAIN_S)

    # --- audits ---

    async def audit(self) -> None:
        """Read an ended stream again from its first event: it must be what it was."""
        now_s = self.ledger.now_s()
        while self._audits and now_s - self._audits[0][0] > AUDIT_S[1]:
            self._audits.popleft()
        if not self._audits or now_s - self._audits[0][0] < AUDIT_S[0]:
            return
        await self._read_again(self._audits.popleft()[1])

    async def _read_again_later(self, expected: list[Event]) -> None:
        """Read a stream again once the node that was lost has woken, if it only stood still."""
        await asyncio.sleep(AUDIT_S[0])
        await self._read_again(expected)

    async def _read_again(self, expected: list[Event]) -> None:
        if len(expected) < 2:
            return
        now_s = self.ledger.now_s()
        found: list[Event] = []
        try:
            async with asyncio.timeout(LIMIT_S), self._resumed(expected[0].id) as response:
                if response.status != 200:
                    body = await response.body()
                    if response.status not in (502, 503, 504):
                        kind = "http" if response.status == 404 else "resume"
                        self.settle(refusal(kind, response, body), now_s)
                    return
                async with aclosing(response.events()) as events:
                    async for event in events:
                        found.append(event)
        except Cut:
            return
        except TimeoutError:
            self.ledger.blame("stream goes on", f"{self.who}: {expected[0].id}")
            return
        self.ledger.checks["streams read again"] += 1
        said = [(one.id, one.data) for one in found if one.id is not None]
        if said != [(one.id, one.data) for one in expected[1:]]:
            self.ledger.blame("stream changed", f"{self.who}: {expected} became {found}")

    def acts(self) -> Any:
        """Return what the client can do at its revision."""
        return [*super().acts(), self.audit, self.audit]

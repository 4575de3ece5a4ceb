"""Surface: our HTTP client, whose server answers with fuzzed streams and JSON."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, cast

import httpx2

import mcp_wire
from mcp_gen import Client
from mcp_gen.client.session.session import ClientSession
from mcp_gen.core.errors import McpGenError, UsageError
from mcp_wire import latest
from tests.fuzz.findings import Block, Findings, shortened
from tests.fuzz.making.shapes import shapes_of
from tests.fuzz.making.streams import EVENTS, JSON, Answer, Answers, good_result
from tests.fuzz.surfaces.surface import ANSWER_S
from tests.soak.figures import live_kb
from tests.support.checks.client_watch import ClientWatch
from tests.support.checks.known_extensions import known_extensions

__all__ = ["Clients"]

URL = "http://127.0.0.1/mcp"
TIMEOUT_S = 0.15
HANDSHAKE_S = 1.0
"""Seconds for each request of a handshake, also of one that a lost session causes."""
AT_ONCE = 25
MOST_ANSWERS = 4
"""Fuzzed answers for one input; more requests of its call get good answers."""

Call = Callable[[ClientSession], Awaitable[Any]]


async def _all_tools(session: ClientSession) -> int:
    return len([tool async for tool in session.tools()])


CALLS: dict[str, tuple[Call, ...]] = {
    "tools/list": (lambda s: s.list_tools(), _all_tools),
    "tools/call": (
        lambda s: s.call_tool("echo", {"text": "x"}),
        lambda s: s.call_tool("echo", {"text": "x"}, returns=int),
    ),
    "prompts/list": (lambda s: s.list_prompts(),),
    "prompts/get": (lambda s: s.get_prompt("greet", {"name": "Ada"}),),
    "resources/list": (lambda s: s.list_resources(),),
    "resources/templates/list": (lambda s: s.list_resource_templates(),),
    "resources/read": (lambda s: s.read_resource("note://a"),),
    "completion/complete": (
        lambda s: s.complete(
            latest.PromptReference(name="greet"), latest.CompletionArgument(name="name", value="A")
        ),
    ),
    "ping": (lambda s: s.ping(),),
    "logging/setLevel": (lambda s: s.set_level("info"),),
    "resources/subscribe": (lambda s: s.subscribe("note://a"),),
    "server/discover": (lambda s: s.discover(),),
}
"""Calls by the method that they send first."""

_input: ContextVar[int | None] = ContextVar("input", default=None)
"""Input that the current call belongs to."""


class Body(httpx2.AsyncByteStream):
    """Body of a fuzzed response."""

    def __init__(self, answer: Answer, over: asyncio.Event) -> None:
        self._answer = answer
        self._over = over

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._answer.chunks:
            yield chunk
            await asyncio.sleep(0)
        if self._answer.end == "open":
            await self._over.wait()
        elif self._answer.end == "break":
            raise httpx2.ReadError("the connection is lost")


class Far(httpx2.AsyncBaseTransport):
    """The server: scripted, in this process."""

    def __init__(self, block: Block, findings: Findings) -> None:
        self._block = block
        self._findings = findings
        self._shapes = shapes_of(block.revision)
        self._pushed: asyncio.Queue[bytes] | None = None
        self._answered: Counter[int] = Counter()
        self._redirected: set[bytes] = set()
        """Messages that the client may send again, to another path."""
        self._used: set[str] = set()
        """Ids of requests to the client."""
        self._reused: set[str] = set()
        """Those of more than one request."""
        self._unclear = False
        """True if nobody knows which requests the client has read."""
        self._watch = self._new_watch()
        self.over = asyncio.Event()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        answer = self._answer(request.method, body)
        if answer is None:
            stream: Any = self._events()
            return httpx2.Response(200, headers=[(b"content-type", EVENTS.encode())], stream=stream)
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=Body(answer, self.over)
        )

    def _note_id(self, message: bytes) -> None:
        """Take note of a request's id: used twice, nobody knows which one an answer is for."""
        with suppress(ValueError):
            frame = json.loads(message)
            if isinstance(frame, dict) and "method" in frame and "id" in frame:
                id = json.dumps(frame["id"])
                (self._reused if id in self._used else self._used).add(id)

    def _answer(self, method: str, body: bytes) -> Answer | None:
        """Return the response to an HTTP request; None for a stream that stays open."""
        if method == "GET":
            if self._shapes.profile.http_transport == "sse_pair":
                return None
            return self._get()
        if method != "POST":
            return Answer(204, [])
        self._check(body)
        asked = json.loads(body)
        if "id" not in asked or "method" not in asked:
            return Answer(202, [])
        index = _input.get()
        if index is None or self._answered[index] >= MOST_ANSWERS:
            found = self._good(asked)
        else:
            self._answered[index] += 1
            random = self._block.random(index, f"answer {self._answered[index]}")
            found = Answers(self._shapes, random).answer(asked)
            if 300 <= found.status < 400:
                self._redirected.add(body)
            said = b"".join(found.chunks)
            self._findings.inputs[index] += b" <- %d %b\n" % (found.status, said)
            self._unclear = self._unclear or found.is_bent
            for message in found.messages:
                self._note_id(message)
                self._watch.saw("server", message)
        if self._pushed is None:
            return found
        self._pushed.put_nowait(b"".join(found.chunks))
        return Answer(202, [])

    def _good(self, asked: dict[str, Any]) -> Answer:
        result = good_result(self._shapes, asked["method"])
        message = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
        if self._pushed is not None:
            return Answer(200, [], [b"data: " + message + b"\n\n"])
        return Answer(200, [(b"content-type", JSON.encode())], [message])

    def _get(self) -> Answer:
        """Return the response to a GET that opens or resumes a stream."""
        index = _input.get()
        if index is None:
            return Answer(405, [])
        random = self._block.random(index, "resumed")
        if random.random() < 0.5:
            return Answer(405, [])
        answers = Answers(self._shapes, random)
        return answers.answer({"id": 1, "method": "ping"})

    async def _events(self) -> AsyncIterator[bytes]:
        """Yield the stream of the older HTTP transport."""
        self._pushed = asyncio.Queue()
        yield b"event: endpoint\ndata: /messages?session_id=1\n\n"
        while True:
            yield await self._pushed.get()

    def _new_watch(self) -> ClientWatch:
        return ClientWatch(lambda: self._block.revision, known_extensions)

    def _answers_reused(self, body: bytes) -> bool:
        """Return True for the answer to an id of several requests: it may be to any of them."""
        frame: Any = json.loads(body)
        if not isinstance(frame, dict) or "method" in frame:
            return False
        return json.dumps(cast("dict[str, Any]", frame).get("id")) in self._reused

    def _check(self, body: bytes) -> None:
        """Check a message of the client."""
        if body in self._redirected:
            return
        if b'"method":"initialize"' in body:
            # A session that was lost begins anew, and counts its ids anew.
            self._watch = self._new_watch()
        if self._answers_reused(body):
            return
        self._watch.saw("client", body)
        for one in self._watch.violations:
            if self._unclear and "answers nothing" in one:
                continue
            self._findings.add("invalid", f"{one}: {body[:300]!r}", _input.get())
        self._watch.violations.clear()


class Clients:
    """Our client; each block is a session of it."""

    async def __aenter__(self) -> Clients:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    def live_kb(self) -> int | None:
        return live_kb()

    async def run(self, block: Block, findings: Findings) -> None:
        far = Far(block, findings)
        async with httpx2.AsyncClient(transport=far, trust_env=False) as web, _client() as client:
            session = await client.connect(
                URL, revision=block.revision, http_client=web, timeout_s=HANDSHAKE_S
            )
            for indexes in _groups(block.indexes):
                await asyncio.gather(*(self._one(session, block, i, findings) for i in indexes))
            far.over.set()
            await self._probe(session, findings)

    async def _one(
        self, session: ClientSession, block: Block, index: int, findings: Findings
    ) -> None:
        """Make one call that gets fuzzed answers."""
        random = block.random(index)
        known = mcp_wire.profile(block.revision).methods
        method = random.choice([one for one in CALLS if one in known])
        call = random.choice(CALLS[method])
        findings.inputs[index] = method.encode()
        _input.set(index)
        try:
            async with asyncio.timeout(ANSWER_S):
                await call(session)
        except TimeoutError:
            findings.add("unanswered", f"{method} does not end", index)
        except UsageError as error:
            findings.add("wrong", f"{method} raised {error!r}", index)
        except McpGenError:
            pass
        except Exception as error:
            findings.add("wrong", f"{method} raised {type(error).__name__}: {error}", index)

    async def _probe(self, session: ClientSession, findings: Findings) -> None:
        """Make a call that gets a good answer; the session may have to begin anew first."""
        found: Any = None
        for _ in range(2):
            try:
                async with asyncio.timeout(ANSWER_S):
                    found = await session.call_tool("probe", {}, timeout_s=ANSWER_S)
                break
            except (McpGenError, TimeoutError) as error:
                found = error
        if "alive" not in str(found):
            what = f"the session does not work any more: {found!r}"
            findings.add("probe", shortened(what.encode()))


def _groups(indexes: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [indexes[at : at + AT_ONCE] for at in range(0, len(indexes), AT_ONCE)]


def _client() -> Client:
    async def ask(*asked: Any) -> Any:
        return latest.ElicitResult(action="decline")

    async def sample(*asked: Any) -> Any:
        content = latest.TextContent(text="said")
        return latest.CreateMessageResult(model="m", role="assistant", content=content)

    return Client(
        "fuzz",
        sampling=sample,
        elicitation=ask,
        url_elicitation=ask,
        roots=[latest.Root(uri="file:///tmp")],
        timeout_s=TIMEOUT_S,
        max_pages=5,
    )

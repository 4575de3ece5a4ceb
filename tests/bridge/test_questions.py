"""Questions of a server reach the caller through a bridge: as requests, or in results."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.compat.bridge.bridge import Bridge
from mcp_gen.compat.bridge.limits import BridgeLimits
from mcp_gen.core.errors import McpError
from mcp_gen.server.relaying.suspended_calls import CALL_GONE
from tests.bridge.behind import at_any, shop, through
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.loop import until
from tests.support.peers.asked import WAIT_S
from tests.support.peers.connect import talk, talk_to
from tests.support.peers.questions import ANSWERS, Name

KEYS = ["a secret of two processes"]


def knows(revision: str, role: str) -> bool:
    return getattr(mcp_wire.profile(revision), role) is not None


@at_any
@pytest.mark.parametrize(
    ("tool", "role", "text"),
    [
        ("ask", "elicit", "Ada"),
        ("think", "create_message", "Hello!"),
        ("look", "list_roots", "file:///home"),
    ],
)
async def test_a_question_of_the_server_is_answered_by_the_caller(
    revision: str, inside: str, tool: str, role: str, text: str
) -> None:
    async with through(shop(inside), revision, answers=ANSWERS) as client:
        if knows(revision, role) and knows(inside, role):
            assert await client.text(tool) == text
            assert len(client.questions) == 1
        else:
            refused = await client.refusal("tools/call", {"name": tool})
            assert "elicitation" in str(refused)
            assert client.questions == []


@at_any
async def test_a_client_without_elicitation_gets_the_error_of_its_revision(
    revision: str, inside: str
) -> None:
    own = shop(revision)
    async with talk(lambda: own, revision) as client:
        direct = await client.refusal("tools/call", {"name": "ask"})
    async with through(shop(inside), revision) as client:
        refused = await client.refusal("tools/call", {"name": "ask"})
        assert client.questions == []
    assert refused.code == direct.code


async def test_questions_that_come_together_are_sent_together() -> None:
    server = Server("s", revisions=[HANDSHAKE])

    @server.tool
    async def ask(ctx: Context) -> str:
        async def later() -> Any:
            # The server's own next turns, and those of two transports, lie between.
            for _ in range(20):
                await asyncio.sleep(0)
            return await ctx.list_roots()

        said, roots = await asyncio.gather(ctx.sample("one", max_tokens=1), later())
        return f"{said.model} {len(roots)}"

    options = {"limits": BridgeLimits(settle_s=0.2)}
    async with through(server, PER_REQUEST, bridge=options, answers=ANSWERS) as client:
        result = await client.begin("tools/call", {"name": "ask"}).result()
        assert sorted(one["method"] for one in result["inputRequests"].values()) == [
            "roots/list",
            "sampling/createMessage",
        ]
        again = {"name": "ask", **await client.answers_to(result)}
        answered = await client.begin("tools/call", again).result()
    assert answered["content"][0]["text"] == "m 1"


async def test_a_retry_that_is_sent_twice_gets_the_result_and_the_tool_runs_once() -> None:
    ran: list[str] = []
    server = Server("s", revisions=[HANDSHAKE])

    @server.tool
    async def ask(ctx: Context) -> str:
        await ctx.elicit("Who?", Name)
        ran.append("ran")
        return "done"

    async with through(server, PER_REQUEST, answers=ANSWERS) as client:
        result = await client.begin("tools/call", {"name": "ask"}).result()
        again = {"name": "ask", **await client.answers_to(result)}
        first = await client.begin("tools/call", again).result()
        second = await client.begin("tools/call", again).result()
    assert first["content"] == second["content"]
    assert ran == ["ran"]


async def test_a_call_whose_retry_does_not_come_is_cancelled_at_the_server() -> None:
    ended = asyncio.Event()
    server = Server("s", revisions=[HANDSHAKE])

    @server.tool
    async def ask(ctx: Context) -> str:
        try:
            await ctx.elicit("Who?", Name)
        finally:
            ended.set()
        return "never"

    options = {"limits": BridgeLimits(settle_s=0, answer_timeout_s=0.01)}
    async with through(server, PER_REQUEST, bridge=options, answers=ANSWERS) as client:
        result = await client.begin("tools/call", {"name": "ask"}).result()
        assert result["resultType"] == "input_required"
        await asyncio.wait_for(ended.wait(), WAIT_S)


async def test_the_oldest_of_too_many_open_calls_is_cancelled_and_its_retry_is_refused() -> None:
    options = {"limits": BridgeLimits(settle_s=0, max_open_calls=1)}
    async with through(shop(HANDSHAKE), PER_REQUEST, bridge=options, answers=ANSWERS) as client:
        first = await client.begin("tools/call", {"name": "ask"}).result()
        await client.begin("tools/call", {"name": "ask"}).result()
        again = {"name": "ask", **await client.answers_to(first)}
        refused = await client.refusal("tools/call", again)
    assert refused.data == {"reason": CALL_GONE}


async def test_a_retry_at_another_process_is_refused_by_name() -> None:
    # Two bridges with the same keys: each opens the state, and one has the call.
    one, other = (
        Bridge(shop(HANDSHAKE), request_state_keys=KEYS, limits=BridgeLimits(settle_s=0))
        for _ in range(2)
    )
    async with talk(lambda: one, PER_REQUEST, answers=ANSWERS) as client:
        result = await client.begin("tools/call", {"name": "ask"}).result()
        again = {"name": "ask", **await client.answers_to(result)}
    async with talk(lambda: other, PER_REQUEST, answers=ANSWERS) as client:
        refused = await client.refusal("tools/call", again)
    assert refused.data == {"reason": CALL_GONE}
    assert "make it anew" in str(refused)


async def test_the_state_of_another_principal_is_refused() -> None:
    bridge = Bridge(shop(HANDSHAKE), limits=BridgeLimits(settle_s=0))
    app = bridge.asgi()
    async with talk_to(app, PER_REQUEST, principal="ada", answers=ANSWERS) as client:
        result = await client.begin("tools/call", {"name": "ask"}).result()
        again = {"name": "ask", **await client.answers_to(result)}
        async with talk_to(app, PER_REQUEST, principal="bob", answers=ANSWERS) as thief:
            refused = await thief.refusal("tools/call", again)
        assert "no such state" in str(refused)
        answered = await client.begin("tools/call", again).result()
    assert answered["content"][0]["text"] == "Ada"
    await bridge.aclose()


# --- outside of any call ---


class Nosy:
    """A server of a revision with a handshake that asks its client outside of any call."""

    def __init__(self) -> None:
        self.server = Server("nosy", revisions=[HANDSHAKE])
        self.answers: dict[str, Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()

        @self.server.tool
        async def wake(ctx: Context) -> str:
            """Ask everything once this call has been answered."""
            session = ctx.session
            assert session is not None
            self._tasks.add(asyncio.create_task(self._ask(session.client)))
            return "soon"

    async def _ask(self, client: Any) -> None:
        for _ in range(50):
            await asyncio.sleep(0)  # until the call has been answered on both sides
        for name, asked in (
            ("ping", client.ping),
            ("roots", client.list_roots),
            ("model", lambda: client.create_message(messages=[], max_tokens=1)),
        ):
            try:
                self.answers[name] = await asked()
            except McpError as error:
                self.answers[name] = error


async def test_questions_outside_of_calls_are_refused_for_clients_without_sessions() -> None:
    nosy = Nosy()
    async with through(nosy.server, PER_REQUEST, answers=ANSWERS) as client:
        assert await client.text("wake") == "soon"
        await until(lambda: len(nosy.answers) == 3)
        assert client.questions == []
    assert not isinstance(nosy.answers["ping"], McpError)
    assert nosy.answers["roots"].roots == []
    refused = nosy.answers["model"]
    assert isinstance(refused, McpError)
    assert "ask in results only" in str(refused)


async def test_questions_outside_of_calls_reach_the_client_of_a_session() -> None:
    nosy = Nosy()
    async with through(nosy.server, mcp_wire.REVISIONS[0], answers=ANSWERS) as client:
        assert await client.text("wake") == "soon"
        await until(lambda: len(nosy.answers) == 3)
        asked = [method for method, _ in client.questions]
    assert asked == ["roots/list", "sampling/createMessage"]
    assert nosy.answers["model"].model == "m"
    assert [root.uri for root in nosy.answers["roots"].roots] == ["file:///home"]


async def test_roots_that_a_client_gave_answer_the_next_question_outside_of_calls() -> None:
    nosy = Nosy()

    @nosy.server.tool
    async def look(ctx: Context) -> str:
        return " ".join(root.uri for root in await ctx.list_roots())

    async with through(nosy.server, PER_REQUEST, answers=ANSWERS) as client:
        assert await client.text("look") == "file:///home"
        await client.text("wake")
        await until(lambda: "roots" in nosy.answers)
    assert [root.uri for root in nosy.answers["roots"].roots] == ["file:///home"]


async def test_changed_roots_are_told_to_the_server_of_a_session() -> None:
    changed = asyncio.Event()
    server = shop(HANDSHAKE)
    server.hooks.on_roots_list_changed(lambda ctx, params: changed.set())
    async with through(server, mcp_wire.REVISIONS[0], answers=ANSWERS) as client:
        client.notify("notifications/roots/list_changed")
        await asyncio.wait_for(changed.wait(), WAIT_S)


async def test_roots_of_one_call_are_not_kept_for_the_next() -> None:
    answers = {"roots/list": lambda asked: {"roots": [{"uri": "file:///home"}]}}
    async with through(shop(HANDSHAKE), PER_REQUEST, answers=answers) as client:
        for asked in (1, 2):
            assert await client.text("look") == "file:///home"
            assert len(client.questions) == asked


@pytest.mark.parametrize("revision", [mcp_wire.REVISIONS[2], PER_REQUEST])
async def test_an_answer_to_a_form_reaches_the_server_as_it_is(revision: str) -> None:
    @dataclass
    class Form:
        name: str
        colour: str = "blue"

    server, got = Server("s", revisions=[HANDSHAKE]), list[Any]()

    @server.tool
    async def ask(ctx: Context) -> str:
        await ctx.elicit("Who?", Form)
        return "asked"

    @server.hooks.outbound.after_elicit
    def keep(session: Any, params: Any, result: Any) -> None:
        got.append(result.content)

    answers = {"elicitation/create": lambda asked: {"action": "accept", "content": {"name": "A"}}}
    async with through(server, revision, answers=answers) as client:
        await client.text("ask")
    assert got == [{"name": "A"}]

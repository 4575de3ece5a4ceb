"""Input requests of a remote server are forwarded to the calling client, in all combinations."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, Context, Server
from mcp_gen.core.errors import UrlElicitation, UrlElicitationRequired
from tests.server.mounting.gateway import at_two, gateway, weather
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle
from tests.support.loop import until
from tests.support.peers.asked import SILENCE, WAIT_S, Refused
from tests.support.peers.connect import talk
from tests.support.peers.questions import ANSWERS
from tests.support.peers.scripted import MemoryPeer, opening

INTERNAL, INVALID_REQUEST = -32603, -32600
both_lifecycles = pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])


def knows(revision: str, *, role: str) -> bool:
    return getattr(mcp_wire.profile(revision), role) is not None


@at_two
@pytest.mark.parametrize(
    ("tool", "role", "text"),
    [
        ("far_ask", "elicit", "Ada"),
        ("far_think", "create_message", "Hello!"),
        ("far_look", "list_roots", "file:///home"),
    ],
)
async def test_a_question_is_asked_of_the_caller(
    revision: str, inside: str, tool: str, role: str, text: str
) -> None:
    async with (
        gateway(weather(), inside) as server,
        talk(lambda: server, revision, answers=ANSWERS) as client,
    ):
        if knows(revision, role=role) and knows(inside, role=role):
            assert await client.text(tool) == text
            assert len(client.questions) == 1
        else:
            refused = await client.refusal("tools/call", {"name": tool})
            assert "elicitation" in str(refused)
            assert client.questions == []


@each_lifecycle
@both_lifecycles
async def test_several_questions_in_turn_and_at_once_are_answered(
    revision: str, inside: str
) -> None:
    inner = Server("inner")

    @inner.tool
    async def ask(ctx: Context) -> str:
        first = await ctx.sample("one", max_tokens=1)
        roots, second = await ctx.ask_all(ctx.list_roots(), ctx.sample("two", max_tokens=1))
        return f"{first.model} {len(roots)} {second.model}"

    async with (
        gateway(inner, inside) as server,
        talk(lambda: server, revision, answers=ANSWERS) as client,
    ):
        assert await client.text("far_ask") == "m 1 m"
        methods = [method for method, _ in client.questions]
    assert sorted(methods) == ["roots/list", "sampling/createMessage", "sampling/createMessage"]


@each_lifecycle
@both_lifecycles
async def test_prompts_and_resources_ask_too(revision: str, inside: str) -> None:
    inner = Server("inner")

    @inner.prompt
    async def hello(ctx: Context) -> str:
        return (await ctx.sample("who?", max_tokens=1)).model

    @inner.resource("model:///name")
    async def name(ctx: Context) -> str:
        return (await ctx.sample("who?", max_tokens=1)).model

    async with (
        gateway(inner, inside) as server,
        talk(lambda: server, revision, answers=ANSWERS) as client,
    ):
        got = await client.request("prompts/get", {"name": "far_hello"})
        assert got["messages"][0]["content"]["text"] == "m"
        read = await client.request("resources/read", {"uri": "model:///name"})
        assert read["contents"][0]["text"] == "m"


@each_lifecycle
@both_lifecycles
async def test_what_the_user_declines_is_declined(revision: str, inside: str) -> None:
    answers = {**ANSWERS, "elicitation/create": lambda asked: {"action": "decline"}}
    async with (
        gateway(weather(), inside) as server,
        talk(lambda: server, revision, answers=answers) as client,
    ):
        assert await client.text("far_ask") == "decline"


@both_lifecycles
async def test_an_error_of_the_client_is_the_servers_to_see(inside: str) -> None:
    def refuse(asked: Any) -> Any:
        raise Refused(-1, "the user said no")

    answers = {**ANSWERS, "sampling/createMessage": refuse}
    async with (
        gateway(weather(), inside) as server,
        talk(lambda: server, HANDSHAKE, answers=answers) as client,
    ):
        refused = await client.refusal("tools/call", {"name": "far_think"})
    assert refused.error == {"code": -1, "message": "the user said no"}


@each_lifecycle
@both_lifecycles
async def test_a_caller_that_declares_nothing_is_not_asked(revision: str, inside: str) -> None:
    async with gateway(weather(), inside) as server, talk(lambda: server, revision) as client:
        for tool, capability in (
            ("far_ask", "elicitation"),
            ("far_think", "sampling"),
            ("far_look", "roots"),
        ):
            assert capability in str(await client.refusal("tools/call", {"name": tool}))
        assert client.questions == []


@each_lifecycle
@both_lifecycles
async def test_a_client_with_handlers_of_its_own_answers_itself(revision: str, inside: str) -> None:
    answers = {"roots": ["file:///gateway"]}
    async with (
        gateway(weather(), inside, forward_requests=False, **answers) as server,
        talk(lambda: server, revision, answers=ANSWERS) as client,
    ):
        assert await client.text("far_look") == "file:///gateway"
        assert "elicitation" in str(await client.refusal("tools/call", {"name": "far_ask"}))
        assert client.questions == []


@both_lifecycles
async def test_what_its_client_has_handlers_for_the_caller_is_not_asked(inside: str) -> None:
    async with (
        gateway(weather(), HANDSHAKE, roots=["file:///gateway"]) as server,
        talk(lambda: server, inside, answers=ANSWERS) as client,
    ):
        assert await client.text("far_look") == "file:///gateway"
        assert await client.text("far_think") == "Hello!"
        assert len(client.questions) == 1


@each_lifecycle
async def test_with_calls_of_several_clients_open_nobody_is_asked_for_another(
    revision: str,
) -> None:
    """The connection does not identify the call of a server request."""
    inner, both = weather(), asyncio.Event()
    waiting = 0

    @inner.tool
    async def later(ctx: Context) -> str:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            both.set()
        await asyncio.wait_for(both.wait(), WAIT_S)
        return (await ctx.sample("who?", max_tokens=1)).model

    async with (
        gateway(inner, HANDSHAKE) as server,
        talk(lambda: server, revision, answers=ANSWERS) as one,
        talk(lambda: server, revision, answers=ANSWERS) as other,
    ):
        said = await asyncio.gather(
            one.request("tools/call", {"name": "far_later"}),
            other.request("tools/call", {"name": "far_later"}),
            return_exceptions=True,
        )
        # A client whose call is the only open one can be asked again.
        assert [str(one) for one in said if "several clients" in str(one)]
        assert await one.text("far_think") == "Hello!"


@both_lifecycles
async def test_many_calls_of_one_client_may_ask_at_once(inside: str) -> None:
    async with (
        gateway(weather(), inside) as server,
        talk(lambda: server, HANDSHAKE, answers=ANSWERS) as client,
    ):
        texts = await asyncio.gather(*(client.text("far_think") for _ in range(20)))
    assert texts == ["Hello!"] * 20


async def test_calls_of_several_clients_may_ask_at_once_where_results_ask() -> None:
    async with gateway(weather(), PER_REQUEST) as server:

        async def ask(number: int) -> str:
            named = {"action": "accept", "content": {"name": f"client {number}"}}
            answers = {"elicitation/create": lambda asked: named}
            async with talk(lambda: server, HANDSHAKE, answers=answers) as client:
                return await client.text("far_ask")

        said = await asyncio.gather(*(ask(number) for number in range(10)))
    assert said == [f"client {number}" for number in range(10)]


async def test_a_call_that_waits_for_answers_is_given_up_in_time() -> None:
    inner, ended = Server("inner"), asyncio.Event()

    @inner.tool
    async def ask(ctx: Context) -> str:
        try:
            return (await ctx.sample("who?", max_tokens=1)).model
        finally:
            ended.set()

    async with gateway(inner, HANDSHAKE) as server:
        server.runtime.request_states.ttl_s = 0.01
        async with talk(lambda: server, PER_REQUEST, answers=ANSWERS) as client:
            result = await client.begin("tools/call", {"name": "far_ask"}).result()
            assert result["resultType"] == "input_required"
            await asyncio.wait_for(ended.wait(), WAIT_S)


async def test_a_retry_that_is_sent_twice_gets_its_result_twice_and_the_tool_runs_once() -> None:
    inner, answered = Server("inner"), list[str]()

    @inner.tool
    async def ask(ctx: Context) -> str:
        answered.append((await ctx.sample("who?", max_tokens=1)).model)
        return "done"

    async with (
        gateway(inner, HANDSHAKE) as server,
        talk(lambda: server, PER_REQUEST, answers=ANSWERS) as client,
    ):
        params = {"name": "far_ask"}
        result = await client.begin("tools/call", params).result()
        again = {**params, **await client.answers_to(result)}
        first, second = client.begin("tools/call", again), client.begin("tools/call", again)
        third = await client.begin("tools/call", again).result()
        assert await first.result() == await second.result() == third
        assert len(answered) == 1


async def test_a_retry_whose_call_is_not_open_any_more_is_refused_by_name() -> None:
    async with (
        gateway(weather(), HANDSHAKE) as server,
        talk(lambda: server, PER_REQUEST, answers=ANSWERS) as client,
    ):
        params = {"name": "far_think"}
        result = await client.begin("tools/call", params).result()
        again = {**params, **await client.answers_to(result)}
        server.mounts[0].unmounted()
        with pytest.raises(Refused, match="not open any more: make it anew"):
            await client.begin("tools/call", again).result()


async def test_a_call_that_is_cancelled_between_its_rounds_is_cancelled_inside() -> None:
    inner, ended, asked_again = Server("inner"), asyncio.Event(), asyncio.Event()

    @inner.tool
    async def ask(ctx: Context) -> str:
        await ctx.sample("who?", max_tokens=1)
        try:
            asked_again.set()
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async with (
        gateway(inner, HANDSHAKE) as server,
        talk(lambda: server, PER_REQUEST, answers=ANSWERS) as client,
    ):
        result = await client.begin("tools/call", {"name": "far_ask"}).result()
        second = client.begin("tools/call", {"name": "far_ask", **await client.answers_to(result)})
        await asyncio.wait_for(asked_again.wait(), WAIT_S)
        client.cancel(second)
        await asyncio.wait_for(ended.wait(), WAIT_S)


async def test_a_question_that_the_server_takes_back_is_taken_back_from_the_caller() -> None:
    inner, asked = Server("inner"), asyncio.Event()

    @inner.tool
    async def ask(ctx: Context) -> str:
        asking = asyncio.ensure_future(ctx.sample("who?", max_tokens=1))
        await asyncio.wait_for(asked.wait(), WAIT_S)
        asking.cancel()
        return "never mind"

    async def think(params: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    answers = {**ANSWERS, "sampling/createMessage": think}
    async with (
        gateway(inner, HANDSHAKE) as server,
        talk(lambda: server, HANDSHAKE, answers=answers) as client,
    ):
        assert await client.text("far_ask") == "never mind"
        assert await client.hears("notifications/cancelled")


async def test_pages_that_an_error_asks_for_are_asked_for_in_a_result() -> None:
    inner, been = Server("inner"), []

    @inner.tool
    async def pay(ctx: Context) -> str:
        if not been:
            raise UrlElicitationRequired([UrlElicitation("Sign", "https://example.org/sign")])
        return "paid"

    def go(asked: dict[str, Any]) -> dict[str, Any]:
        been.append(asked["url"])
        return {"action": "accept"}

    answers = {**ANSWERS, "elicitation/create": go}
    async with (
        gateway(inner, HANDSHAKE) as server,
        talk(lambda: server, PER_REQUEST, answers=answers) as client,
    ):
        assert await client.text("far_pay") == "paid"
    assert been == ["https://example.org/sign"]


async def test_that_a_page_is_done_with_is_told_to_the_one_who_was_sent_there() -> None:
    inner = Server("inner")

    @inner.tool
    async def pay(ctx: Context) -> str:
        await ctx.elicit_url("Sign", "https://example.org/sign", elicitation_id="e1")
        await ctx.elicitation_complete("e1")
        return "paid"

    answers = {**ANSWERS, "elicitation/create": lambda asked: {"action": "accept"}}
    async with (
        gateway(inner, HANDSHAKE) as server,
        talk(lambda: server, HANDSHAKE, answers=answers) as client,
        talk(lambda: server, HANDSHAKE, answers=answers) as other,
    ):
        assert await client.text("far_pay") == "paid"
        (told,) = await client.hears("notifications/elicitation/complete")
        await other.settled()
        assert other.params_of("notifications/elicitation/complete") == []
    assert told["elicitationId"] == "e1"


def test_handlers_that_are_given_later_go_before_the_caller() -> None:
    client = Client("gateway", forward_requests=True)

    @client.sampling
    async def think(session: Any, params: Any) -> Any: ...

    assert client._offer.forwards == {"elicitation", "roots"}


@pytest.mark.parametrize("given", ["elicitation", "url_elicitation"])
def test_handlers_that_are_given_first_stay(given: str) -> None:
    async def answer(session: Any, params: Any) -> Any: ...

    options: dict[str, Any] = {given: answer}
    client = Client("gateway", forward_requests=True, **options)
    assert client._offer.forwards == {"sampling", "roots"}


class Impatient(MemoryPeer):
    """Server that sends a request, and answers the call without waiting."""

    def __init__(self) -> None:
        super().__init__(opening(HANDSHAKE))

    def receive(self, message: bytes) -> None:
        super().receive(message)
        frame = msgspec.json.decode(message)
        if frame.get("method") == "tools/call":
            params = {"messages": [], "maxTokens": 1}
            asked = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"}
            self.say(msgspec.json.encode({**asked, "params": params}))
        elif frame.get("method") == "ping":
            call = next(one for one in self.asked if one.get("method") == "tools/call")
            self.answer(call["id"], {"content": []})
            self.answer(frame["id"], {})


@each_lifecycle
async def test_a_question_whose_call_is_over_is_answered_with_an_error(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    far, server = Impatient(), Server("outer")
    never = {**ANSWERS, "sampling/createMessage": lambda asked: SILENCE}
    async with Client("gateway", forward_requests=True) as between:
        session = await between.connect(await far.start(), revision=HANDSHAKE)
        server.mount("far", session)
        async with talk(lambda: server, revision, answers=never) as client:
            asked = client.begin("tools/call", {"name": "far_x"})
            if client.profile.asks_client == "server_request":
                await client.asks()
                await session.ping()
                assert (await asked.result())["content"] == []
            else:
                assert (await asked.result())["resultType"] == "input_required"
                await session.ping()
            await until(lambda: any(one.get("id") == 1 and "error" in one for one in far.asked))
        server.unmount("far")
    (answer,) = (one for one in far.asked if one.get("id") == 1 and "error" in one)
    assert "is over" in answer["error"]["message"]
    assert "failed" not in caplog.text


class Curious(MemoryPeer):
    """Server that sends a request before it answers a completion."""

    def __init__(self) -> None:
        opened = opening(HANDSHAKE)["initialize"](None)
        result = {**opened, "capabilities": {"prompts": {}, "completions": {}}}
        report = {"name": "report", "arguments": [{"name": "city"}]}
        answers = {"initialize": result, "prompts/list": {"prompts": [report]}}
        super().__init__({method: lambda _, one=one: one for method, one in answers.items()})

    def receive(self, message: bytes) -> None:
        super().receive(message)
        frame = msgspec.json.decode(message)
        if frame.get("method") == "completion/complete":
            self._asked = frame["id"]
            params = {"messages": [], "maxTokens": 1}
            asked = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"}
            self.say(msgspec.json.encode({**asked, "params": params}))
        elif frame.get("id") == 1 and "error" in frame:
            self.answer(self._asked, {"completion": {"values": [frame["error"]["message"]]}})


@each_lifecycle
async def test_in_a_request_that_allows_no_questions_the_caller_is_not_asked(revision: str) -> None:
    far, server = Curious(), Server("outer")
    async with Client("gateway", forward_requests=True) as between:
        session = await between.connect(await far.start(), revision=HANDSHAKE)
        server.mount("far", session)
        async with talk(lambda: server, revision, answers=ANSWERS) as client:
            argument = {"name": "city", "value": "O"}
            ref = {"type": "ref/prompt", "name": "far_report"}
            params = {"ref": ref, "argument": argument}
            done = await client.request("completion/complete", params)
            assert client.questions == []
        server.unmount("far")
    assert done["completion"]["values"] == ["the client cannot be asked anything in this request"]
    assert (await far.answer_to(1))["error"]["code"] == INVALID_REQUEST

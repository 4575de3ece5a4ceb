"""Multi round-trip requests (`input_required`): the client repeats its request with the answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from mcp_gen import (
    Client,
    ClientSession,
    InputRefused,
    InvalidParams,
    ProtocolError,
    UrlElicitation,
)
from mcp_gen.types import CreateMessageResult, TextContent
from tests.client.using import in_results, live, using
from tests.support.frames import PER_REQUEST
from tests.support.peers.asked import WAIT_S
from tests.support.peers.scripted import MemoryPeer, opening

if TYPE_CHECKING:
    from mcp_wire.hook_types import CallToolParams, CallToolResults

FORM = {
    "method": "elicitation/create",
    "params": {
        "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
GO = {
    "method": "elicitation/create",
    "params": {"mode": "url", "message": "Go", "url": "https://example.org"},
}
SAMPLE = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "a"}}],
        "maxTokens": 9,
    },
}
ROOTS = {"method": "roots/list"}
DONE = {"resultType": "complete", "content": [{"type": "text", "text": "done"}]}


def asks(state: str | None = None, **questions: Any) -> dict[str, Any]:
    result: dict[str, Any] = {"resultType": "input_required"}
    if questions:
        result["inputRequests"] = questions
    if state is not None:
        result["requestState"] = state
    return result


class Rounds:
    """Server that answers `tools/call` with these results in order."""

    def __init__(self, *results: Any) -> None:
        left = list(results)
        self.server = MemoryPeer(
            {
                **opening(PER_REQUEST),
                "tools/call": lambda params: left.pop(0) if len(left) > 1 else left[0],
                "tools/list": lambda params: {
                    "resultType": "complete",
                    "tools": [],
                    "ttlMs": 0,
                    "cacheScope": "private",
                },
            }
        )

    @property
    def calls(self) -> list[Any]:
        return [one for one in self.server.asked if one.get("method") == "tools/call"]

    def sent(self, number: int) -> dict[str, Any]:
        """Return the params of a call, without `_meta`."""
        return {key: one for key, one in self.calls[number]["params"].items() if key != "_meta"}


def able(**more: Any) -> Client:
    return Client(
        "able",
        elicitation=lambda session, params: {"name": "Ada"},
        sampling=lambda session, params: CreateMessageResult(
            role="assistant", content=TextContent(text="b"), model="m"
        ),
        roots=["file:///a"],
        **more,
    )


async def outcome(rounds: Rounds, client: Client, **options: Any) -> Any:
    async with using(client, await rounds.server.start(), PER_REQUEST) as session:
        return await session.call_tool("t", {"x": 1}, **options)


@live
async def test_where_servers_send_requests_a_result_that_asks_is_refused_at_any_result_types(
    revision: str,
) -> None:
    server = MemoryPeer({**opening(revision), "tools/call": lambda params: asks("s 1")})
    newest = {"result_revision": PER_REQUEST}
    async with using(able(), await server.start(), revision, **newest) as session:
        with pytest.raises(ProtocolError, match="answered with InputRequiredResult, unasked for"):
            await session.call_tool("t")


async def test_the_answers_go_back_by_their_keys_with_the_state_and_the_params() -> None:
    rounds = Rounds(asks("s 1", who=FORM, what=SAMPLE, where=ROOTS), DONE)
    result = await outcome(rounds, able())
    assert result.content[0].text == "done"
    assert rounds.sent(0) == {"name": "t", "arguments": {"x": 1}}
    assert rounds.sent(1) == {
        "name": "t",
        "arguments": {"x": 1},
        "requestState": "s 1",
        "inputResponses": {
            "who": {"action": "accept", "content": {"name": "Ada"}},
            "what": {
                "role": "assistant",
                "content": {"type": "text", "text": "b"},
                "model": "m",
            },
            "where": {"roots": [{"uri": "file:///a"}]},
        },
    }


async def test_every_round_has_an_id_of_its_own() -> None:
    rounds = Rounds(asks("1", who=FORM), asks("2", who=FORM), DONE)
    await outcome(rounds, able())
    assert len({call["id"] for call in rounds.calls}) == 3


async def test_a_state_is_sent_once_and_none_where_there_is_none() -> None:
    rounds = Rounds(asks("1", who=FORM), asks(who=FORM), asks("", who=FORM), DONE)
    await outcome(rounds, able())
    assert [rounds.sent(n).get("requestState") for n in range(4)] == [None, "1", None, ""]


async def test_neither_state_nor_answers_leak_into_other_requests() -> None:
    rounds = Rounds(asks("1", who=FORM), DONE, DONE)
    async with using(able(), await rounds.server.start(), PER_REQUEST) as session:
        await session.call_tool("t")
        await session.call_tool("t")
        await session.list_tools()
    assert rounds.sent(2) == {"name": "t"}
    listed = await rounds.server.heard("tools/list")
    assert listed["params"].keys() == {"_meta"}


async def test_a_server_that_asks_nothing_is_asked_again() -> None:
    rounds = Rounds(asks("busy"), DONE)
    await outcome(rounds, Client("c"))
    assert rounds.sent(1) == {"name": "t", "arguments": {"x": 1}, "requestState": "busy"}


async def test_a_progress_callback_hears_of_every_round_under_a_token_of_its_own() -> None:
    rounds = Rounds(asks("1", who=FORM), DONE)
    await outcome(rounds, able(), progress=lambda done, total, message: None)
    tokens = [call["params"]["_meta"]["progressToken"] for call in rounds.calls]
    assert tokens == [call["id"] for call in rounds.calls]


async def test_a_server_that_asks_for_ever_is_asked_no_more() -> None:
    rounds = Rounds(asks("1", who=FORM))
    with pytest.raises(ProtocolError, match="tools/call: the server asked 4 times"):
        await outcome(rounds, able(max_rounds=4))
    assert len(rounds.calls) == 5


async def test_a_result_that_asks_for_nothing_and_has_no_state_is_none() -> None:
    with pytest.raises(ProtocolError, match="says nothing to add"):
        await outcome(Rounds(asks()), able())


@pytest.mark.parametrize("question", [FORM, SAMPLE, ROOTS], ids=["form", "sample", "roots"])
async def test_a_question_that_was_not_declared_is_an_error(question: Any) -> None:
    with pytest.raises(ProtocolError, match=f"{question['method']}, which was not declared"):
        await outcome(Rounds(asks(it=question)), Client("c"))


async def test_a_way_of_asking_that_was_not_declared_is_an_error() -> None:
    with pytest.raises(InvalidParams, match="sends its user to no pages"):
        await outcome(Rounds(asks(it=GO)), able())


async def test_tools_for_a_model_that_takes_none_are_an_error() -> None:
    tools = {**SAMPLE, "params": {**SAMPLE["params"], "tools": []}}  # type: ignore[dict-item]
    with pytest.raises(InvalidParams, match=r"sampling\.tools"):
        await outcome(Rounds(asks(it=tools)), able())


async def test_where_one_answer_fails_the_others_are_not_waited_for() -> None:
    ended = asyncio.Event()

    async def slow(session: ClientSession, params: Any) -> dict[str, Any]:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    client = Client("c", elicitation=slow, sampling=lambda session, params: None)
    with pytest.raises(InputRefused):
        await outcome(Rounds(asks(a=FORM, b=SAMPLE)), client)
    assert ended.is_set()


async def test_a_call_is_cancelled_while_its_questions_are_answered() -> None:
    began = asyncio.Event()

    async def slow(session: ClientSession, params: Any) -> dict[str, Any]:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError

    rounds = Rounds(asks(a=FORM))
    async with using(
        Client("c", elicitation=slow), await rounds.server.start(), PER_REQUEST
    ) as session:
        call = asyncio.create_task(session.call_tool("t"))
        async with asyncio.timeout(WAIT_S):
            await began.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert len(rounds.calls) == 1


async def test_hooks_run_for_every_round_and_every_question() -> None:
    client = able()
    told: list[str] = []

    @client.hooks.outbound.before_call_tool
    def before(session: ClientSession, params: CallToolParams) -> None:
        told.append("call")

    @client.hooks.outbound.after_call_tool
    def after(session: ClientSession, params: CallToolParams, result: CallToolResults) -> None:
        told.append(type(result).__name__)

    @client.hooks.before_elicit
    def asked(session: ClientSession, params: Any) -> None:
        told.append("elicit")

    await outcome(Rounds(asks("1", who=FORM), DONE), client)
    assert told == ["call", "InputRequiredResult", "elicit", "call", "CallToolResult"]


@in_results
async def test_a_page_in_a_result_is_gone_to(revision: str) -> None:
    pages: list[UrlElicitation] = []

    def go(session: ClientSession, page: UrlElicitation) -> Any:
        pages.append(page)
        return "accept"

    rounds = Rounds(asks(it=GO), DONE)
    await outcome(rounds, Client("c", url_elicitation=go))
    assert pages == [UrlElicitation("Go", "https://example.org")]
    assert rounds.sent(1)["inputResponses"] == {"it": {"action": "accept"}}

"""Returned input requests: a handler returns `InputRequiredResult`, and runs again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mcp_gen import Context, Server
from mcp_gen.types import (
    ElicitationSchema,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    StringSchema,
)
from tests.support.peers.answering import Asked, accept, answering, asks, in_results, live


@dataclass
class Name:
    name: str


def form(message: str) -> ElicitRequest:
    schema = ElicitationSchema(properties={"name": StringSchema()}, required=["name"])
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def give(asked: Asked) -> Any:
    if asked.method == "roots/list":
        return {"roots": [{"uri": "file:///a"}]}
    return accept(name=asked.message.upper())


def stepping() -> Server:
    """Return a server whose tool asks in two steps, each with a state of its own."""
    server = Server("stepping")

    @server.tool
    async def step(ctx: Context, greeting: str = "hello") -> InputRequiredResult | str:
        responses = ctx.input_responses
        if responses is None:
            assert (ctx.round, ctx.request_state) == (1, None)
            questions = {"who": form("a"), "where": ListRootsRequest()}
            return InputRequiredResult(input_requests=questions, request_state="first")
        if ctx.request_state == "first":
            who, where = responses["who"], responses["where"]
            assert isinstance(who, ElicitResult)
            assert isinstance(where, ListRootsResult)
            assert who.content
            state = f"{greeting} {who.content['name']} in {where.roots[0].uri}"
            return InputRequiredResult(input_requests={"again": form("b")}, request_state=state)
        assert list(responses) == ["again"]
        return f"{ctx.request_state}, {responses['again'].content['name']}, {ctx.round}"

    return server


@asks
async def test_a_returned_question_is_answered_and_the_handler_run_again(revision: str) -> None:
    async with answering(stepping(), revision, give) as client:
        assert await client.text("step", greeting="hi") == "hi A in file:///a, B, 3"
    assert sorted(one.method for one in client.asked) == [
        "elicitation/create",
        "elicitation/create",
        "roots/list",
    ]


@in_results
async def test_a_handlers_own_state_is_protected_too(revision: str) -> None:
    async with answering(stepping(), revision, give) as client:
        first = await client.once("tools/call", {"name": "step"})
        more = client.answered(first)
        refused = await client.once("tools/call", {"name": "step", **more, "requestState": "first"})
    assert first["requestState"] != "first"
    assert refused["code"] == -32602


@in_results
async def test_the_keys_are_the_handlers_own(revision: str) -> None:
    async with answering(stepping(), revision, give) as client:
        await client.text("step")
    assert [sorted(one) for one in client.rounds] == [["where", "who"], ["again"]]


@live
async def test_returned_questions_are_asked_all_at_once(revision: str) -> None:
    async with answering(stepping(), revision, give) as client:
        call = client.send("tools/call", {"name": "step"})
        both = [await client.client.next(), await client.client.next()]
        for frame in reversed(both):
            client.answer(frame)
        done = await client.finished(call)
    assert done["content"][0]["text"].startswith("hello A in file:///a")


@asks
async def test_a_state_without_questions_comes_back_at_once(revision: str) -> None:
    server = Server("busy")

    @server.tool
    async def busy(ctx: Context) -> InputRequiredResult | str:
        if ctx.request_state is None:
            return InputRequiredResult(request_state="later")
        return f"{ctx.request_state} {ctx.round}"

    async with answering(server, revision, give) as client:
        assert await client.text("busy") == "later 2"


@asks
async def test_a_handler_that_only_returns_questions_comes_to_an_end(revision: str) -> None:
    server = Server("endless", max_rounds=3)
    runs: list[int] = []

    @server.tool
    async def endless(ctx: Context) -> InputRequiredResult:
        runs.append(ctx.round)
        return InputRequiredResult(input_requests={"k": form("a")})

    async with answering(server, revision, give) as client:
        answer = await client.call("endless")
    assert runs == [1, 2, 3]
    assert answer["message"].startswith("no end after 3 rounds of questions")


@asks
async def test_both_styles_go_together(revision: str) -> None:
    server = Server("both")

    @server.tool
    async def both(ctx: Context) -> InputRequiredResult | str:
        first = await ctx.elicit("a", Name)
        if ctx.input_responses is None:
            return InputRequiredResult(input_requests={"k": form("b")}, request_state="s")
        last = await ctx.elicit("c", Name)
        plain = ctx.input_responses["k"].content["name"]
        return f"{first.action} {plain} {last.action} {ctx.request_state}"

    async with answering(server, revision, give) as client:
        assert await client.text("both") == "accept B accept s"
    assert [one.message for one in client.asked] == ["a", "b", "c"]


@asks
async def test_once_lasts_over_returned_questions(revision: str) -> None:
    server = Server("careful")
    made: list[int] = []

    @server.tool
    async def careful(ctx: Context) -> InputRequiredResult | str:
        await ctx.once("n", lambda: made.append(1))
        if ctx.input_responses is None:
            return InputRequiredResult(input_requests={"k": form("a")})
        return str(len(made))

    async with answering(server, revision, give) as client:
        assert await client.text("careful") == "1"


@in_results
async def test_an_answer_that_did_not_come_is_missing(revision: str) -> None:
    server = Server("patient")

    @server.tool
    async def patient(ctx: Context) -> InputRequiredResult | str:
        if not ctx.input_responses:
            return InputRequiredResult(input_requests={"k": form("a")})
        return ",".join(ctx.input_responses)

    async with answering(server, revision, give) as client:
        first = await client.once("tools/call", {"name": "patient"})
        more = client.answered(first)
        more["inputResponses"] = {"elsewhere": accept(name="Eve")}
        again = await client.once("tools/call", {"name": "patient", **more})
        more = client.answered(again)
        more["inputResponses"]["elsewhere"] = accept(name="Eve")
        done = await client.once("tools/call", {"name": "patient", **more})
    assert again["resultType"] == "input_required"
    assert done["content"][0]["text"] == "k"


@live
async def test_a_client_that_refuses_a_returned_question_gets_its_own_error(revision: str) -> None:
    async with answering(stepping(), revision, lambda asked: RuntimeError("no")) as client:
        answer = await client.call("step")
    assert answer == {"code": -1, "message": "no"}


@asks
async def test_a_hook_of_the_handler_sees_one_result(revision: str) -> None:
    server = stepping()
    seen: list[str] = []

    @server.hooks.after_call_tool
    async def after(ctx: Context, params: Any, result: Any) -> None:
        seen.append(type(result).__name__)

    async with answering(server, revision, give) as client:
        await client.text("step")
    in_result = ["InputRequiredResult"] * len(client.rounds)
    assert seen == [*in_result, "CallToolResult"]


@asks
@pytest.mark.parametrize("capabilities", [{"elicitation": {}}, {"roots": {}}, {}], ids=repr)
async def test_no_returned_question_is_sent_where_the_client_cannot_answer_one_of_them(
    revision: str, capabilities: dict[str, Any]
) -> None:
    async with answering(stepping(), revision, give, capabilities=capabilities) as client:
        answer = await client.call("step")
    missing = "roots" if "elicitation" in capabilities else "elicitation"
    assert answer["data"] == {"requiredCapabilities": {missing: {}}}
    assert client.asked == []

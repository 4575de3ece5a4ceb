"""Input requests: one handler body asks the client at every revision, by either mechanism."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

import pytest

import mcp_wire
from mcp_gen import Accepted, Context, Server, UsageError
from mcp_gen.compat.frame_check import FrameChecker
from mcp_gen.types import TextContent
from tests.support.frames import every_revision
from tests.support.peers.answering import (
    ASKS,
    IN_RESULTS,
    Answers,
    Asked,
    accept,
    answering,
    asks,
    in_results,
    live,
)
from tests.support.peers.raw import WAIT_S

INVALID_PARAMS = -32602


@dataclass
class Name:
    name: str


@dataclass
class Colour:
    colour: Literal["red", "blue"]


def introducing() -> Server:
    """Return a server with one tool that makes two input requests."""
    server = Server("introducing")

    @server.tool
    async def introduce(ctx: Context) -> str:
        first = await ctx.elicit("What is your name?", Name)
        if not isinstance(first, Accepted):
            return f"nobody: {first.action}"
        name = first.content.name
        second = await ctx.elicit(f"Which colour, {name}?", Colour)
        if not isinstance(second, Accepted):
            return f"{name}, colourless: {second.action}"
        return f"{name} in {second.content.colour}"

    return server


def in_turn(*given: Any) -> Answers:
    """Return the user's answers, one after the other."""
    left = iter(given)
    return lambda asked: next(left)


NAME_SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
COLOUR_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
}

# --- One body, one transcript ---


@asks
@pytest.mark.parametrize(
    ("given", "questions", "text"),
    [
        (
            [accept(name="Ada"), accept(colour="red")],
            [("What is your name?", NAME_SCHEMA), ("Which colour, Ada?", COLOUR_SCHEMA)],
            "Ada in red",
        ),
        ([{"action": "decline"}], [("What is your name?", NAME_SCHEMA)], "nobody: decline"),
        (
            [accept(name="Ada"), {"action": "cancel"}],
            [("What is your name?", NAME_SCHEMA), ("Which colour, Ada?", COLOUR_SCHEMA)],
            "Ada, colourless: cancel",
        ),
    ],
    ids=["two rounds", "declined", "cancelled"],
)
async def test_the_same_body_has_the_same_conversation_at_every_revision(
    revision: str, given: list[Any], questions: list[Any], text: str
) -> None:
    async with answering(introducing(), revision, in_turn(*given)) as client:
        assert await client.text("introduce") == text
    assert [(one.message, one.params["requestedSchema"]) for one in client.asked] == questions


@in_results
async def test_a_tampered_state_is_an_error_and_nothing_is_run(revision: str) -> None:
    async with answering(introducing(), revision, in_turn(accept(name="Ada"))) as client:
        params = {"name": "introduce", "arguments": {}}
        first = await client.once("tools/call", params)
        more = client.answered(first)
        more["requestState"] += "-TAMPERED"
        refused = await client.once("tools/call", {**params, **more})
    assert refused["code"] == INVALID_PARAMS
    assert refused["message"].endswith("- at `$.requestState`")


@in_results
async def test_each_round_has_one_question_and_another_state(revision: str) -> None:
    given = in_turn(accept(name="Ada"), accept(colour="red"))
    async with answering(introducing(), revision, given) as client:
        await client.text("introduce")
    assert [len(one) for one in client.rounds] == [1, 1]
    assert len(set(client.states)) == 2


# --- other input requests ---


@every_revision
async def test_a_model_is_asked_at_every_revision(revision: str) -> None:
    server = Server("sampling")

    @server.tool
    async def capital(ctx: Context) -> str:
        said = await ctx.sample("Capital of France?", max_tokens=5, system_prompt="Be short.")
        assert isinstance(said.content, TextContent)
        return f"{said.model}: {said.content.text}"

    def model(asked: Asked) -> Any:
        assert asked.method == "sampling/createMessage"
        assert asked.params == {
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "Capital of France?"}}
            ],
            "maxTokens": 5,
            "systemPrompt": "Be short.",
        }
        return {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}

    async with answering(server, revision, model) as client:
        assert await client.text("capital") == "m: Paris"


@every_revision
async def test_roots_are_asked_for_at_every_revision(revision: str) -> None:
    server = Server("rooted")

    @server.tool
    async def where(ctx: Context) -> list[str]:
        return [root.uri for root in await ctx.list_roots()]

    def roots(asked: Asked) -> Any:
        assert asked == Asked("roots/list", {})
        return {"roots": [{"uri": "file:///a"}]}

    async with answering(server, revision, roots) as client:
        assert (await client.call("where"))["content"][0]["text"] == "file:///a"


def everything(asked: Asked) -> Any:
    """Return an answer to any input request."""
    if asked.method == "roots/list":
        return {"roots": [{"uri": "file:///a"}]}
    if asked.method == "sampling/createMessage":
        return {"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}
    return accept(name="Ada")


@asks
async def test_all_questions_at_once_are_answered_in_their_order(revision: str) -> None:
    server = Server("curious")

    @server.tool
    async def all_of_it(ctx: Context) -> str:
        name, said, roots = await ctx.ask_all(
            ctx.elicit("Name?", Name), ctx.sample("Hello", max_tokens=9), ctx.list_roots()
        )
        assert isinstance(name, Accepted)
        return f"{name.content.name} {said.model} {len(roots)}"

    async with answering(server, revision, everything) as client:
        assert await client.text("all_of_it") == "Ada m 1"
    assert len(client.asked) == 3


@in_results
async def test_all_questions_at_once_are_one_round(revision: str) -> None:
    server = Server("curious")

    @server.tool
    async def all_of_it(ctx: Context) -> int:
        await ctx.ask_all(ctx.elicit("Name?", Name), ctx.list_roots(), ctx.elicit("Again?", Name))
        return ctx.round

    async with answering(server, revision, everything) as client:
        assert await client.text("all_of_it") == "2"
    assert [len(one) for one in client.rounds] == [3]


@live
async def test_where_one_of_all_questions_fails_the_client_is_told_to_drop_the_others(
    revision: str,
) -> None:
    server = Server("curious")

    @server.tool
    async def both(ctx: Context) -> str:
        try:
            await ctx.ask_all(ctx.elicit("Slow?", Name), ctx.list_roots())
        except Exception as error:
            return str(error)
        return "no error"

    async with answering(server, revision, everything) as client:
        call = client.send("tools/call", {"name": "both", "arguments": {}})
        slow, roots = await client.client.next(), await client.client.next()
        client.answers = lambda asked: RuntimeError("not today")
        client.answer(roots)
        done = await client.finished(call)
    assert done["content"][0]["text"] == "not today (-1)"
    assert [one["params"]["requestId"] for one in client.told] == [slow["id"]]


# --- Keys ---


@asks
async def test_questions_that_read_alike_are_told_apart_by_their_order(revision: str) -> None:
    server = Server("twice")

    @server.tool
    async def twice(ctx: Context) -> str:
        first = await ctx.elicit("Name?", Name)
        second = await ctx.elicit("Name?", Name)
        assert isinstance(first, Accepted)
        assert isinstance(second, Accepted)
        return f"{first.content.name} {second.content.name}"

    async with answering(server, revision, in_turn(accept(name="A"), accept(name="B"))) as client:
        assert await client.text("twice") == "A B"


@asks
async def test_a_key_finds_the_answer_though_the_question_reads_differently(revision: str) -> None:
    server = Server("keyed")
    asked: list[int] = []

    @server.tool
    async def keyed(ctx: Context) -> str:
        asked.append(0)
        answer = await ctx.elicit(f"Attempt {len(asked)}: name?", Name, key="name")
        assert isinstance(answer, Accepted)
        return answer.content.name

    async with answering(server, revision, in_turn(accept(name="A"))) as client:
        assert await client.text("keyed") == "A"


@in_results
async def test_keys_are_public(revision: str) -> None:
    server = Server("keyed")

    @server.tool
    async def keyed(ctx: Context) -> str:
        return (await ctx.elicit("Name?", Name, key="user_name")).action

    async with answering(server, revision, in_turn(accept(name="A"))) as client:
        await client.text("keyed")
    assert list(client.rounds[0]) == ["user_name"]


@asks
async def test_two_questions_of_one_key_have_one_answer(revision: str) -> None:
    server = Server("keyed")

    @server.tool
    async def keyed(ctx: Context) -> bool:
        first = await ctx.elicit("Name?", Name, key="k")
        return first == await ctx.elicit("Name?", Name, key="k")

    async with answering(server, revision, in_turn(accept(name="A"))) as client:
        assert await client.text("keyed") == "true"


@asks
async def test_two_different_questions_cannot_have_one_key(revision: str) -> None:
    server = Server("keyed")

    @server.tool
    async def keyed(ctx: Context) -> str:
        await ctx.elicit("Name?", Name, key="k")
        await ctx.elicit("Colour?", Colour, key="k")
        return "never"

    async with answering(server, revision, in_turn(accept(name="A"))) as client:
        answer = await client.call("keyed")
    assert answer["isError"]
    assert answer["content"][0]["text"] == "two questions have the key 'k'; give each its own"


# --- invalid answers ---


@live
async def test_an_answer_that_does_not_fit_is_an_error_in_the_handler(revision: str) -> None:
    async with answering(introducing(), revision, in_turn(accept(name=5))) as client:
        answer = await client.call("introduce")
    assert answer["isError"]
    assert answer["content"][0]["text"] == (
        "the client's answer does not fit the form: Expected `str`, got `int` - at `$.name`"
    )


@in_results
@pytest.mark.parametrize(
    "wrong", [accept(name=5), accept(), {"action": "accept"}, {"roots": []}], ids=repr
)
async def test_an_answer_that_does_not_fit_is_asked_for_again(revision: str, wrong: Any) -> None:
    given = in_turn(wrong, accept(name="Ada"), {"action": "decline"})
    async with answering(introducing(), revision, given) as client:
        assert await client.text("introduce") == "Ada, colourless: decline"
    assert [one.message for one in client.asked][:2] == ["What is your name?"] * 2


@in_results
async def test_a_missing_answer_is_asked_for_again_and_unknown_ones_are_ignored(
    revision: str,
) -> None:
    params = {"name": "introduce", "arguments": {}}
    async with answering(introducing(), revision, in_turn(accept(name="Ada"))) as client:
        first = await client.once("tools/call", params)
        more = client.answered(first)
        more["inputResponses"] = {"elsewhere": accept(name="Eve")}
        again = await client.once("tools/call", {**params, **more})
    assert again["resultType"] == "input_required"
    assert again["inputRequests"] == first["inputRequests"]


@in_results
@pytest.mark.parametrize("responses", [12345, {"k": 12345}, {"k": None}], ids=repr)
async def test_responses_that_are_none_at_all_are_refused(revision: str, responses: Any) -> None:
    params = {"name": "introduce", "arguments": {}, "inputResponses": responses}
    async with answering(introducing(), revision, in_turn()) as client:
        refused = await client.once("tools/call", params)
    assert refused["code"] == INVALID_PARAMS


@in_results
async def test_answers_without_a_state_are_found_by_their_keys(revision: str) -> None:
    server = Server("keyed")

    @server.tool
    async def keyed(ctx: Context) -> str:
        answer = await ctx.elicit("Name?", Name, key="user_name")
        return f"{answer.action} in round {ctx.round}"

    params = {"name": "keyed", "inputResponses": {"user_name": accept(name="Ada"), "x": accept()}}
    async with answering(server, revision, in_turn()) as client:
        answer = await client.once("tools/call", params)
    assert answer["content"][0]["text"] == "accept in round 2"


# --- limit of rounds ---


@asks
async def test_questions_without_an_end_are_an_error(revision: str) -> None:
    server = Server("endless", max_rounds=3)
    runs: list[int] = []

    @server.tool
    async def endless(ctx: Context) -> str:
        runs.append(ctx.round)
        return (await ctx.elicit(f"Question {len(runs)}?", Name)).action

    async with answering(server, revision, lambda asked: accept(name="A")) as client:
        answer = await client.call("endless")
    if revision in IN_RESULTS:
        assert runs == [1, 2, 3]
        assert "no end after 3 rounds of questions" in answer["message"]
    else:
        assert answer["content"][0]["text"] == "accept"


@live
async def test_a_cancelled_tool_takes_its_question_back(revision: str) -> None:
    async with answering(introducing(), revision, in_turn()) as client:
        call = client.send("tools/call", {"name": "introduce", "arguments": {}})
        question = await client.client.next()
        client.client.send(client.speaker.cancel(call))
        told = await client.client.next()
    assert told["method"] == "notifications/cancelled"
    assert told["params"]["requestId"] == question["id"]


@live
async def test_a_question_that_nobody_waits_for_is_taken_back_before_the_answer(
    revision: str,
) -> None:
    server = Server("leaving")
    seen: list[type] = []
    children: list[asyncio.Task[None]] = []

    @server.tool
    async def leave(ctx: Context) -> str:
        async def child() -> None:
            try:
                await ctx.elicit("Name?", Name)
            except BaseException as error:
                seen.append(type(error))

        children.append(asyncio.create_task(child()))
        await asyncio.sleep(0.001)
        return "done"

    async with answering(server, revision, in_turn()) as client:
        call = client.send("tools/call", {"name": "leave"})
        question = await client.client.next()
        done = await client.finished(call)
    assert done["content"][0]["text"] == "done"
    assert [one["params"]["requestId"] for one in client.told] == [question["id"]]
    assert seen == [asyncio.CancelledError]


@live
async def test_an_answer_that_takes_too_long_is_an_error(revision: str) -> None:
    server = Server("impatient")

    @server.tool
    async def impatient(ctx: Context) -> str:
        return (await ctx.elicit("Name?", Name, timeout_s=0.01)).action

    async with answering(server, revision, in_turn()) as client:
        call = client.send("tools/call", {"name": "impatient", "arguments": {}})
        question = await client.client.next()
        answer = await client.finished(call)
    assert answer["content"][0]["text"] == "elicitation/create: no answer in 0.01 s"
    assert client.told[0]["params"]["requestId"] == question["id"]


@asks
async def test_asking_after_the_handler_has_returned_is_an_error(revision: str) -> None:
    server = Server("late")
    asked: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()

    @server.tool
    async def late(ctx: Context) -> str:
        async def later() -> None:
            await asyncio.sleep(0)
            try:
                await ctx.elicit("Name?", Name)
            except BaseException as error:
                asked.set_result(error)

        tasks.append(asyncio.create_task(later()))
        return "done"

    tasks: list[asyncio.Task[None]] = []
    async with answering(server, revision, in_turn()) as client:
        assert await client.text("late") == "done"
        error = await asyncio.wait_for(asked, WAIT_S)
    assert "only until they return" in str(error)


@every_revision
async def test_a_hook_cannot_ask(revision: str) -> None:
    server = introducing()
    said: list[str] = []

    @server.hooks.before_call_tool
    async def ask(ctx: Context, params: Any) -> None:
        try:
            await ctx.elicit("Name?", Name)
        except Exception as error:
            said.append(str(error))

    async with answering(server, revision, lambda asked: {"action": "decline"}) as client:
        await client.call("introduce")
    assert said
    assert said[0].startswith("the client can be asked in tools, prompts and resources only")


# --- Hooks ---


@in_results
async def test_hooks_run_in_every_round_and_questions_are_a_success(revision: str) -> None:
    server = introducing()
    seen: list[str] = []

    @server.hooks.before_call_tool
    async def before(ctx: Context, params: Any) -> None:
        seen.append("before")

    @server.hooks.after_call_tool
    async def after(ctx: Context, params: Any, result: Any) -> None:
        seen.append(type(result).__name__)

    @server.hooks.on_error
    async def on_error(ctx: Context, method: str, params: Any, error: BaseException) -> None:
        seen.append("error")

    given = in_turn(accept(name="Ada"), accept(colour="red"))
    async with answering(server, revision, given) as client:
        assert await client.text("introduce") == "Ada in red"
    assert seen == [
        *("before", "InputRequiredResult"),
        *("before", "InputRequiredResult"),
        *("before", "CallToolResult"),
    ]


@live
async def test_outbound_hooks_see_what_is_asked(revision: str) -> None:
    server = introducing()
    seen: list[Any] = []

    @server.hooks.outbound.before_elicit
    async def before(ctx: Any, params: Any) -> None:
        seen.append((type(ctx).__name__, params.message))

    async with answering(server, revision, lambda asked: {"action": "decline"}) as client:
        await client.text("introduce")
    assert seen == [("Context", "What is your name?")]


# --- Roots are remembered ---


@pytest.mark.parametrize("told", [True, False])
async def test_roots_are_kept_until_they_change(told: bool) -> None:
    server = Server("rooted")

    @server.tool
    async def where(ctx: Context) -> str:
        return (await ctx.list_roots())[0].uri

    given = in_turn({"roots": [{"uri": "file:///a"}]}, {"roots": [{"uri": "file:///b"}]})
    async with answering(server, ASKS[0], given) as client:
        assert await client.text("where") == "file:///a"
        if told:
            client.client.send(b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}')
        assert await client.text("where") == ("file:///b" if told else "file:///a")


async def test_roots_that_are_kept_are_not_for_a_handler_that_has_returned() -> None:
    server = Server("rooted")
    contexts: list[Context] = []

    @server.tool
    async def where(ctx: Context) -> str:
        contexts.append(ctx)
        return (await ctx.list_roots())[0].uri

    given = in_turn({"roots": [{"uri": "file:///a"}]})
    async with answering(server, ASKS[0], given) as client:
        assert await client.text("where") == "file:///a"
        with pytest.raises(UsageError, match="only until they return"):
            await contexts[0].list_roots()


async def test_roots_that_change_while_they_are_asked_for_are_not_kept() -> None:
    server = Server("rooted")

    @server.tool
    async def where(ctx: Context) -> str:
        first = (await ctx.list_roots())[0].uri
        return f"{first} {(await ctx.list_roots())[0].uri}"

    given = in_turn({"roots": [{"uri": "file:///a"}]}, {"roots": [{"uri": "file:///b"}]})
    async with answering(server, ASKS[0], given) as client:
        call = client.send("tools/call", {"name": "where"})
        question = await client.client.next()
        client.client.send(b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}')
        client.answer(question)
        done = await client.finished(call)
    assert done["content"][0]["text"] == "file:///a file:///b"


async def test_roots_are_asked_for_each_time_where_the_client_will_not_tell_of_changes() -> None:
    server = Server("rooted")

    @server.tool
    async def where(ctx: Context) -> str:
        return (await ctx.list_roots())[0].uri

    given = in_turn({"roots": [{"uri": "file:///a"}]}, {"roots": [{"uri": "file:///b"}]})
    async with answering(server, ASKS[0], given, capabilities={"roots": {}}) as client:
        assert await client.text("where") == "file:///a"
        assert await client.text("where") == "file:///b"


@in_results
async def test_roots_are_asked_for_once_per_request_where_there_is_no_session(
    revision: str,
) -> None:
    server = Server("rooted")

    @server.tool
    async def where(ctx: Context) -> bool:
        return await ctx.list_roots() == await ctx.list_roots()

    async with answering(server, revision, everything) as client:
        assert await client.text("where") == "true"
        assert await client.text("where") == "true"
    assert len(client.asked) == 2


# --- once ---


@asks
async def test_once_is_done_once_though_the_handler_runs_again(revision: str) -> None:
    server = Server("careful")
    made: list[int] = []

    @server.tool
    async def careful(ctx: Context) -> str:
        def make() -> int:
            made.append(7)
            return len(made)

        number = await ctx.once("number", make)
        await ctx.elicit("Name?", Name)
        await ctx.elicit("Name, once more?", Name)
        return str(number)

    async with answering(server, revision, lambda asked: accept(name="A")) as client:
        assert await client.text("careful") == "1"
    assert made == [7]


@in_results
async def test_what_once_has_made_stays_on_the_server(revision: str) -> None:
    server = Server("careful")

    @server.tool
    async def careful(ctx: Context) -> str:
        secret = await ctx.once("secret", lambda: "s3cr3t-value")
        await ctx.elicit("Name?", Name)
        return secret

    async with answering(server, revision, lambda asked: accept(name="A")) as client:
        assert await client.text("careful") == "s3cr3t-value"
    assert len(server.runtime.once_store) == 1
    assert all("s3cr3t" not in str(state) for state in client.states)


@asks
async def test_once_waits_for_what_another_task_is_making(revision: str) -> None:
    server = Server("careful")
    made: list[int] = []

    @server.tool
    async def careful(ctx: Context) -> str:
        async def make() -> int:
            await asyncio.sleep(0)
            made.append(0)
            return len(made)

        one, other = await asyncio.gather(ctx.once("n", make), ctx.once("n", make))
        return f"{one} {other}"

    async with answering(server, revision, everything) as client:
        assert await client.text("careful") == "1 1"


def test_the_checker_of_these_tests_knows_what_a_question_must_be() -> None:
    checker = FrameChecker(mcp_wire.profile(IN_RESULTS[0]))
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{}}}'
    assert checker.check(asked, "client") == []
    bad = (
        b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":'
        b'{"k":{"method":"roots/list","elicitationId":"x"}}}}'
    )
    assert checker.check(bad, "server") != []

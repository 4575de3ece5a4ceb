"""Spec tests of multi round-trip requests (`input_required`)."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from mcp_gen import Accepted, Context, InvalidParams, Server
from mcp_gen.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListRootsRequest,
)
from tests.support.peers.asked import Answer
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

INVALID_PARAMS = InvalidParams.code
KINDS = {"elicitation/create", "sampling/createMessage", "roots/list"}
RED = {"action": "accept", "content": {"colour": "red"}}
BLUE = {"action": "accept", "content": {"colour": "blue"}}
ANSWERS: dict[str, Answer] = {
    "elicitation/create": lambda params: RED,
    "sampling/createMessage": lambda params: {
        "role": "assistant",
        "content": {"type": "text", "text": "hello"},
        "model": "m",
    },
    "roots/list": lambda params: {"roots": []},
}


@dataclass
class Choice:
    colour: Literal["red", "blue"]


def asking(**options: Any) -> Server:
    """Return a server with input requests in tools, prompt and resource, also where none may be."""
    server = Server("asking", **options)
    running = {"handlers": 0, "runs": 0}

    @server.tool
    async def choose(ctx: Context, why: str = "") -> str:
        """Make two input requests to the user."""
        running["runs"] += 1
        running["handlers"] += 1
        try:
            await ctx.once("began", lambda: why)
            first = await ctx.elicit("Which colour?", Choice)
            second = await ctx.elicit("And now?", Choice)
        finally:
            running["handlers"] -= 1
        return f"{coloured(first)} {coloured(second)}"

    @server.tool
    async def choose_at_once(ctx: Context) -> str:
        """Make the same input request twice, at once."""
        first, second = await ctx.ask_all(
            ctx.elicit("Which colour?", Choice), ctx.elicit("Which colour?", Choice)
        )
        return f"{coloured(first)} {coloured(second)}"

    @server.tool
    async def visit(ctx: Context) -> str:
        """Make a URL elicitation."""
        return (await ctx.elicit_url("Sign here", "https://example.org/sign")).action

    @server.tool
    async def sample(ctx: Context) -> str:
        """Make a sampling request."""
        return (await ctx.sample("Hi", max_tokens=10)).model

    @server.tool
    async def folders(ctx: Context) -> str:
        """Request the roots."""
        return str(len(await ctx.list_roots()))

    @server.tool
    async def plainly(ctx: Context, kind: Literal["form", "roots", "nothing"]) -> Any:
        """Return the input requests."""
        if ctx.round > 1:
            return f"round {ctx.round}"
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
        form = ElicitRequestFormParams(message="Which?", requested_schema=schema)
        asked: Any = {"form": {"k": ElicitRequest(params=form)}, "roots": {"k": ListRootsRequest()}}
        return InputRequiredResult(input_requests=asked.get(kind))

    @server.tool
    async def left() -> str:
        """Return the number of running `choose` handlers and of tasks."""
        return f"{running['handlers']} handlers, {len(asyncio.all_tasks())} tasks"

    @server.tool
    async def runs() -> str:
        """Return the number of runs of `choose`."""
        return str(running["runs"])

    @server.prompt
    async def introduce(ctx: Context) -> str:
        """A prompt with an input request."""
        return coloured(await ctx.elicit("Which colour?", Choice))

    @server.resource("test://chosen")
    async def chosen(ctx: Context) -> str:
        """A resource with an input request."""
        return coloured(await ctx.elicit("Which colour?", Choice))

    @server.prompt
    async def complete_me(name: str) -> str:
        """A prompt with an argument."""
        return name

    @server.completion("complete_me", "name")
    async def names(ctx: Context, value: str) -> list[str]:
        await ctx.elicit("Which name?", Choice)
        return ["never"]

    @server.hooks.before_list_tools
    async def ask_before(ctx: Context, params: Any) -> None:
        await ctx.elicit("May I?", Choice)

    return server


def coloured(answer: Any) -> str:
    return answer.content.colour if isinstance(answer, Accepted) else str(answer.action)


CHOOSE: dict[str, Any] = {"name": "choose", "arguments": {"why": "because"}}
AT_ONCE: dict[str, Any] = {"name": "choose_at_once", "arguments": {}}


async def begun(client: Conversation, params: dict[str, Any]) -> dict[str, Any]:
    """Return the input requests of a call's first round."""
    asked = await client.begin("tools/call", params).result()
    assert asked["resultType"] == "input_required"
    return asked


async def runs(client: Conversation) -> int:
    """Return the number of runs of `choose`."""
    return int(await client.text("runs"))


async def state_refused(client: Conversation, state: Any, given: dict[str, Any]) -> None:
    """Check that a call with this state is an error, and runs nothing."""
    before = await runs(client)
    refused = await client.refusal("tools/call", {**CHOOSE, **given, "requestState": state})
    assert refused.code == INVALID_PARAMS, state
    assert await runs(client) == before


# --- input requests ---


@requirement("mrtr:requests")
async def test_only_tools_prompts_and_resources_are_answered_with_questions(
    connect: Connect,
) -> None:
    may: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", CHOOSE),
        ("prompts/get", {"name": "introduce"}),
        ("resources/read", {"uri": "test://chosen"}),
    ]
    may_not: list[tuple[str, dict[str, Any]]] = [
        ("tools/list", {}),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "complete_me"},
                "argument": {"name": "name", "value": ""},
            },
        ),
    ]
    async with connect(asking, answers=ANSWERS) as client:
        for method, params in may:
            asked = await client.begin(method, params).result()
            assert asked["resultType"] == "input_required", method
            assert (await client.request(method, params))["resultType"] == "complete"
        client.questions.clear()
        for method, params in may_not:
            await client.refusal(method, params)
        for method in ("prompts/list", "resources/list", "server/discover"):
            assert (await client.begin(method).result())["resultType"] == "complete"
    assert client.questions == []


@requirement("mrtr:keys-unique")
async def test_questions_that_are_alike_have_different_keys(connect: Connect) -> None:
    async with connect(asking, answers=ANSWERS) as client:
        asked = (await begun(client, AT_ONCE))["inputRequests"]
    assert len(asked) == 2
    first, second = asked.values()
    assert first == second


@requirement("mrtr:kinds")
async def test_a_question_is_of_one_of_three_kinds(connect: Connect) -> None:
    async with connect(asking, answers=ANSWERS) as client:
        for tool in ("choose", "visit", "sample", "folders"):
            await client.call(tool)
    results = [one["result"] for one in client.frames if "result" in one]
    asked = [one for each in results for one in each.get("inputRequests", {}).values()]
    assert {one["method"] for one in asked} == KINDS
    assert not any(one.keys() & {"id", "jsonrpc"} for one in asked)
    assert not any("id" in one and "method" in one for one in client.frames)


@requirement("mrtr:not-empty")
async def test_a_result_that_asks_has_questions_or_a_state(connect: Connect) -> None:
    async with connect(asking, answers=ANSWERS) as client:
        for kind in ("form", "nothing"):
            params = {"name": "plainly", "arguments": {"kind": kind}}
            asked = await begun(client, params)
            assert asked.get("inputRequests") or asked.get("requestState")
            assert await client.text("plainly", kind=kind) == "round 2"
        asked = await begun(client, CHOOSE)
        assert asked["inputRequests"]
        assert asked["requestState"]


@requirement("mrtr:declared-only")
async def test_nothing_is_asked_that_the_client_has_not_declared(connect: Connect) -> None:
    calls: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
        "a form": ("choose", {}, {"elicitation": {}}),
        "a page": ("visit", {}, {"elicitation": {"url": {}}}),
        "a model": ("sample", {}, {"sampling": {}}),
        "roots": ("folders", {}, {"roots": {}}),
        "a form, plainly": ("plainly", {"kind": "form"}, {"elicitation": {}}),
        "roots, plainly": ("plainly", {"kind": "roots"}, {"roots": {}}),
    }
    async with connect(asking, answers=ANSWERS) as client:
        for what, (tool, arguments, needed) in calls.items():
            params = {"name": tool, "arguments": arguments}
            others = [one for _, _, one in calls.values() if one.keys() != needed.keys()]
            for client.capabilities in [{}, *others]:
                refused = await client.refusal("tools/call", params)
                assert refused.code == client.profile.errors.missing_required_client_capability
                assert refused.data["requiredCapabilities"].keys() == needed.keys(), what
            client.capabilities = needed
            assert await begun(client, params)
    assert client.questions == []


# --- the state ---


@requirement("mrtr:state:integrity")
async def test_a_state_that_was_changed_is_refused_and_nothing_is_run(connect: Connect) -> None:
    async with connect(asking, answers=ANSWERS) as client:
        asked = await begun(client, CHOOSE)
        given = await client.answers_to(asked)
        good = given.pop("requestState")
        for at in (0, 1, 20, len(good) // 2, -2, -1):
            bad = [*good]
            bad[at] = "A" if bad[at] != "A" else "B"
            await state_refused(client, "".join(bad), given)
        for text in (good[:-1], good + "A", good + "=", good + good, good.swapcase(), " " + good):
            await state_refused(client, text, given)
        again = {**CHOOSE, **given, "requestState": good}
        assert (await client.begin("tools/call", again).result())["resultType"] == "input_required"


@requirement("mrtr:state:untrusted")
async def test_a_state_that_was_never_made_here_is_refused(connect: Connect) -> None:
    forged = base64.urlsafe_b64encode(b'{"round":9,"expires":99999999999}').rstrip(b"=").decode()
    async with connect(asking, answers=ANSWERS) as client:
        given = await client.answers_to(await begun(client, CHOOSE))
        del given["requestState"]
        states: list[Any] = ["", "s", "e", "x", forged, f"s{forged}", f"s{forged}.", f"s{forged}.A"]
        states += [f"e{forged}", "s.", "\x00", "é", "s" * 100_000, 5, {}, [], True]
        for state in states:
            await state_refused(client, state, given)


@requirement("mrtr:state:bound")
async def test_a_state_is_good_for_its_own_request_alone(connect: Connect) -> None:
    others: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {"name": "choose", "arguments": {"why": "another"}}),
        ("tools/call", {"name": "choose"}),
        ("tools/call", {"name": "sample", "arguments": {"why": "because"}}),
        ("tools/call", {"name": "left", "arguments": {}}),
        ("prompts/get", {"name": "choose", "arguments": {"why": "because"}}),
        ("prompts/get", {"name": "introduce"}),
        ("resources/read", {"uri": "test://chosen"}),
    ]
    async with connect(asking, answers=ANSWERS) as client:
        given = await client.answers_to(await begun(client, CHOOSE))
        for method, params in others:
            refused = await client.refusal(method, {**params, **given})
            assert refused.code == INVALID_PARAMS, (method, params)
        assert (await client.begin("tools/call", {**CHOOSE, **given}).result())["inputRequests"]


@requirement("mrtr:state:expires")
async def test_a_state_that_is_too_old_is_refused(connect: Connect) -> None:
    # The request state has expired when it is created.
    async with connect(partial(asking, request_state_ttl_s=1e-9), answers=ANSWERS) as client:
        given = await client.answers_to(await begun(client, CHOOSE))
        await state_refused(client, given.pop("requestState"), given)


@requirement("mrtr:abandoned")
async def test_a_client_that_never_answers_leaves_nothing_behind(connect: Connect) -> None:
    async with connect(asking, answers=ANSWERS) as client:
        before = await client.text("left")
        for _ in range(20):
            await begun(client, CHOOSE)
            await begun(client, AT_ONCE)
        after = await client.text("left")
    assert after == before
    assert before.startswith("0 handlers")


# --- the answers ---


@requirement("mrtr:responses:invalid")
async def test_answers_that_are_not_what_was_asked_for_never_complete_a_request(
    connect: Connect,
) -> None:
    wrong: list[Any] = [
        *(5, None, "red", [], {}, {"action": "maybe"}, {"content": {"colour": "red"}}),
        *({"action": "accept"}, {"action": "accept", "content": {"colour": "mauve"}}),
        *({"roots": []}, ANSWERS["sampling/createMessage"]({})),
    ]
    async with connect(asking, answers=ANSWERS) as client:
        asked = await begun(client, AT_ONCE)
        responses: list[Any] = [5, "red", [RED, RED], [*asked["inputRequests"]]]
        responses += [dict.fromkeys(asked["inputRequests"], one) for one in wrong]
        for each in responses:
            given = {"inputResponses": each, "requestState": asked["requestState"]}
            answer = await client.begin("tools/call", {**AT_ONCE, **given}).answer
            code = answer.get("error", {}).get("code")
            again = answer.get("result", {}).get("inputRequests")
            assert code == INVALID_PARAMS or again == asked["inputRequests"], each


@requirement("mrtr:responses:extra")
async def test_answers_that_nobody_asked_for_are_ignored(connect: Connect) -> None:
    async with connect(asking, answers=ANSWERS) as client:
        given = await client.answers_to(await begun(client, AT_ONCE))
        given["inputResponses"] |= {"elsewhere": BLUE, "": {"roots": []}}
        result = await client.begin("tools/call", {**AT_ONCE, **given}).result()
    assert result["content"] == [{"type": "text", "text": "red red"}]


@requirement("mrtr:responses:missing")
async def test_an_answer_that_is_missing_is_asked_for_again(connect: Connect) -> None:
    async with connect(asking, answers=ANSWERS) as client:
        asked = await begun(client, AT_ONCE)
        (one, _), (other, question) = asked["inputRequests"].items()
        for responses in ({one: BLUE}, {}):
            given = {"inputResponses": responses, "requestState": asked["requestState"]}
            asked = await begun(client, {**AT_ONCE, **given})
            assert asked["inputRequests"] == {other: question}
        given = {"inputResponses": {other: RED}, "requestState": asked["requestState"]}
        result = await client.begin("tools/call", {**AT_ONCE, **given}).result()
    assert result["content"] == [{"type": "text", "text": "blue red"}]

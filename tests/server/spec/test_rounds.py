"""Questions in results: what a server asks so, and what it makes of the answers."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen import Server
from tests.server.spec.servers import asking
from tests.support.asked import Refused
from tests.support.connect import Connect
from tests.support.conversation import Conversation
from tests.support.requirement import requirement

BLUE = {"action": "accept", "content": {"colour": "blue"}}
CHOOSE = {"name": "choose"}


def able(connect: Connect, **options: Any) -> Any:
    """A client that can be asked everything."""
    answers = {
        "elicitation/create": lambda _: BLUE,
        "sampling/createMessage": lambda _: {},
        "roots/list": lambda _: {"roots": []},
    }
    return connect(asking, answers=answers, **options)


async def asked(client: Conversation, **params: Any) -> dict[str, Any]:
    """One round of a call."""
    return await client.begin("tools/call", params).result()


async def code(client: Conversation, method: str, params: dict[str, Any]) -> int:
    """How one round is refused; 0 if it is not."""
    try:
        await client.begin(method, params).result()
    except Refused as refused:
        return refused.code
    return 0


# --- what is asked ---


@requirement("mrtr:requests")
async def test_only_tools_prompts_and_resources_are_answered_with_questions(
    connect: Connect,
) -> None:
    requests: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", CHOOSE),
        ("prompts/get", {"name": "introduce"}),
        ("resources/read", {"uri": "test://chosen"}),
        ("tools/list", {}),
        ("prompts/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("server/discover", {}),
    ]
    kinds = {}
    async with able(connect) as client:
        for method, params in requests:
            kinds[method] = (await client.begin(method, params).result())["resultType"]
    asking_ones = {method for method, kind in kinds.items() if kind == "input_required"}
    assert asking_ones == {"tools/call", "prompts/get", "resources/read"}


@requirement("mrtr:keys-unique")
async def test_two_questions_that_are_alike_are_two(connect: Connect) -> None:
    async with able(connect) as client:
        result = await asked(client, name="choose_at_once")
        assert len(result["inputRequests"]) == 2
        assert await client.text("choose_at_once") == "accept accept"


@requirement("mrtr:kinds")
async def test_each_question_is_of_one_of_three_kinds(connect: Connect) -> None:
    kinds = []
    async with able(connect) as client:
        for tool in ("choose", "visit", "sample", "folders"):
            result = await asked(client, name=tool)
            kinds += [one["method"] for one in result["inputRequests"].values()]
    elicitation = "elicitation/create"
    assert kinds == [elicitation, elicitation, "sampling/createMessage", "roots/list"]


@requirement("mrtr:not-empty")
async def test_a_result_that_asks_has_questions_or_a_state(connect: Connect) -> None:
    async with able(connect) as client:
        for tool in ("choose", "choose_twice", "choose_at_once", "visit", "sample", "folders"):
            result = await asked(client, name=tool)
            assert result.get("inputRequests") or result.get("requestState")


@requirement("mrtr:declared-only")
async def test_nothing_is_asked_that_the_client_cannot_answer(connect: Connect) -> None:
    for capabilities, tools in (
        ({}, ["choose", "visit", "sample", "folders"]),
        ({"elicitation": {}}, ["visit", "sample", "folders"]),
        ({"elicitation": {"url": {}}}, ["choose", "sample", "folders"]),
        ({"sampling": {}}, ["choose", "visit", "folders"]),
        ({"roots": {}}, ["choose", "visit", "sample"]),
    ):
        async with connect(asking, capabilities=capabilities) as client:
            codes = {await code(client, "tools/call", {"name": tool}) for tool in tools}
        assert codes == {-32021}


# --- the state ---


@requirement("mrtr:state:integrity")
async def test_a_state_that_was_changed_is_refused(connect: Connect) -> None:
    async with able(connect) as client:
        first = await asked(client, **CHOOSE)
        given = await client.answers_to(first)
        state = given["requestState"]
        middle = len(state) // 2
        changed = [
            state + "x",
            state[:-1],
            state[1:],
            state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :],
            state.swapcase(),
            state + "=",
        ]
        for other in changed:
            params = {**CHOOSE, **given, "requestState": other}
            assert await code(client, "tools/call", params) == -32602
        result = await asked(client, **CHOOSE, **given)
    assert result["content"][0]["text"] == "blue"


@requirement("mrtr:state:untrusted")
async def test_a_state_that_nobody_made_is_refused(connect: Connect) -> None:
    async with able(connect) as client:
        for state in (
            "",
            "s",
            "e",
            "nonsense",
            "s.",
            "seyJ9.AAAA",
            "\x00",
            "é" * 100,
            "a" * 10_000,
        ):
            params = {**CHOOSE, "inputResponses": {}, "requestState": state}
            assert await code(client, "tools/call", params) == -32602


@requirement("mrtr:state:bound")
async def test_a_state_is_good_for_its_own_request_alone(connect: Connect) -> None:
    async with able(connect) as client:
        given = await client.answers_to(await asked(client, **CHOOSE))
        for method, params in (
            ("tools/call", {"name": "choose_twice"}),
            ("tools/call", {"name": "choose", "arguments": {"a": 1}}),
            ("prompts/get", {"name": "introduce"}),
            ("resources/read", {"uri": "test://chosen"}),
        ):
            assert await code(client, method, {**params, **given}) == -32602


def forgetful() -> Server:
    """One whose states are too old as soon as they get anywhere."""
    server = Server("forgetful", state_ttl_s=1e-9)
    for tool in asking().tools:
        server.tools.add(tool)
    return server


@requirement("mrtr:state:expires")
async def test_a_state_that_is_too_old_is_refused(connect: Connect) -> None:
    async with connect(forgetful, answers={"elicitation/create": lambda _: BLUE}) as client:
        given = await client.answers_to(await asked(client, **CHOOSE))
        assert await code(client, "tools/call", {**CHOOSE, **given}) == -32602


@requirement("mrtr:abandoned")
async def test_rounds_that_nobody_goes_on_with_disturb_nothing(connect: Connect) -> None:
    async with able(connect) as client:
        for _ in range(50):
            await asked(client, name="choose_twice")
        await client.settled()
        assert await client.text("choose") == "blue"


# --- the answers ---


@requirement("mrtr:responses:invalid")
async def test_answers_that_are_none_are_refused_or_asked_for_again(connect: Connect) -> None:
    wrong: list[Any] = [
        12345,
        None,
        "blue",
        [],
        {},
        {"action": "maybe"},
        {"action": "accept"},
        {"action": "accept", "content": {"colour": "mauve"}},
        {"action": "accept", "content": {"colour": 7}},
        {"action": "accept", "content": "blue"},
        {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"},
    ]
    async with able(connect) as client:
        first = await asked(client, **CHOOSE)
        (key,) = first["inputRequests"]
        state = first["requestState"]
        for answer in wrong:
            params = {**CHOOSE, "inputResponses": {key: answer}, "requestState": state}
            assert await refused_or_asked_again(client, params)
        for responses in (None, 7, [], "x", {key: []}):
            params = {**CHOOSE, "inputResponses": responses, "requestState": state}
            assert await refused_or_asked_again(client, params)


async def refused_or_asked_again(client: Conversation, params: dict[str, Any]) -> bool:
    frame = await asyncio.wait_for(client.begin("tools/call", params).answer, 5)
    if "error" in frame:
        return bool(frame["error"]["code"] == -32602)
    return bool(frame["result"]["resultType"] == "input_required")


@requirement("mrtr:responses:extra")
async def test_answers_that_nobody_asked_for_are_ignored(connect: Connect) -> None:
    async with able(connect) as client:
        given = await client.answers_to(await asked(client, **CHOOSE))
        given["inputResponses"]["unasked"] = {"action": "decline"}
        given["inputResponses"]["another"] = {"roots": [], "more": ["of", "it"]}
        result = await asked(client, **CHOOSE, **given)
    assert result["content"][0]["text"] == "blue"


@requirement("mrtr:responses:missing")
async def test_an_answer_that_is_missing_is_asked_for_again(connect: Connect) -> None:
    async with able(connect) as client:
        first = await asked(client, name="choose_at_once")
        given = await client.answers_to(first)
        missing = sorted(first["inputRequests"])[0]
        del given["inputResponses"][missing]
        again = await asked(client, name="choose_at_once", **given)
        assert list(again["inputRequests"]) == [missing]
        last = await client.answers_to(again)
        result = await asked(client, name="choose_at_once", **last)
    assert result["content"][0]["text"] == "accept accept"

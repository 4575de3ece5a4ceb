"""Spec tests of elicitation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal
from uuid import uuid4

from mcp_gen import (
    Accepted,
    Context,
    InvalidParams,
    InvalidResult,
    McpError,
    Server,
    UrlElicitation,
    UrlElicitationRequired,
)
from tests.support.peers.asked import SILENCE, Answer, Refused
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

ASK = "elicitation/create"
COMPLETE = "notifications/elicitation/complete"
URL_REQUIRED = -32042
PAGE = "https://example.org/sign"
RED = {"action": "accept", "content": {"colour": "red"}}
GONE = {"action": "accept"}


@dataclass
class Choice:
    colour: Literal["red", "green", "blue"]


def asking() -> Server:
    """Return a server that elicits a choice, and makes URL elicitations."""
    server = Server("asking")
    given: list[str] = []

    @server.tool
    async def choose(ctx: Context) -> str:
        """Ask for a choice."""
        try:
            answer = await ctx.elicit("Which colour?", Choice)
        except (InvalidResult, McpError):
            return "refused"
        given.append(answer.content.colour if isinstance(answer, Accepted) else answer.action)
        return given[-1]

    @server.tool
    async def got() -> list[str]:
        """Return every answer that reached `choose`."""
        return given

    @server.tool
    async def visit(ctx: Context, url: str = PAGE, id: str | None = None) -> str:
        """Make a URL elicitation."""
        return (await ctx.elicit_url("Sign here", url, elicitation_id=id)).action

    @server.tool
    async def insist(ctx: Context, urls: list[str], id: str | None = None) -> str:
        """Require URL elicitations before the request."""
        raise UrlElicitationRequired([UrlElicitation("Sign here", url, id) for url in urls])

    @server.tool
    async def done(ctx: Context, id: str) -> str:
        """Notify that a URL elicitation is complete."""
        await ctx.server.notify.elicitation_complete(id)
        return "told"

    @server.tool
    async def fail(code: int) -> str:
        """Fail with an error of the protocol."""
        raise McpError(code, "failed")

    return server


@cache
def shared(name: str) -> Server:
    """Return the same server for all clients of this process with that name."""
    return asking()


def answered(*given: Any) -> dict[str, Answer]:
    """Return a user's answers, one after the other."""
    left: Iterator[Any] = iter(given)
    return {ASK: lambda params: next(left)}


# --- input requests ---


@requirement("elicitation:modes")
async def test_a_client_is_asked_in_no_way_that_it_has_not_declared(connect: Connect) -> None:
    ways: list[tuple[dict[str, Any], set[str]]] = [
        ({}, set()),
        ({"elicitation": {}}, {"choose"}),
        ({"elicitation": {"form": {}}}, {"choose"}),
        ({"elicitation": {"url": {}}}, {"visit"}),
        ({"elicitation": {"form": {}, "url": {}}}, {"choose", "visit"}),
    ]
    decline = {ASK: lambda params: {"action": "decline"}}
    for capabilities, can in ways:
        async with connect(asking, answers=decline, capabilities=capabilities) as client:
            asked = {tool for tool in ("choose", "visit") if await is_asked(client, tool)}
        assert asked == can, capabilities


async def is_asked(client: Conversation, tool: str) -> bool:
    """Return True if a tool's input request reaches the user."""
    before = len(client.questions)
    try:
        await client.call(tool)
    except Refused:
        assert len(client.questions) == before
    return len(client.questions) > before


@requirement("elicitation:message", "elicitation:form:shape")
async def test_a_form_comes_with_a_message_and_its_schema(connect: Connect) -> None:
    async with connect(asking, answers=answered(RED)) as client:
        assert await client.text("choose") == "red"
    ((method, params),) = client.questions
    assert method == ASK
    assert params["message"] == "Which colour?"
    assert params.get("mode", "form") == "form"
    assert params["requestedSchema"] == {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
        "required": ["colour"],
    }


@requirement("elicitation:message", "elicitation:url:shape")
async def test_a_page_comes_with_a_message_and_what_its_revision_wants(connect: Connect) -> None:
    async with connect(asking, answers=answered(GONE, GONE)) as client:
        assert await client.text("visit") == "accept"
        assert await client.text("visit") == "accept"
    pages = [params for _, params in client.questions]
    ids = [page.pop("elicitationId", None) for page in pages]
    assert pages == [{"mode": "url", "message": "Sign here", "url": PAGE}] * 2
    if connect.profile.elicitation_complete:
        assert all(ids), "the client is to hear of them again"
        assert ids[0] != ids[1]
    else:
        assert ids == [None, None]


@requirement("elicitation:url:valid")
async def test_what_is_no_url_is_not_sent(connect: Connect) -> None:
    wrong = ["", "sign here", "example.org/sign", "//example.org", "https://", "https:///sign"]
    wrong += ["https://example.org/a b", "https://example.org/%zz", "https://[example", "http:x"]
    async with connect(asking, answers=answered()) as client:
        for url in wrong:
            result = await client.call("visit", url=url)
            assert result["isError"], url
            refused = await client.refusal(
                "tools/call", {"name": "insist", "arguments": {"urls": [PAGE, url]}}
            )
            assert refused.code != URL_REQUIRED
    assert client.questions == []


# --- responses ---


@requirement("elicitation:answers:validated-early")
async def test_an_answer_that_does_not_fit_is_never_given_to_the_handler(
    connect: Connect,
) -> None:
    await no_wrong_answer_is_given(connect)


@requirement("elicitation:answers:validated")
async def test_an_answer_that_does_not_fit_its_form_is_never_given_to_the_handler(
    connect: Connect,
) -> None:
    await no_wrong_answer_is_given(connect)


async def no_wrong_answer_is_given(connect: Connect) -> None:
    wrong: list[Any] = [
        {"action": "accept"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"colour": 5}},
        {"action": "accept", "content": {"colour": "mauve"}},
        {"action": "accept", "content": {"color": "red"}},
        {"action": "accept", "content": {"colour": ["red"]}},
    ]
    live = connect.profile.handshake is not None
    # With `input_required` results the server asks again.
    given = wrong if live else [one for each in wrong for one in (each, RED)]
    async with connect(asking, answers=answered(*given)) as client:
        said = [await client.text("choose") for _ in wrong]
        got = (await client.call("got"))["content"]
    assert said == (["refused"] if live else ["red"]) * len(wrong)
    assert [block["text"] for block in got] == ([] if live else ["red"] * len(wrong))


@requirement("elicitation:answers:no")
async def test_a_handler_hears_that_the_user_does_not_want_to(connect: Connect) -> None:
    no = answered({"action": "decline"}, {"action": "cancel"})
    async with connect(asking, answers=no) as client:
        assert [await client.text("choose") for _ in "12"] == ["decline", "cancel"]


@requirement("elicitation:answers:no")
async def test_a_client_that_fails_to_ask_does_no_harm(connect: Connect) -> None:
    async with connect(asking, answers=answered(RED)) as client:
        params = {"name": "choose", "arguments": {}}
        first = await client.begin("tools/call", params).result()
        # The client could not ask its user, which it can only express by no answer.
        again = {"requestState": first["requestState"], "inputResponses": {}}
        second = await client.begin("tools/call", {**params, **again}).result()
        assert second["inputRequests"] == first["inputRequests"]
        assert await client.text("choose") == "red"


@requirement("elicitation:bound")
async def test_an_answer_counts_only_from_the_client_that_was_asked(connect: Connect) -> None:
    await (bound_to_its_session if connect.profile.handshake else bound_to_its_server)(connect)


async def bound_to_its_session(connect: Connect) -> None:
    # Two sessions, of one server where one can have two.
    make = partial(shared, uuid4().hex)
    silent: dict[str, Answer] = {ASK: lambda params: SILENCE}
    async with connect(make, answers=silent) as client, connect(make, answers=silent) as other:
        asked = client.begin("tools/call", {"name": "choose", "arguments": {}})
        await client.asks()
        (question,) = [one for one in client.frames if one.get("method") == ASK]
        answer = '{"jsonrpc":"2.0","id":%s,"result":{"action":"%s"}}'
        id = question["id"] if isinstance(question["id"], int) else f'"{question["id"]}"'
        other.send((answer % (id, "cancel")).encode())
        await other.settled()
        client.send((answer % (id, "decline")).encode())
        assert (await asked.result())["content"][0]["text"] == "decline"


async def bound_to_its_server(connect: Connect) -> None:
    async with (
        connect(asking, answers=answered(RED)) as client,
        connect(asking, answers=answered(RED)) as other,
    ):
        params = {"name": "choose", "arguments": {}}
        first = await client.begin("tools/call", params).result()
        given = await client.answers_to(first)
        refused = await other.refusal("tools/call", {**params, **given})
        assert refused.code == InvalidParams.code


# --- required URL elicitations ---


@requirement("elicitation:complete:own-client", "elicitation:complete:id")
async def test_the_client_whose_user_was_sent_there_hears_that_it_is_done(
    connect: Connect,
) -> None:
    make = partial(shared, uuid4().hex)
    gone = {ASK: lambda params: GONE}
    async with connect(make, answers=gone) as client, connect(make, answers=gone) as other:
        await client.call("visit", id="mine")
        await client.call("visit")
        made_up = client.questions[-1][1]["elicitationId"]
        await other.call("visit", id="theirs")
        for id in ("mine", made_up, "of nobody", "mine"):
            await client.call("done", id=id)
        await client.settled()
        await other.settled()
    told = [{"elicitationId": "mine"}, {"elicitationId": made_up}]
    assert client.params_of(COMPLETE) == told
    assert other.params_of(COMPLETE) == []


@requirement(
    "elicitation:required:list", "elicitation:required:entries", "elicitation:required:only-url"
)
async def test_the_error_lists_the_pages_to_go_to_first(connect: Connect) -> None:
    pages = [PAGE, "https://example.org/pay"]
    params = {"name": "insist", "arguments": {"urls": pages}}
    async with connect(asking, answers=answered()) as client:
        refused = await client.refusal("tools/call", params)
    listed = refused.data["elicitations"]
    ids = [page.pop("elicitationId") for page in listed]
    assert refused.code == URL_REQUIRED
    assert listed == [{"mode": "url", "message": "Sign here", "url": page} for page in pages]
    assert all(ids)
    assert len(set(ids)) == 2


@requirement("elicitation:required:only-url")
async def test_the_error_is_sent_for_nothing_else(connect: Connect) -> None:
    async with connect(asking, capabilities={"elicitation": {}}) as client:
        calls = [
            ("insist", {"urls": [PAGE]}),  # a client without URL elicitation
            ("visit", {}),
            ("fail", {"code": -32000}),
            ("nothing", {}),
        ]
        codes = [
            (await client.refusal("tools/call", {"name": name, "arguments": arguments})).code
            for name, arguments in calls
        ]
    assert URL_REQUIRED not in codes

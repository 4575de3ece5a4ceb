"""Spec tests of input requests: elicitation, sampling and roots, one body for both mechanisms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_gen import Client, ClientSession, UrlElicitation
from mcp_gen.types import CreateMessageResult, ElicitResult, TextContent
from tests.client.spec.input_requests import answered, declared, put
from tests.client.spec.scripted_servers import far, in_a_call
from tests.support.http.loopback import Got, Line, scripted_web
from tests.support.peers.reach import Reach
from tests.support.requirement import requirement

FORM: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "size": {"type": "integer", "default": 3},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "b"},
        },
        "required": ["name"],
    },
}
SAMPLE: dict[str, Any] = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "a"}}],
    "maxTokens": 9,
}
TOOLS = [{"name": "t", "inputSchema": {"type": "object"}}]


def page(reach: Reach, url: str = "https://example.org/sign", id: str = "7") -> dict[str, Any]:
    params = {"mode": "url", "message": "Go", "url": url}
    return {**params, "elicitationId": id} if reach.profile.handshake else params


def says(text: str = "b") -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text=text), model="m")


def able(**handlers: Any) -> Client:
    """Return a client that can answer every input request."""
    given: dict[str, Any] = {
        "elicitation": lambda session, params: {"name": "Ada"},
        "url_elicitation": lambda session, page: "accept",
        "sampling": lambda session, params: says(),
        "roots": ["file:///a"],
        **handlers,
    }
    return Client("test", **given)


# --- the user ---


@requirement("elicitation:client:declared")
async def test_a_client_that_asks_its_user_says_so(reach: Reach) -> None:
    server = far(reach)
    for client, expected in ((able(), True), (able(elicitation=None, url_elicitation=None), False)):
        async with reach(server, client) as reached:
            await put(reach, reached, server, "roots/list")
            assert ("elicitation" in declared(reach, reached)) == expected
        server = far(reach)


@requirement("elicitation:client:modes")
@pytest.mark.parametrize(
    ("handlers", "modes"),
    [
        ({}, {"form", "url"}),
        ({"elicitation": None}, {"url"}),
        ({"url_elicitation": None}, {"form"}),
    ],
)
async def test_it_says_in_which_ways(reach: Reach, handlers: Any, modes: set[str]) -> None:
    server = far(reach)
    async with reach(server, able(**handlers)) as reached:
        await put(reach, reached, server, "roots/list")
        found = declared(reach, reached)["elicitation"]
        assert (found.keys() or {"form"}) == modes


@requirement("elicitation:client:no-mode")
@pytest.mark.parametrize("mode", [{}, {"mode": "form"}])
async def test_a_question_that_names_no_way_is_a_form(reach: Reach, mode: Any) -> None:
    server = far(reach)
    async with reach(server, able()) as reached:
        answer = await answered(reach, reached, server, "elicitation/create", {**FORM, **mode})
        assert (answer["action"], answer["content"]["name"]) == ("accept", "Ada")


@requirement("elicitation:client:defaults")
async def test_what_is_left_out_is_what_the_form_has(reach: Reach) -> None:
    server = far(reach)
    async with reach(server, able()) as reached:
        answer = await answered(reach, reached, server, "elicitation/create", FORM)
        assert answer["content"] == {"name": "Ada", "size": 3, "kind": "b"}


@requirement("elicitation:client:decline")
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_can_say_no(reach: Reach, action: Any) -> None:
    server = far(reach)
    client = able(elicitation=lambda session, params: ElicitResult(action=action))
    async with reach(server, client) as reached:
        answer = await answered(reach, reached, server, "elicitation/create", FORM)
        assert (answer["action"], answer.get("content")) == (action, None)


@requirement("elicitation:client:which-server", "elicitation:client:which-server-early")
async def test_whoever_asks_the_user_knows_for_which_server(reach: Reach) -> None:
    told: list[Any] = []

    def fill(session: ClientSession, params: Any) -> dict[str, Any]:
        told.append((session, session.server_info.name))
        return {"name": "Ada"}

    server = far(reach)
    async with reach(server, able(elicitation=fill)) as reached:
        await answered(reach, reached, server, "elicitation/create", FORM)
        assert told == [(reached.session, "scripted")]


@requirement("elicitation:client:validated")
@pytest.mark.parametrize("content", [{"name": 5}, {}, {"name": "Ada", "kind": "c"}])
async def test_a_form_that_is_filled_wrongly_is_not_sent(reach: Reach, content: Any) -> None:
    server = far(reach)
    async with reach(server, able(elicitation=lambda session, params: content)) as reached:
        assert "error" in await put(reach, reached, server, "elicitation/create", FORM)


@requirement("elicitation:client:errors")
@pytest.mark.parametrize("client", ["forms", "pages"])
async def test_a_way_that_was_not_declared_is_refused(reach: Reach, client: str) -> None:
    server = far(reach)
    forms = client == "forms"
    using = able(url_elicitation=None) if forms else able(elicitation=None)
    async with reach(server, using) as reached:
        params = page(reach) if forms else FORM
        answer = await put(reach, reached, server, "elicitation/create", params)
        assert answer["error"]["code"] == -32602


@requirement("elicitation:client:complete:unknown")
async def test_that_an_unknown_page_is_done_with_is_ignored(reach: Reach) -> None:
    server = far(reach)
    async with reach(server, able()) as reached:
        told = {"method": "notifications/elicitation/complete", "params": {"elicitationId": "x"}}
        answer = await told_then_asked(reach, reached, server, told)
        assert answer["action"] == "accept"
        assert not await reached.session.wait_elicitation_complete("7", 0.001)


async def told_then_asked(reach: Reach, reached: Any, server: Any, told: Any) -> Any:
    async with in_a_call(reached, server):
        server.send(**told)
        server.send(**told)
        server.send(id="q", method="elicitation/create", params=page(reach))
        return (await server.next(None))["result"]


@requirement("elicitation:client:id-opaque")
@pytest.mark.parametrize("id", ["7", " ", "{}", "Grüße", "../x", "0" * 300])
async def test_the_id_of_a_page_is_taken_as_it_is(reach: Reach, id: str) -> None:
    pages: list[UrlElicitation] = []

    def go(session: ClientSession, page: UrlElicitation) -> Any:
        pages.append(page)
        return "accept"

    server = far(reach)
    async with reach(server, able(url_elicitation=go)) as reached:
        await answered(reach, reached, server, "elicitation/create", page(reach, id=id))
    assert [one.elicitation_id for one in pages] == [id]


@requirement("elicitation:client:no-fetch")
async def test_nothing_is_fetched_from_a_page(reach: Reach) -> None:
    async def answers(got: Got, line: Line) -> None:
        await line.answer(200)

    server = far(reach)
    async with scripted_web(answers) as web, reach(server, able()) as reached:
        await answered(reach, reached, server, "elicitation/create", page(reach, web.url))
        assert web.got == []


# --- the model ---


@requirement("sampling:client:declared")
async def test_a_client_that_has_a_model_says_so(reach: Reach) -> None:
    server = far(reach)
    async with reach(server, able()) as reached:
        answer = await answered(reach, reached, server, "sampling/createMessage", SAMPLE)
        assert answer["content"] == {"type": "text", "text": "b"}
        assert declared(reach, reached)["sampling"] == {}


@requirement("sampling:client:errors")
async def test_a_user_who_forbids_the_model_is_an_error(reach: Reach) -> None:
    server = far(reach)
    async with reach(server, able(sampling=lambda session, params: None)) as reached:
        answer = await put(reach, reached, server, "sampling/createMessage", SAMPLE)
        assert answer["error"]["code"] == -1


@requirement("sampling:client:errors")
async def test_a_model_that_fails_is_an_internal_error(reach: Reach) -> None:
    def sample(session: ClientSession, params: Any) -> Any:
        raise ZeroDivisionError("secret")

    server = far(reach)
    async with reach(server, able(sampling=sample)) as reached:
        answer = await put(reach, reached, server, "sampling/createMessage", SAMPLE)
        assert answer["error"]["code"] == -32603
        assert "secret" not in answer["error"]["message"]


@requirement("sampling:client:validated")
@pytest.mark.parametrize(
    "wrong", [{"messages": "a"}, {"messages": [{"role": "nobody", "content": {}}]}]
)
async def test_a_question_that_is_none_never_gets_to_the_model(reach: Reach, wrong: Any) -> None:
    asked: list[Any] = []

    def sample(session: ClientSession, params: Any) -> Any:
        asked.append(params)
        return says()

    server = far(reach)
    async with reach(server, able(sampling=sample)) as reached:
        params = {**SAMPLE, **wrong}
        assert "error" in await put(reach, reached, server, "sampling/createMessage", params)
    assert asked == []


@requirement("sampling:client:tools:declared")
async def test_a_client_whose_model_takes_tools_says_so(reach: Reach) -> None:
    server, client = far(reach), Client("test")
    client.sampling(tools=True)(lambda session, params: says())
    async with reach(server, client) as reached:
        params = {**SAMPLE, "tools": TOOLS}
        answer = await answered(reach, reached, server, "sampling/createMessage", params)
        assert answer["model"] == "m"
        assert declared(reach, reached)["sampling"] == {"tools": {}}


@requirement("sampling:client:tools:undeclared")
@pytest.mark.parametrize("given", [{"tools": TOOLS}, {"toolChoice": {"mode": "auto"}}])
async def test_tools_for_a_model_that_takes_none_are_an_error(reach: Reach, given: Any) -> None:
    server = far(reach)
    async with reach(server, able()) as reached:
        params = {**SAMPLE, **given}
        assert "error" in await put(reach, reached, server, "sampling/createMessage", params)


# --- folders ---


@requirement("roots:client:declared")
async def test_a_client_that_has_roots_says_so(reach: Reach) -> None:
    server = far(reach)
    async with reach(server, able()) as reached:
        answer = await answered(reach, reached, server, "roots/list")
        assert [one["uri"] for one in answer["roots"]] == ["file:///a"]
        changes = bool(reach.profile.handshake)
        assert declared(reach, reached)["roots"] == ({"listChanged": True} if changes else {})


@requirement("roots:client:changed")
async def test_servers_hear_of_new_roots(reach: Reach) -> None:
    server, client = far(reach), able()
    async with reach(server, client) as reached:
        await client.add_roots("file:///b")
        await server.next("notifications/roots/list_changed")
        answer = await answered(reach, reached, server, "roots/list")
        assert [one["uri"] for one in answer["roots"]] == ["file:///a", "file:///b"]


@requirement("roots:client:file-uris")
async def test_every_root_is_a_file(reach: Reach, tmp_path: Path) -> None:
    server = far(reach)
    async with reach(server, able(roots=[tmp_path, "file:///a"])) as reached:
        answer = await answered(reach, reached, server, "roots/list")
        assert [one["uri"] for one in answer["roots"]] == [tmp_path.as_uri(), "file:///a"]


@requirement("roots:client:errors")
async def test_without_roots_there_is_no_such_method(reach: Reach) -> None:
    server = far(reach)
    async with reach(server, able(roots=None)) as reached:
        assert (await put(reach, reached, server, "roots/list"))["error"]["code"] == -32601


@requirement("roots:client:errors")
async def test_roots_that_cannot_be_had_are_an_internal_error(reach: Reach) -> None:
    def roots(session: ClientSession) -> Any:
        raise OSError("secret")

    server = far(reach)
    async with reach(server, able(roots=roots)) as reached:
        assert (await put(reach, reached, server, "roots/list"))["error"]["code"] == -32603

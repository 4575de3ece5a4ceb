"""Client callbacks: one handler answers server requests at every revision, on every transport."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

import mcp_wire
from mcp_gen import (
    Accepted,
    Client,
    ClientSession,
    Context,
    InputRefused,
    McpError,
    ProtocolError,
    Server,
    UrlElicitation,
    UrlElicitationRequired,
    UsageError,
)
from mcp_gen.types import (
    Annotations,
    AudioContent,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    Root,
    SamplingMessage,
    TextContent,
    Tool,
    ToolResultContent,
    ToolUseContent,
)
from tests.client.scripted import CannedServer, Recorded, client_violations
from tests.client.using import IN_RESULTS, in_results, live, using
from tests.support.frames import ALL, HANDSHAKE, PER_REQUEST, every_revision
from tests.support.peers.answering import ASKS

URLS = [one for one in ALL if mcp_wire.profile(one).url_elicitation != "none"]
PARTS = [one for one in ALL if mcp_wire.profile(one).declares_sampling_parts]
asks = pytest.mark.parametrize("revision", ASKS)
urls = pytest.mark.parametrize("revision", URLS)
PAGE = "https://example.org/sign"


@dataclass
class Order:
    item: str
    count: int = 2
    colour: Literal["red", "blue"] = "blue"


def server_that(ask: Any) -> Server:
    """Return a server whose tool `ask` returns the result of `ask(ctx)` as text."""
    server = Server("asks")

    @server.tool(name="ask")
    async def tool(ctx: Context) -> str:
        return str(await ask(ctx))

    return server


async def asked(client: Client, ask: Any, revision: str) -> str:
    """Return the text that the tool made of the client's answer."""
    async with using(client, server_that(ask), revision) as session:
        result = await session.call_tool("ask")
        text = result.content[0].text
        assert not result.is_error, text
        return str(text)


async def an_order(ctx: Context) -> Any:
    answer = await ctx.elicit("What?", Order)
    return answer.content if isinstance(answer, Accepted) else answer.action


async def a_message(ctx: Context) -> Any:
    said = await ctx.sample("Hello?", max_tokens=9)
    return f"{said.model}: {said.content.text}"  # type: ignore[union-attr]


async def the_roots(ctx: Context) -> Any:
    return [root.uri for root in await ctx.list_roots()]


async def a_page(ctx: Context) -> Any:
    return (await ctx.elicit_url("Sign first", PAGE)).action


def says(text: str) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text=text), model="tiny")


# --- forms ---


@asks
async def test_a_form_is_filled_by_a_function_that_is_not_async(revision: str) -> None:
    def fill(session: ClientSession, params: ElicitRequestFormParams) -> dict[str, Any]:
        assert (session.revision, params.message) == (revision, "What?")
        return {"item": "bolt", "count": 3, "colour": "red"}

    told = await asked(Client("c", elicitation=fill), an_order, revision)
    assert told == str(Order("bolt", 3, "red"))


@asks
async def test_a_form_is_filled_by_a_decorated_function_that_is_async(revision: str) -> None:
    client = Client("c")

    @client.elicitation
    async def fill(session: ClientSession, params: ElicitRequestFormParams) -> ElicitResult:
        await asyncio.sleep(0)
        return ElicitResult(action="accept", content={"item": "nut", "count": 1, "colour": "blue"})

    assert await asked(client, an_order, revision) == str(Order("nut", 1, "blue"))


@pytest.mark.parametrize("revision", URLS)
async def test_answers_that_are_left_out_are_the_forms_defaults(revision: str) -> None:
    client = Client("c", elicitation=lambda session, params: {"item": "bolt"})
    assert await asked(client, an_order, revision) == str(Order("bolt", 2, "blue"))


@asks
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_user_may_say_no_to_a_form(revision: str, action: Any) -> None:
    said = ElicitResult(action=action, content={"item": "ignored"})
    client = Client("c", elicitation=lambda session, params: said)
    assert await asked(client, an_order, revision) == action


@live
async def test_a_form_filled_wrongly_is_an_internal_error_of_the_client(revision: str) -> None:
    if revision not in ASKS:
        return

    async def ask(ctx: Context) -> Any:
        with pytest.raises(McpError) as caught:
            await an_order(ctx)
        return caught.value.code

    client = Client("c", elicitation=lambda session, params: {"item": 5})
    assert await asked(client, ask, revision) == "-32603"


@in_results
async def test_a_form_filled_wrongly_ends_the_call(revision: str) -> None:
    client = Client("c", elicitation=lambda session, params: {"item": 5})
    with pytest.raises(UsageError, match=r"do not fit the form: .* at `\$\.item`"):
        await asked(client, an_order, revision)


# --- pages ---


@urls
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
async def test_the_user_is_sent_to_a_page(revision: str, action: Any) -> None:
    pages: list[UrlElicitation] = []

    def go(session: ClientSession, page: UrlElicitation) -> Any:
        pages.append(page)
        return action

    assert await asked(Client("c", url_elicitation=go), a_page, revision) == action
    (page,) = pages
    assert (page.message, page.url) == ("Sign first", PAGE)
    assert (page.elicitation_id is None) == (revision in IN_RESULTS)


def signing(done: list[str]) -> Server:
    server = Server("signing")

    @server.tool
    async def sign(ctx: Context) -> str:
        if not done:
            raise UrlElicitationRequired([UrlElicitation("Sign first", PAGE, "7")])
        return "signed"

    @server.tool
    async def finish(ctx: Context) -> str:
        await server.notify.elicitation_complete("7")
        return "told"

    return server


@urls
async def test_a_request_that_needs_a_page_first_is_made_again_after_it(revision: str) -> None:
    done: list[str] = []

    def go(session: ClientSession, page: UrlElicitation) -> Literal["accept"]:
        done.append(page.url)
        return "accept"

    async with using(Client("c", url_elicitation=go), signing(done), revision) as session:
        result = await session.call_tool("sign")
    assert result.content[0].text == "signed"
    assert done == [PAGE]


@pytest.mark.parametrize("revision", [one for one in URLS if one not in IN_RESULTS])
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_page_that_was_not_gone_to_is_an_error_that_names_it(
    revision: str, action: Any
) -> None:
    client = Client("c", url_elicitation=lambda session, page: action)
    async with using(client, signing([]), revision) as session:
        with pytest.raises(UrlElicitationRequired) as caught:
            await session.call_tool("sign")
    assert caught.value.elicitations == [UrlElicitation("Sign first", PAGE, "7")]
    assert caught.value.code == mcp_wire.profile(revision).errors.url_elicitation_required


@pytest.mark.parametrize("revision", [one for one in URLS if one not in IN_RESULTS])
async def test_the_server_tells_when_a_page_is_done_with(revision: str) -> None:
    client = Client("c", url_elicitation=lambda session, page: "decline")
    async with using(client, signing([]), revision) as session:
        with pytest.raises(UrlElicitationRequired) as caught:
            await session.call_tool("sign")
        (page,) = caught.value.elicitations
        assert not await session.wait_elicitation_complete(page, 0.01)
        await session.call_tool("finish")
        assert await session.wait_elicitation_complete(page, 5)
        assert not await session.wait_elicitation_complete("another", 0.01)


@urls
async def test_a_user_who_comes_back_too_often_is_sent_no_more(revision: str) -> None:
    client = Client("c", url_elicitation=lambda session, page: "accept", max_rounds=3)
    async with using(client, signing([]), revision) as session:
        with pytest.raises(ProtocolError, match="3 times"):
            await session.call_tool("sign")


# --- models ---


@every_revision
async def test_a_model_continues_a_conversation(revision: str) -> None:
    async def sample(
        session: ClientSession, params: CreateMessageRequestParams
    ) -> CreateMessageResult:
        assert params.max_tokens == 9
        return says(params.messages[0].content.text.upper())  # type: ignore[union-attr]

    told = await asked(Client("c", sampling=sample), a_message, revision)
    assert told == "tiny: HELLO?"


@every_revision
async def test_several_questions_at_once_are_all_answered(revision: str) -> None:
    async def ask(ctx: Context) -> Any:
        said, roots = await ctx.ask_all(ctx.sample("a", max_tokens=9), ctx.list_roots())
        return said.model, len(roots)

    client = Client("c", sampling=lambda session, params: says("b"), roots=["file:///a"])
    assert await asked(client, ask, revision) == "('tiny', 1)"


@live
async def test_a_model_that_the_user_forbids_is_the_error_for_that(revision: str) -> None:
    async def ask(ctx: Context) -> Any:
        with pytest.raises(McpError) as caught:
            await a_message(ctx)
        return caught.value.code

    client = Client("c", sampling=lambda session, params: None)
    assert await asked(client, ask, revision) == "-1"


@in_results
async def test_a_model_that_the_user_forbids_ends_the_call(revision: str) -> None:
    client = Client("c", sampling=lambda session, params: None)
    with pytest.raises(InputRefused, match="the user said no"):
        await asked(client, a_message, revision)


@live
async def test_an_error_that_a_handler_raises_is_the_servers(revision: str) -> None:
    def sample(session: ClientSession, params: CreateMessageRequestParams) -> CreateMessageResult:
        raise McpError(-31000, "too hot", {"degrees": 40})

    async def ask(ctx: Context) -> Any:
        with pytest.raises(McpError) as caught:
            await a_message(ctx)
        return caught.value.code, caught.value.message, caught.value.data

    told = await asked(Client("c", sampling=sample), ask, revision)
    assert told == "(-31000, 'too hot', {'degrees': 40})"


@live
async def test_what_else_a_handler_raises_stays_with_the_client(revision: str) -> None:
    def sample(session: ClientSession, params: CreateMessageRequestParams) -> CreateMessageResult:
        raise ZeroDivisionError("secret")

    async def ask(ctx: Context) -> Any:
        with pytest.raises(McpError) as caught:
            await a_message(ctx)
        return caught.value.code, "secret" in str(caught.value)

    assert await asked(Client("c", sampling=sample), ask, revision) == "(-32603, False)"


@in_results
async def test_what_a_handler_raises_ends_the_call_that_asked(revision: str) -> None:
    def sample(session: ClientSession, params: CreateMessageRequestParams) -> CreateMessageResult:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await asked(Client("c", sampling=sample), a_message, revision)


SEARCH = Tool(name="search", input_schema={"type": "object"})


async def with_tools(ctx: Context) -> Any:
    return (await ctx.sample("Hello?", max_tokens=9, tools=[SEARCH])).model


@pytest.mark.parametrize("revision", PARTS)
async def test_a_model_is_given_tools_where_the_client_said_so(revision: str) -> None:
    client = Client("c")

    @client.sampling(tools=True)
    def sample(session: ClientSession, params: CreateMessageRequestParams) -> CreateMessageResult:
        assert params.tools == [SEARCH]
        use = ToolUseContent(id="1", name="search", input={})
        return CreateMessageResult(role="assistant", content=[use], model="tools")

    assert await asked(client, with_tools, revision) == "tools"


# --- answers with parts of newer revisions ---


DATED: dict[str, Any] = {"lastModified": "2026-01-01T00:00:00Z"}
NOTED: dict[str, Any] = {"_meta": {"example.org/a": 1}}
TEXT: dict[str, Any] = {"type": "text", "text": "b"}
BLOCKS: dict[str, Any] = {
    "2024-11-05": {**TEXT, "annotations": {"priority": 0.5}},
    "2025-03-26": {**TEXT, "annotations": {"priority": 0.5}},
    "2025-06-18": {**TEXT, "annotations": {"priority": 0.5, **DATED}, **NOTED},
    "2025-11-25": [{**TEXT, "annotations": {"priority": 0.5, **DATED}, **NOTED}],
}
"""Content of one message with all that the newest revision has, by the server's revision."""
ROOTS: dict[str, Any] = {
    "2024-11-05": {"uri": "file:///a", "name": "A"},
    "2025-03-26": {"uri": "file:///a", "name": "A"},
    "2025-06-18": {"uri": "file:///a", "name": "A", **NOTED},
    "2025-11-25": {"uri": "file:///a", "name": "A", **NOTED},
}
SAMPLE: dict[str, Any] = {"messages": [], "maxTokens": 9}
FORM: dict[str, Any] = {
    "message": "What?",
    "requestedSchema": {"type": "object", "properties": {"item": {"type": "string"}}},
}


async def answer_of(
    client: Client, revision: str, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    """Return the response of a client to a server of a revision; its messages are valid there."""
    server = CannedServer(revision)
    recorded = Recorded(server)
    async with client:
        await client.connect(recorded, revision=revision)
        server.send(id="q", method=method, params=params)
        answer: dict[str, Any] = await server.next(None)
        if "task" in params:
            id = answer["result"]["task"]["taskId"]
            server.send(id="r", method="tasks/result", params={"taskId": id})
            answer = await server.next(None)
    assert client_violations(revision, recorded.frames) == []
    return answer


@live
async def test_what_a_model_says_is_told_in_the_parts_that_the_server_knows(revision: str) -> None:
    block = TextContent(
        text="b",
        annotations=Annotations(priority=0.5, last_modified=DATED["lastModified"]),
        meta=NOTED["_meta"],
    )
    said = CreateMessageResult(role="assistant", content=[block], model="tiny")
    client = Client("c", sampling=lambda session, params: said)
    answer = await answer_of(client, revision, "sampling/createMessage", SAMPLE)
    assert answer["result"]["content"] == BLOCKS[revision]


@live
async def test_roots_are_told_in_the_parts_that_the_server_knows(revision: str) -> None:
    client = Client("c", roots=[Root(uri="file:///a", name="A", meta=NOTED["_meta"])])
    answer = await answer_of(client, revision, "roots/list", {})
    assert answer["result"]["roots"] == [ROOTS[revision]]


@pytest.mark.parametrize("params", [SAMPLE, {**SAMPLE, "task": {}}], ids=["at once", "as a task"])
async def test_what_stands_deep_in_an_answer_is_restated_too(params: dict[str, Any]) -> None:
    result = ToolResultContent(tool_use_id="1", content=[], structured_content=[1, 2])
    said = CreateMessageResult(role="assistant", content=[result], model="tiny")
    client = Client("c", sampling=lambda session, params: said, tasks=True)
    answer = await answer_of(client, HANDSHAKE, "sampling/createMessage", params)
    # Only the newest revision has structured content that is no object.
    assert answer["result"]["content"][0]["structuredContent"] == {"result": [1, 2]}


@pytest.mark.parametrize(
    ("revision", "content"),
    [
        ("2024-11-05", AudioContent(data="AAAA", mime_type="audio/wav")),
        ("2025-06-18", [TextContent(text="a"), TextContent(text="b")]),
        ("2025-06-18", ToolUseContent(id="1", name="t", input={})),
    ],
)
async def test_an_answer_with_a_part_that_the_server_cannot_read_is_an_error(
    revision: str, content: Any
) -> None:
    said = CreateMessageResult(role="assistant", content=content, model="tiny")
    client = Client("c", sampling=lambda session, params: said)
    answer = await answer_of(client, revision, "sampling/createMessage", SAMPLE)
    assert answer["error"] == {"code": -32603, "message": "internal error"}


async def test_a_form_filled_with_several_values_is_an_error_where_a_field_has_one() -> None:
    client = Client("c", elicitation=lambda session, params: {"item": "a", "more": ["b", "c"]})
    answer = await answer_of(client, "2025-06-18", "elicitation/create", FORM)
    assert answer["error"] == {"code": -32603, "message": "internal error"}


# --- roots ---


@every_revision
async def test_roots_are_paths_uris_or_roots(revision: str, tmp_path: Path) -> None:
    client = Client("c", roots=[tmp_path, "file:///a", Root(uri="file:///b", name="B")])
    expected = [tmp_path.as_uri(), "file:///a", "file:///b"]
    assert await asked(client, the_roots, revision) == str(expected)


@every_revision
async def test_roots_may_come_from_a_function(revision: str) -> None:
    client = Client("c")

    @client.list_roots
    async def roots(session: ClientSession) -> list[str]:
        return [f"file:///{session.revision}"]

    assert await asked(client, the_roots, revision) == f"['file:///{revision}']"


async def test_every_server_is_told_of_new_roots_that_can_be_told() -> None:
    client, told = Client("c", roots=["file:///a"]), list[str]()
    quiet, other = server_that(the_roots), server_that(the_roots)
    other.hooks.on_roots_list_changed(lambda ctx, params: told.append("changed"))
    async with client:
        # At this revision there are no such notifications.
        await client.connect(quiet, revision=PER_REQUEST)
        session = await client.connect(other, revision=HANDSHAKE)
        await client.add_roots("file:///b")
        await session.ping()
    assert told == ["changed"]


@every_revision
async def test_roots_are_added_and_removed_while_sessions_are_open(revision: str) -> None:
    client = Client("c", roots=["file:///a"])
    server = server_that(the_roots)
    told: list[str] = []
    server.hooks.on_roots_list_changed(lambda ctx, params: told.append("changed"))
    async with using(client, server, revision) as session:

        async def known() -> str:
            return str((await session.call_tool("ask")).content[0].text)

        assert await known() == "['file:///a']"
        await client.add_roots("file:///b", "file:///c")
        assert await known() == "['file:///a', 'file:///b', 'file:///c']"
        await client.remove_roots("file:///a")
        assert await known() == "['file:///b', 'file:///c']"
        await client.add_roots("file:///b")
    assert told == (["changed"] * 2 if mcp_wire.profile(revision).roots_changed else [])


async def test_roots_that_were_never_declared_cannot_be_added() -> None:
    with pytest.raises(UsageError, match=r"roots=\[\.\.\.\]"):
        await Client("c").add_roots("file:///a")


@live
async def test_removing_a_root_that_is_not_there_changes_nothing(revision: str) -> None:
    client, told = Client("c", roots=["file:///a"]), list[str]()

    @client.sending_middleware
    async def record(session: Any, method: str, params: Any, call_next: Any) -> Any:
        told.append(method)
        return await call_next(params)

    async with using(client, Server("s"), revision):
        told.clear()
        await client.remove_roots("file:///b")
    assert told == []


def ignore(done: float, total: float | None, message: str | None) -> None:
    """Ignore progress."""


@live
async def test_a_sampling_handler_sees_the_progress_token_and_the_name_of_the_server(
    revision: str,
) -> None:
    client, tokens = Client("c"), list[Any]()

    @client.sampling
    async def answer(
        session: ClientSession, params: CreateMessageRequestParams
    ) -> CreateMessageResult:
        tokens.append((session.progress_token, session.server_name))
        return CreateMessageResult(role="assistant", content=TextContent(text="42"), model="m")

    async def ask(ctx: Context) -> str:
        result = await ctx.client.create_message(
            messages=[SamplingMessage(role="user", content=TextContent(text="?"))],
            max_tokens=1,
            progress=ignore,
        )
        return result.model

    async with using(client, server_that(ask), revision, server_name="mine") as session:
        assert not (await session.call_tool("ask")).is_error
        assert session.progress_token is None
    ((token, name),) = tokens
    assert token is not None
    assert name == "mine"


@pytest.mark.parametrize("revision", [one for one in ASKS if one not in IN_RESULTS])
async def test_an_elicitation_handler_sees_the_progress_token(revision: str) -> None:
    client, tokens = Client("c"), list[Any]()

    @client.elicitation
    def answer(session: ClientSession, params: ElicitRequestFormParams) -> dict[str, Any]:
        tokens.append(session.progress_token)
        return {"item": "tea"}

    server, fields = CannedServer(revision), {"item": {"type": "string"}}
    async with using(client, server, revision):
        form = {"message": "What?", "requestedSchema": {"type": "object", "properties": fields}}
        params = {**form, "_meta": {"progressToken": "t"}}
        server.send(id=7, method="elicitation/create", params=params)
        await server.next(None)
    assert tokens == ["t"]


def test_a_root_is_a_file() -> None:
    with pytest.raises(UsageError, match="file://"):
        Client("c", roots=["https://example.org"])


# --- capabilities ---


def offering_everything() -> Client:
    client = Client(
        "c",
        elicitation=lambda session, params: {},
        url_elicitation=lambda session, page: "accept",
        roots=[],
        experimental={"x": {"a": 1}},
        extensions={"org.example/y": {}},
    )
    client.sampling(tools=True, context=True)(lambda session, params: None)
    return client


EVERYTHING: dict[str, dict[str, Any]] = {
    "2024-11-05": {"roots": {"listChanged": True}, "sampling": {}},
    "2025-03-26": {"roots": {"listChanged": True}, "sampling": {}},
    "2025-06-18": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}},
    "2025-11-25": {
        "roots": {"listChanged": True},
        "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}},
    },
    "2026-07-28": {
        "roots": {},
        "sampling": {"tools": {}, "context": {}},
        "elicitation": {"form": {}, "url": {}},
        "extensions": {"org.example/y": {}},
    },
}


async def declared(client: Client, revision: str) -> Any:
    """Return the client's capabilities as the server received them."""
    got: list[Any] = []
    server = Server("looks")

    @server.tool
    def look(ctx: Context) -> None:
        got.append(mcp_wire.encode(ctx.client_capabilities))

    async with using(client, server, revision) as session:
        await session.call_tool("look")
    return mcp_wire.decode(dict[str, Any], got[0])


@every_revision
async def test_what_is_offered_is_declared_as_the_revision_says_it(revision: str) -> None:
    expected = {"experimental": {"x": {"a": 1}}, **EVERYTHING[revision]}
    assert await declared(offering_everything(), revision) == expected


@every_revision
async def test_what_is_not_offered_is_not_declared(revision: str) -> None:
    assert await declared(Client("c"), revision) == {}


@every_revision
async def test_pages_alone_are_not_declared_as_forms(revision: str) -> None:
    client = Client("c", url_elicitation=lambda session, page: "accept")
    expected = {"elicitation": {"url": {}}} if revision in URLS else {}
    assert await declared(client, revision) == expected


@every_revision
async def test_a_handler_that_comes_later_is_not_for_the_sessions_that_are_open(
    revision: str,
) -> None:
    client = Client("c")

    async def ask(ctx: Context) -> Any:
        declared = msgspec.to_builtins(ctx.client_capabilities)
        return (await a_message(ctx)) if "sampling" in declared else "no model"

    server = server_that(ask)
    async with client:
        before = await client.connect(server, revision=revision)
        client.sampling(lambda session, params: says("late"))
        after = await client.connect(server, revision=revision)
        assert (await before.call_tool("ask")).content[0].text == "no model"
        assert (await after.call_tool("ask")).content[0].text == "tiny: late"

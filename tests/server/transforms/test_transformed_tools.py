"""Transformed tools: lists and calls."""

from __future__ import annotations

import datetime
import logging
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema_rs
import msgspec
import pytest
from pydantic import BaseModel

import mcp_wire
from mcp_gen import Accepted, Argument, Context, Server, UsageError, transformed
from mcp_gen.server.tools.tool import ServerTool
from mcp_wire import latest
from tests.docs.programs import program
from tests.server.tasks.raw_client import CORE, conversing
from tests.server.tools.calls import call, failure, listed, texts, with_tool
from tests.support.frames import Speaker, every_revision
from tests.support.http.asgi import headers_of, request
from tests.support.peers.answering import accept, answering, asks
from tests.support.peers.raw import talking
from tests.support.peers.scripted import served

SESSIONS = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).handshake][-1]


@dataclass
class Page:
    number: int
    size: int = 10


def search(
    q: Annotated[str, "the words"],
    limit: int = 5,
    page: Page | None = None,
    kind: Literal["news", "blog", "all"] = "all",
) -> str:
    """Search the archive."""
    return f"{q} {limit} {page and page.number} {kind}"


def count(to: int) -> list[int]:
    return list(range(to))


@dataclass
class Key:
    key: str


class Book(BaseModel):
    title: str


def lend(book: Book, days: int = 3) -> str:
    return f"{book.title} {days}"


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer", "maximum": 50},
        "where": {"$ref": "#/$defs/place"},
        "also": {"$ref": "#/properties/where"},
        "secret": {"$ref": "#/$defs/key"},
    },
    "required": ["q", "secret"],
    "additionalProperties": False,
    "$defs": {
        "place": {"type": "object", "properties": {"x": {"$ref": "#/$defs/number"}}},
        "number": {"type": "integer"},
        "key": {"type": "string", "minLength": 2},
    },
}


async def echo(ctx: Context, arguments: dict[str, Any]) -> str:
    return msgspec.json.encode(arguments).decode()


def function_tool() -> ServerTool:
    return with_tool(search).tools["search"]


def raw_tool(schema: Any = SCHEMA, **described: Any) -> ServerTool:
    tool = latest.Tool(name="search", input_schema=schema, **described)
    return with_tool(tool, echo).tools["search"]


def function_with_a_schema() -> ServerTool:
    schema = {"type": "object", "properties": {"q": {"type": "string"}, "limit": {}}}
    return with_tool(search, input_schema={**schema, "required": ["q"]}).tools["search"]


def offering(*tool: Any, **transformation: Any) -> Server:
    """Return a server with one transformed tool."""
    return with_tool(transformed(*tool, **transformation))


# --- lists ---


@every_revision
async def test_a_tool_is_listed_as_it_was_described_anew(revision: str) -> None:
    other = with_tool(search, title="Search", meta={"a": 1})
    server = offering(
        other.tools["search"],
        name="find",
        description="Find something.",
        annotations=latest.ToolAnnotations(read_only_hint=True),
        icons=[latest.Icon(src="https://example.org/a.png")],
        meta={"b": 2},
    )
    tool = await listed(server, revision)
    by_hand = with_tool(
        search,
        name="find",
        title="Search",
        description="Find something.",
        annotations=latest.ToolAnnotations(read_only_hint=True),
        icons=[latest.Icon(src="https://example.org/a.png")],
        meta={"b": 2},
    )
    assert tool == await listed(by_hand, revision)


async def test_what_is_given_empty_is_taken_away() -> None:
    icons = [latest.Icon(src="https://example.org/a.png")]
    other = with_tool(search, title="Search", icons=icons, meta={"a": 1})
    tool = await listed(offering(other.tools["search"], title="", icons=[], meta={}))
    assert (tool.title, tool.icons, tool.meta) == (None, None, None)


async def test_the_tool_itself_stays_as_it_was() -> None:
    server = with_tool(search)
    before = msgspec.json.encode(server.tools["search"].tool)
    server.transform_tool("search", keep=True, name="find", arguments={"q": Argument(name="query")})
    assert msgspec.json.encode(server.tools["search"].tool) == before
    assert server.tools.names == ["search", "find"]


async def test_a_transformed_tool_stands_for_the_one_it_is_made_of() -> None:
    server = with_tool(search)
    server.transform_tool("search", name="find")
    assert server.tools.names == ["find"]


async def test_a_tool_may_keep_its_name() -> None:
    server = with_tool(search)
    server.transform_tool("search", description="Look it up.")
    assert (await listed(server)).description == "Look it up."


@every_revision
async def test_a_schema_has_the_arguments_that_clients_see(revision: str) -> None:
    server = offering(
        function_tool(),
        arguments={
            "q": Argument(name="query", description="what to look for"),
            "limit": Argument(default=20, schema={"maximum": 100}),
            "page": Argument(hide=True),
            "kind": Argument(required=True, schema={"enum": ["blog", "news"]}),
        },
    )
    assert (await listed(server, revision)).input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "limit": {"type": "integer", "default": 20, "maximum": 100},
            "kind": {"enum": ["blog", "news"]},
        },
        "required": ["query", "kind"],
        "additionalProperties": False,
    }


async def test_definitions_that_only_hidden_arguments_need_are_left_out() -> None:
    server = offering(raw_tool(), arguments={"secret": Argument(fixed="key")})
    assert set((await listed(server)).input_schema["$defs"]) == {"place", "number"}


async def test_pointers_to_a_renamed_argument_follow_it() -> None:
    server = offering(
        raw_tool(), arguments={"where": Argument(name="at/in"), "secret": Argument(fixed="key")}
    )
    schema = (await listed(server)).input_schema
    assert schema["properties"]["also"] == {"$ref": "#/properties/at~1in"}
    validator = jsonschema_rs.validator_for(schema)
    assert not validator.is_valid({"q": "", "also": {"x": "one"}})
    assert validator.is_valid({"q": "", "also": {"x": 1}})


async def test_what_others_refer_to_is_kept_when_it_is_hidden() -> None:
    server = offering(
        raw_tool(), arguments={"where": Argument(hide=True), "secret": Argument(fixed="key")}
    )
    schema = (await listed(server)).input_schema
    assert "where" not in schema["properties"]
    validator = jsonschema_rs.validator_for(schema)
    assert not validator.is_valid({"q": "", "also": {"x": "one"}})
    assert validator.is_valid({"q": "", "also": {"x": 1}})


async def test_conditions_between_arguments_use_the_new_names() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
        "then": {"required": ["b"]},
        "dependentRequired": {"b": ["a"]},
        "dependentSchemas": {"b": {"properties": {"a": {"minimum": 1}}}},
        "examples": [{"a": 1, "b": 2}],
    }
    server = offering(raw_tool(schema), arguments={"a": Argument(name="first")})
    seen = (await listed(server)).input_schema
    assert seen == msgspec.json.decode(msgspec.json.encode(schema).replace(b'"a"', b'"first"'))
    assert '"b" is a required' in await failure(server, first=1)
    assert '"first" is a required' in await failure(server, b=1)
    assert texts(await call(server, first=1, b=2)) == ['{"a":1,"b":2}']


async def test_an_old_dialect_sees_what_is_added_to_a_reference() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/n"}},
        "definitions": {"n": {"type": "integer"}},
    }
    server = offering(raw_tool(schema), arguments={"a": Argument(schema={"maximum": 3})})
    validator = jsonschema_rs.validator_for((await listed(server)).input_schema)
    assert [validator.is_valid({"a": n}) for n in (3, 4, "x")] == [True, False, False]


async def test_an_argument_that_takes_nothing_goes_on_taking_nothing() -> None:
    schema = {"type": "object", "properties": {"a": False, "b": True}}
    tell = Argument(description="reserved")
    server = offering(raw_tool(schema), arguments={"a": tell, "b": tell})
    assert (await listed(server)).input_schema["properties"] == {
        "a": {"not": {}, "description": "reserved"},
        "b": {"description": "reserved"},
    }


async def test_an_output_schema_stays() -> None:
    tool = (await listed(with_tool(count))).output_schema
    assert tool
    assert (await listed(offering(count, name="find"))).output_schema == tool


async def test_marks_for_headers_follow_their_argument() -> None:
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "q": {"type": "string"},
        },
    }
    server = offering(
        raw_tool(schema),
        arguments={
            "region": Argument(name="where"),
            "q": Argument(schema={"x-mcp-header": "Words"}),
        },
    )
    assert (await listed(server)).input_schema["properties"] == {
        "where": {"type": "string", "x-mcp-header": "Region"},
        "q": {"type": "string", "x-mcp-header": "Words"},
    }
    assert texts(await call(server, where="eu", q="a")) == ['{"region":"eu","q":"a"}']


async def test_a_header_repeats_the_argument_that_clients_know() -> None:
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }
    app = offering(raw_tool(schema), arguments={"region": Argument(name="where")}).asgi()
    speaker = Speaker(mcp_wire.LATEST)
    message = speaker.call(1, "search", where="eu")
    headers = headers_of(speaker, message)
    right = await request(app, message, {**headers, "mcp-param-region": "eu"})
    wrong = await request(app, message, {**headers, "mcp-param-region": "us"})
    assert right.json["result"]["content"][0]["text"] == '{"region":"eu"}'
    assert wrong.status == 400


def test_an_anchor_in_a_hidden_argument_is_missed_at_once() -> None:
    properties = {"a": {"$anchor": "here", "type": "string"}, "b": {"$ref": "#here"}}
    tool = raw_tool({"type": "object", "properties": properties})
    with pytest.raises(UsageError, match="an anchor that is not there"):
        transformed(tool, arguments={"a": Argument(hide=True)})


# --- calls ---


EACH_KIND = pytest.mark.parametrize("tool", [function_tool, raw_tool, function_with_a_schema])


@every_revision
async def test_a_function_gets_its_arguments_under_its_own_names(revision: str) -> None:
    server = offering(
        function_tool(),
        name="find",
        arguments={"q": Argument(name="query"), "page": Argument(name="at")},
    )
    result = await call(server, revision, query="a", at={"number": 3}, limit=2)
    assert texts(result) == ["a 2 3 all"]


@every_revision
async def test_a_handler_gets_its_arguments_under_its_own_names(revision: str) -> None:
    server = offering(
        raw_tool(),
        name="find",
        arguments={"q": Argument(name="query"), "secret": Argument(fixed="key")},
    )
    result = await call(server, revision, query="a", also={"x": 1})
    assert texts(result) == ['{"q":"a","also":{"x":1},"secret":"key"}']


async def test_two_arguments_may_change_places() -> None:
    server = offering(
        raw_tool(),
        arguments={
            "q": Argument(name="secret"),
            "secret": Argument(name="q"),
        },
    )
    assert texts(await call(server, q="key", secret="a")) == ['{"secret":"key","q":"a"}']


async def test_a_name_that_was_a_hidden_arguments_is_free() -> None:
    server = offering(
        function_tool(),
        arguments={
            "limit": Argument(fixed=1),
            "q": Argument(name="limit"),
        },
    )
    assert texts(await call(server, limit="a")) == ["a 1 None all"]


@pytest.mark.parametrize("tool", [function_tool, raw_tool])
async def test_clients_cannot_give_what_is_fixed(tool: Any) -> None:
    arguments = {"limit": Argument(fixed=7)}
    if tool is raw_tool:
        arguments["secret"] = Argument(fixed="key")
    said = await failure(offering(tool(), arguments=arguments), q="a", limit=9)
    assert "unknown argument 'limit'" in said


async def test_what_clients_give_for_a_fixed_argument_is_ignored_by_an_open_schema() -> None:
    server = offering(function_with_a_schema(), arguments={"limit": Argument(fixed=7)})
    assert texts(await call(server, q="a", limit=9)) == ["a 7 None all"]


def loose_tool() -> Any:
    """Return the tool of a function that ignores arguments without a parameter."""
    return with_tool(search, unknown_arguments="ignore").tools["search"]


async def test_what_is_written_over_may_be_of_any_type() -> None:
    server = offering(loose_tool(), arguments={"limit": Argument(fixed=7)})
    result = await call(server, q="a", limit="x", limit_={"y": 1})
    assert texts(result) == ["a 7 None all"]


async def test_a_hidden_argument_has_the_tools_own_default() -> None:
    server = offering(loose_tool(), arguments={"limit": Argument(hide=True)})
    assert texts(await call(server, q="a", limit=9)) == ["a 5 None all"]


async def test_a_fixed_value_may_be_of_the_functions_type() -> None:
    def shift(day: datetime.date, pages: list[Page]) -> str:
        pages.append(Page(0))
        return f"{day:%d.%m.} {len(pages)}"

    server = offering(
        shift,
        arguments={
            "day": Argument(fixed=datetime.date(2026, 3, 1)),
            "pages": Argument(fixed=[Page(1)]),
        },
    )
    assert texts(await call(server)) == ["01.03. 2"]
    assert texts(await call(server)) == ["01.03. 2"]


async def test_a_default_that_a_call_changes_is_new_for_the_next() -> None:
    # The test makes the mistake that the lint rule is about.
    def grow(hidden: list[int] = [], seen: list[int] = []) -> str:  # noqa: B006
        hidden.append(1)
        seen.append(1)
        return f"{len(hidden)} {len(seen)}"

    server = offering(
        grow, arguments={"hidden": Argument(hide=True), "seen": Argument(default=[5])}
    )
    assert texts(await call(server)) == ["1 2"]
    assert texts(await call(server)) == ["1 2"]


@EACH_KIND
async def test_a_default_of_the_transformation_goes_to_the_tool(tool: Any) -> None:
    arguments: dict[str, Any] = {"limit": Argument(default=20)}
    if tool is raw_tool:
        arguments["secret"] = Argument(fixed="key")
    server = offering(tool(), arguments=arguments)
    assert "20" in texts(await call(server, q="a"))[0]
    assert "9" in texts(await call(server, q="a", limit=9))[0]


async def test_an_argument_that_the_tool_requires_may_have_a_default() -> None:
    server = offering(function_tool(), arguments={"q": Argument(default="all of it")})
    assert "required" not in (await listed(server)).input_schema
    assert texts(await call(server)) == ["all of it 5 None all"]


@every_revision
async def test_a_value_is_made_for_each_call(revision: str) -> None:
    made: list[str] = []

    async def key(ctx: Context) -> str:
        made.append(ctx.revision)
        return f"key {len(made)}"

    server = offering(
        raw_tool(), arguments={"secret": Argument(make=key), "limit": Argument(make=lambda ctx: 3)}
    )
    async with served(server, revision) as session:
        for n in (1, 2):
            result = await session.call_tool("search", {"q": "a"})
            assert texts(result) == [f'{{"q":"a","secret":"key {n}","limit":3}}']
    assert made == [revision, revision]


@asks
async def test_what_makes_a_value_may_ask_the_user(revision: str) -> None:
    async def key(ctx: Context) -> str:
        answer = await ctx.elicit("Which key?", Key)
        assert isinstance(answer, Accepted)
        return answer.content.key

    server = offering(raw_tool(), arguments={"secret": Argument(make=key)})
    async with answering(server, revision, lambda asked: accept(key="theirs")) as client:
        assert await client.text("search", q="a") == '{"q":"a","secret":"theirs"}'


async def test_arguments_that_pydantic_reads_are_renamed_too() -> None:
    server = offering(lend, arguments={"book": Argument(name="item"), "days": Argument(fixed=1)})
    assert texts(await call(server, item={"title": "Emma"})) == ["Emma 1"]
    assert "`$.arguments.item.title`" in await failure(server, item={})


async def test_fixed_arguments_are_enough_for_a_tool_with_a_schema_of_its_own() -> None:
    server = offering(function_with_a_schema(), arguments={"q": Argument(fixed="words")})
    async with talking(server, SESSIONS) as client:
        called = await client.ask(client.speaker.request(1, "tools/call", {"name": "search"}))
    assert called["result"]["content"][0]["text"] == "words 5 None all"


async def test_a_transformed_tool_can_be_transformed() -> None:
    once = transformed(
        raw_tool(),
        name="find",
        arguments={"q": Argument(name="query"), "secret": Argument(make=lambda ctx: "key")},
    )
    server = offering(once, arguments={"query": Argument(name="words"), "limit": Argument(fixed=1)})
    assert texts(await call(server, words="a")) == ['{"q":"a","limit":1,"secret":"key"}']
    assert "`$.arguments.words`" in await failure(server, words=1)


async def test_a_result_may_be_changed() -> None:
    def longer(found: list[int]) -> list[int]:
        return [*found, 9]

    server = offering(count, result=longer)
    result = await call(server, to=2)
    assert result.structured_content == [0, 1, 9]


async def test_what_changes_a_result_may_be_async() -> None:
    async def shorter(text: str) -> str:
        return text[:4]

    server = offering(raw_tool({"type": "object"}), result=shorter)
    assert texts(await call(server, a=1)) == ['{"a"']


async def test_a_changed_result_is_held_to_the_output_schema(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.CRITICAL):
        result = await call(offering(count, result=str), to=2)
    assert result.is_error


@asks
async def test_a_question_is_not_taken_for_a_result(revision: str) -> None:
    async def plain(ctx: Context) -> str | latest.InputRequiredResult:
        if ctx.input_responses is None:
            return latest.InputRequiredResult(input_requests={"a": latest.ListRootsRequest()})
        return "done"

    server = offering(plain, result=str.upper)
    async with answering(server, revision, lambda asked: {"roots": []}) as client:
        assert await client.text("plain") == "DONE"


async def test_a_tool_that_runs_as_a_task_does_so_under_another_name() -> None:
    other = Server("other")

    @other.tool(task="optional")
    async def work(label: str) -> str:
        return f"{label} is done"

    tool = transformed(other.tools["work"], arguments={"label": Argument(name="what")})
    async with conversing(with_tool(tool), CORE) as client:
        (seen,) = (await client.ask("tools/list"))["tools"]
        assert seen["execution"]["taskSupport"] == "optional"
        id = await client.make("work", what="tea")
        result = await client.ask("tasks/result", taskId=id)
    assert result["content"][0]["text"] == "tea is done"


async def test_hooks_see_the_call_as_the_client_made_it() -> None:
    server = offering(function_tool(), name="find", arguments={"q": Argument(name="query")})
    seen: list[Any] = []

    @server.hooks.before_call_tool
    def note(ctx: Context, params: Any) -> None:
        seen.append((params.name, params.arguments))

    assert texts(await call(server, query="a")) == ["a 5 None all"]
    assert seen == [("find", {"query": "a"})]


async def test_plain_arguments_are_renamed_too() -> None:
    tool = transformed(
        raw_tool(),
        arguments={
            "q": Argument(name="query", schema={"maxLength": 3}),
            "secret": Argument(fixed="key"),
            "limit": Argument(default=4),
        },
    )
    assert tool.decode({"query": "a"}) == {"q": "a", "secret": "key", "limit": 4}
    with pytest.raises(msgspec.ValidationError, match=r"`\$\.query`"):
        tool.decode({"query": "abcd"})


async def test_plain_values_are_new_for_each_call() -> None:
    async def grow(ctx: Context, arguments: dict[str, Any]) -> str:
        arguments["list"].append(1)
        return str(len(arguments["list"]))

    tool = latest.Tool(name="grow", input_schema={"type": "object", "properties": {"list": {}}})
    server = offering(with_tool(tool, grow).tools["grow"], arguments={"list": Argument(fixed=[5])})
    async with served(server) as session:
        for _ in range(2):
            assert texts(await session.call_tool("grow")) == ["2"]


async def test_a_tool_is_offered_in_another_way_in_one_session() -> None:
    server = with_tool(search)

    @server.tool
    async def narrow(ctx: Context) -> str:
        server.for_session(ctx.session).transform_tool("search", description="Narrower.")
        return ""

    async with served(server, SESSIONS) as one, served(server, SESSIONS) as other:
        await one.call_tool("narrow")
        seen = [(await session.list_tools()).tools for session in (one, other)]
    found = [{tool.name: tool.description for tool in tools}["search"] for tools in seen]
    assert found == ["Narrower.", "Search the archive."]


# --- errors of arguments ---


@every_revision
@EACH_KIND
async def test_clients_are_told_of_mistakes_in_the_names_they_know(
    tool: Any, revision: str
) -> None:
    arguments = {"q": Argument(name="query")}
    if tool is raw_tool:
        arguments["secret"] = Argument(fixed="key")
    server = offering(tool(), arguments=arguments)
    said = await failure(server, revision, query=1)
    assert "`$.arguments.query`" in said
    assert said.startswith("search: ")
    assert "query" in await failure(server, revision)
    assert "`q`" not in await failure(server, revision, q="a")


@every_revision
async def test_mistakes_below_an_argument_keep_their_path(revision: str) -> None:
    server = offering(
        raw_tool(), arguments={"where": Argument(name="place"), "secret": Argument(fixed="key")}
    )
    said = await failure(server, revision, q="a", place={"x": "one"})
    assert "`$.arguments.place.x`" in said


@every_revision
async def test_a_value_outside_narrower_keywords_is_refused(revision: str) -> None:
    server = offering(
        function_tool(), arguments={"kind": Argument(name="of", schema={"enum": ["blog"]})}
    )
    assert "`$.arguments.of`" in await failure(server, revision, q="a", of="news")
    assert texts(await call(server, revision, q="a", of="blog")) == ["a 5 None blog"]


@every_revision
async def test_keywords_stand_beside_definitions_that_refer_to_arguments(revision: str) -> None:
    schema = {
        "type": "object",
        "$defs": {"word": {"$ref": "#/properties/first"}},
        "properties": {"first": {"type": "string"}, "next": {"$ref": "#/$defs/word"}},
    }

    async def joined(ctx: Context, arguments: dict[str, Any]) -> str:
        return "".join(arguments.values())

    tool = with_tool(latest.Tool(name="join", input_schema=schema), joined).tools["join"]
    server = offering(tool, arguments={"next": Argument(schema={"maxLength": 2})})
    assert texts(await call(server, revision, first="abc", next="de")) == ["abcde"]
    assert "`$.arguments.next`" in await failure(server, revision, first="a", next="def")


@every_revision
@EACH_KIND
async def test_an_argument_made_required_is_missed(tool: Any, revision: str) -> None:
    server = offering(tool(), arguments={"limit": Argument(name="most", required=True)})
    more = {"secret": "key"} if tool is raw_tool else {}
    said = await failure(server, revision, q="a", **more)
    assert "missing required field `most`" in said


@every_revision
async def test_arguments_are_wrong_before_a_value_was_needed_or_after(revision: str) -> None:
    server = offering(
        raw_tool(),
        arguments={"q": Argument(name="query"), "secret": Argument(make=lambda ctx: "key")},
    )
    assert "query" in await failure(server, revision)
    assert "`$.arguments.query`" in await failure(server, revision, query=1)


async def test_a_made_value_that_does_not_fit_is_no_mistake_of_the_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = offering(raw_tool(), arguments={"secret": Argument(make=lambda ctx: "k")})
    with caplog.at_level(logging.CRITICAL):
        result = await call(server, q="a")
    assert result.is_error
    (said,) = texts(result)
    assert "secret" in said
    assert "$.arguments" not in said


@every_revision
@pytest.mark.parametrize("name", ["first", "second"])
async def test_a_mistake_is_told_as_the_revision_tells_it(revision: str, name: str) -> None:
    # One is found before the call, the other when the value has been made.
    make = {"secret": Argument(make=lambda ctx: "key")} if name == "second" else {}
    server = offering(raw_tool(), name=name, arguments={"q": Argument(name="query"), **make})
    given = {"secret": "key"} if name == "first" else {}
    speaker = Speaker(revision)
    async with talking(server, revision) as client:
        params = {"name": name, "arguments": {"query": 1, **given}}
        answer = await client.ask(speaker.request(1, "tools/call", params))
    as_error = mcp_wire.profile(revision).bad_arguments == "protocol_error"
    said = answer["error"]["message"] if as_error else answer["result"]["content"][0]["text"]
    assert said == f'{name}: the value is not of type "string" - at `$.arguments.query`'


@every_revision
async def test_arguments_that_are_no_object_break_the_protocol(revision: str) -> None:
    server = offering(raw_tool(), arguments={"secret": Argument(fixed="key")})
    speaker = Speaker(revision)
    async with talking(server, revision) as client:
        params = {"name": "search", "arguments": [1]}
        answer = await client.ask(speaker.request(1, "tools/call", params))
    assert answer["error"]["code"] == -32602


# --- errors of transformations ---


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": Argument(name="x")}, r"no argument 'query'.*'q'"),
        ({"limits": Argument(hide=True)}, r"did you mean 'limit'\?"),
        ({"q": Argument(name="limit")}, "two arguments are called 'limit'"),
        ({"q": Argument(hide=True)}, "requires q: .*fixed= or make="),
        ({"q": Argument(required=False)}, "requires q: .*default="),
        ({"limit": Argument(fixed="many")}, r"`\$\.limit`"),
        ({"limit": Argument(default="many")}, r"`\$\.limit`"),
        ({"limit": Argument(default=9, schema={"maximum": 3})}, r"`\$\.limit`"),
        ({"limit": Argument(schema={"$ref": "#/$defs/none"})}, "not there"),
        ({"limit": Argument(schema={"maximum": "a"})}, "no valid schema"),
    ],
)
def test_a_transformation_that_cannot_be_says_why(arguments: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        transformed(function_tool(), arguments=arguments)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Argument(fixed=1, make=lambda ctx: 1), "fixed= and make="),
        (lambda: Argument(fixed=1, name="a"), "name= is for one that clients see"),
        (lambda: Argument(hide=True, default=1), "fixed= is the value it has"),
        (lambda: Argument(make=lambda ctx: 1, schema={}), "schema="),
        (lambda: Argument(hide=True, description="a"), "description="),
        (lambda: Argument(hide=True, required=False), "required="),
        (lambda: Argument(required=True, default=1), "needs no default="),
        (lambda: Argument(schema={"default": 1}), "give default="),
        (lambda: Argument(name=""), "leave name= out"),
    ],
)
def test_an_argument_that_contradicts_itself_says_so(made: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        made()


@pytest.mark.parametrize(
    "keyword",
    [
        {"patternProperties": {"^q": {"maxLength": 3}}},
        {"propertyNames": {"maxLength": 5}},
        {"minProperties": 1},
        {"allOf": [{"$ref": "#/$defs/all"}], "$defs": {"all": {"required": ["q"]}}},
    ],
)
def test_a_schema_that_goes_by_names_cannot_be_renamed(keyword: Any) -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, **keyword}
    with pytest.raises(UsageError, match="names must stay"):
        transformed(raw_tool(schema), arguments={"q": Argument(name="query")})
    transformed(raw_tool(schema), arguments={"q": Argument(description="the words")})


@pytest.mark.parametrize(
    "keyword", [{"anyOf": [{"required": ["q"]}, {}]}, {"dependentRequired": {"q": ["r"]}}]
)
def test_what_others_depend_on_cannot_be_hidden(keyword: Any) -> None:
    properties: dict[str, Any] = {"q": {"type": "string"}, "r": {}}
    schema = {"type": "object", "properties": properties, **keyword}
    with pytest.raises(UsageError, match="q cannot be hidden"):
        transformed(raw_tool(schema), arguments={"q": Argument(fixed="a")})


def test_a_tool_that_is_not_there_is_named_with_those_that_are() -> None:
    server = with_tool(search)
    with pytest.raises(UsageError, match="no tool 'serch': did you mean 'search'"):
        server.transform_tool("serch", name="find")


def test_a_name_that_is_taken_is_refused_and_nothing_is_lost() -> None:
    server = with_tool(search)
    server.add_tool(search, name="find")
    with pytest.raises(UsageError, match="'find' is there already"):
        server.transform_tool("search", name="find")
    assert server.tools.names == ["search", "find"]


def test_a_tool_that_is_one_already_is_not_described_by_add_tool() -> None:
    with pytest.raises(UsageError, match="transformed"):
        Server("other").add_tool(function_tool(), name="find")  # type: ignore[call-overload]


async def test_a_tool_of_another_server_is_offered_as_it_is() -> None:
    server = with_tool(function_tool())
    assert texts(await call(server, q="a")) == ["a 5 None all"]


# --- documented programs ---


@every_revision
async def test_the_documented_transformation_does_what_it_says(revision: str) -> None:
    with program("transformation", "search") as shown:
        server: Server = shown.server
    schema = (await listed(server, revision)).input_schema
    assert list(schema["properties"]) == ["words", "limit"]
    assert texts(await call(server, revision, words="lamp")) == ["guest: lamp"]
    said = await failure(server, revision, words="lamp", tenant="other")
    assert "unknown argument 'tenant'" in said
    assert "`$.arguments.limit`" in await failure(server, revision, words="lamp", limit=30)
    assert shown.archive.tools.names == ["search"]

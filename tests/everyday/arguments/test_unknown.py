"""Unknown arguments: refused with the nearest name, ignored, or taken by a `**` parameter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import pydantic
import pytest

from mcp_gen import (
    Argument,
    Context,
    Depends,
    InvalidParams,
    McpError,
    Server,
    UsageError,
    text_of,
    transformed,
)
from mcp_gen.server.functions.suggestions import MAX_UNKNOWN, describe_unknown
from mcp_gen.types import Prompt, PromptArgument, Tool
from tests.server.tools.calls import call, failure, listed, with_tool
from tests.support.frames import each_lifecycle, every_revision
from tests.support.peers.scripted import served


def weather(city: str, days: int = 1) -> str:
    return f"{city} {days}"


def nothing() -> str:
    return "nothing"


def own_word(additional: bool) -> Server:
    """Return a server with a tool that has a schema of its own."""
    city: dict[str, Any] = {"city": {}}
    schema = {"type": "object", "properties": city, "additionalProperties": additional}
    return with_tool(Tool(name="weather", input_schema=schema), shown)


def shown(ctx: Context, given: dict[str, Any]) -> str:
    return f"{given}"


# --- refused ---


@every_revision
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"citty": "Ulm"}, "unknown argument 'citty': did you mean 'city'?"),
        ({"city": "Ulm", "wind": 1}, "unknown argument 'wind': there are 'city', 'days'"),
        (
            {"cit": "Ulm", "dais": 1},
            "unknown argument 'cit': did you mean 'city'?; "
            "unknown argument 'dais': did you mean 'days'?",
        ),
    ],
)
async def test_an_unknown_argument_is_refused_with_the_nearest_name(
    given: dict[str, Any], said: str, revision: str
) -> None:
    assert await failure(with_tool(weather), revision, **given) == f"weather: {said}"


async def test_a_tool_without_arguments_says_that_there_are_none() -> None:
    said = await failure(with_tool(nothing), city="Ulm")
    assert said == "nothing: unknown argument 'city': there are none"


async def test_the_schema_says_that_there_are_no_other_arguments() -> None:
    schema = (await listed(with_tool(weather))).input_schema
    assert schema == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
        "required": ["city"],
        "additionalProperties": False,
    }


@each_lifecycle
async def test_a_mounted_tool_refuses_as_where_it_comes_from(revision: str) -> None:
    outer = Server("outer")
    outer.mount("in", with_tool(weather))
    async with served(outer, revision) as session:
        result = await session.call_tool("in_weather", {"citty": "Ulm"})
    assert text_of(result) == "weather: unknown argument 'citty': did you mean 'city'?"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"twon": "Ulm"}, "unknown argument 'twon': did you mean 'town'?"),
        ({"city": "Ulm"}, "unknown argument 'city': there is 'town'"),
        ({"town": "Ulm", "days": 2}, "unknown argument 'days': there is 'town'"),
    ],
)
@pytest.mark.parametrize("checked", [False, True])
async def test_a_transformed_tool_knows_the_names_that_clients_know(
    given: dict[str, Any], said: str, checked: bool
) -> None:
    town = Argument(name="town", schema={"minLength": 1} if checked else None)
    inner = with_tool(weather)
    arguments = {"city": town, "days": Argument(fixed=3)}
    server = with_tool(transformed(inner.tools["weather"], arguments=arguments))
    assert await failure(server, **given) == f"weather: {said}"
    assert text_of(await call(server, town="Ulm")) == "Ulm 3"


async def test_a_tool_with_a_schema_of_its_own_follows_that() -> None:
    said = await failure(own_word(False), citty="Ulm")
    assert said == "weather: unknown argument 'citty': did you mean 'city'?"
    assert text_of(await call(own_word(True), citty="Ulm")) == "{'citty': 'Ulm'}"


async def test_a_function_with_an_input_schema_follows_that() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    server = with_tool(weather, input_schema=schema)
    assert text_of(await call(server, city="Ulm", citty="Ulm")) == "Ulm 1"


def test_a_message_names_only_some_of_many_unknown_arguments() -> None:
    given = [f"{i}{'x' * 1_000}" for i in range(1_000)]
    said = describe_unknown(given, ["city"])
    assert said is not None
    assert said.endswith(f"; and {1_000 - MAX_UNKNOWN} more")
    assert len(said) < 500


# --- ignored ---


@pytest.mark.parametrize("unknown", ["ignore", None])
@each_lifecycle
async def test_a_tool_or_a_server_ignores_unknown_arguments(unknown: Any, revision: str) -> None:
    server = Server("loose", unknown_arguments="refuse" if unknown else "ignore")
    server.add_tool(weather, unknown_arguments=unknown)
    assert text_of(await call(server, revision, city="Ulm", citty="Ulm")) == "Ulm 1"
    assert "additionalProperties" not in (await listed(server)).input_schema


async def test_a_tool_refuses_where_its_server_ignores() -> None:
    server = Server("loose", unknown_arguments="ignore")
    server.add_tool(weather, unknown_arguments="refuse")
    assert "did you mean 'city'" in await failure(server, citty="Ulm")


async def test_a_tool_of_two_servers_does_as_the_first_says() -> None:
    first = Server("first", unknown_arguments="ignore")
    first.add_tool(weather)
    second = with_tool(first.tools["weather"])
    assert text_of(await call(second, city="Ulm", citty="Ulm")) == "Ulm 1"


@pytest.mark.parametrize("name", ["tool", "prompt"])
def test_another_word_than_these_two_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match='expected "refuse", "ignore" or None'):
        getattr(Server("odd"), name)(unknown_arguments="allow")(weather)
    with pytest.raises(UsageError, match="Server: unknown_arguments='allow'"):
        Server("odd", unknown_arguments="allow")  # type: ignore[arg-type]  # the mistake


def test_the_option_and_an_input_schema_are_two_words() -> None:
    with pytest.raises(UsageError, match="write `additionalProperties` into it"):
        with_tool(weather, input_schema={"type": "object"}, unknown_arguments="ignore")


# --- taken ---


NONE: dict[str, int] = {}


def numbers(city: str, **more: int) -> dict[str, Any]:
    return {"city": city, "more": more}


def anything(**more: Any) -> dict[str, Any]:
    return more


del anything.__annotations__["more"]


class Point(pydantic.BaseModel):
    x: int


def points(**more: Point) -> dict[str, int]:
    return {name: point.x for name, point in more.items()}


def with_context(
    ctx: Context, db: Annotated[str, Depends(lambda: "db")], **more: Any
) -> dict[str, Any]:
    return more


@each_lifecycle
@pytest.mark.parametrize(
    ("function", "given", "made"),
    [
        (numbers, {"city": "Ulm", "b": 2, "a": 1}, {"city": "Ulm", "more": {"b": 2, "a": 1}}),
        (numbers, {"city": "Ulm", "more": 3}, {"city": "Ulm", "more": {"more": 3}}),
        (numbers, {"city": "Ulm"}, {"city": "Ulm", "more": NONE}),
        (anything, {"a": [1], "b": None}, {"a": [1], "b": None}),
        (points, {"a": {"x": 1}}, {"a": 1}),
        (with_context, {"a": 1}, {"a": 1}),
    ],
)
async def test_a_function_with_keywords_takes_other_arguments(
    function: Callable[..., Any], given: dict[str, Any], made: Any, revision: str
) -> None:
    result: Any = await call(with_tool(function), revision, **given)
    assert result.structured_content == made


@pytest.mark.parametrize(
    ("function", "schema"),
    [
        (
            numbers,
            {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
                "additionalProperties": {"type": "integer"},
            },
        ),
        (anything, {"type": "object"}),
    ],
)
async def test_the_schema_has_the_type_of_other_arguments(
    function: Callable[..., Any], schema: Any
) -> None:
    assert (await listed(with_tool(function))).input_schema == schema


@pytest.mark.parametrize(
    ("function", "given", "path"),
    [
        (numbers, {"city": "Ulm", "a": "x"}, "`$.arguments.a`"),
        (points, {"a": {"x": "y"}}, "`$.arguments.a.x`"),
        (points, {"a": 5}, "`$.arguments.a`"),
    ],
)
async def test_another_argument_that_does_not_fit_is_named(
    function: Callable[..., Any], given: dict[str, Any], path: str
) -> None:
    assert (await failure(with_tool(function), **given)).endswith(f" - at {path}")


@pytest.mark.parametrize("name", ["ctx", "db"])
async def test_keywords_take_no_name_that_a_client_does_not_see(name: str) -> None:
    said = await failure(with_tool(with_context), **{name: "mine"})
    assert f"unknown argument '{name}'" in said


async def test_keywords_take_no_name_that_a_partial_has_bound() -> None:
    server = Server("bound")
    server.add_tool(partial(numbers, city="Ulm"), name="numbers")
    assert "unknown argument 'city'" in await failure(server, city=1)


async def test_a_transformed_function_with_keywords_takes_other_arguments() -> None:
    inner = with_tool(numbers)
    server = with_tool(
        transformed(inner.tools["numbers"], arguments={"city": Argument(name="town")})
    )
    result: Any = await call(server, town="Ulm", a=1)
    assert result.structured_content == {"city": "Ulm", "more": {"a": 1}}


def test_a_resource_has_no_keywords() -> None:
    with pytest.raises(UsageError, match="name each parameter instead"):
        Server("odd").resource("u://{city}")(numbers)


# --- prompts ---


def ask(topic: str) -> str:
    return topic


def ask_all(**topics: int) -> str:
    return f"{topics}"


def with_prompts(**options: Any) -> Server:
    """Return a server with a prompt of a function, and one of a description."""
    server = Server("prompts", **options)
    server.add_prompt(ask)
    described = Prompt(name="described", arguments=[PromptArgument(name="topic")])
    server.add_prompt(described, shown)
    return server


@every_revision
@pytest.mark.parametrize("name", ["ask", "described"])
async def test_a_prompt_refuses_an_unknown_argument(name: str, revision: str) -> None:
    async with served(with_prompts(), revision) as session:
        with pytest.raises(McpError) as caught:
            await session.get_prompt(name, {"topic": "x", "topci": "y"})
    assert caught.value.code == InvalidParams.code
    assert caught.value.message == f"{name}: unknown argument 'topci': did you mean 'topic'?"


@pytest.mark.parametrize("name", ["ask", "described"])
async def test_a_server_ignores_unknown_arguments_of_prompts(name: str) -> None:
    async with served(with_prompts(unknown_arguments="ignore")) as session:
        result = await session.get_prompt(name, {"topic": "x", "topci": "y"})
    assert "y" not in text_of(result)


async def test_a_prompt_ignores_unknown_arguments() -> None:
    server = Server("prompts")
    server.prompt(unknown_arguments="ignore")(ask)
    async with served(server) as session:
        assert text_of(await session.get_prompt("ask", {"topic": "x", "topci": "y"})) == "x"


async def test_a_prompt_with_keywords_takes_other_arguments() -> None:
    server = Server("prompts")
    server.add_prompt(ask_all)
    async with served(server) as session:
        assert text_of(await session.get_prompt("ask_all", {"a": "1"})) == "{'a': 1}"

"""Function tools: schemas, arguments and results, at every revision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import jsonschema_rs
import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server, UsageError
from mcp_wire import latest
from tests.support.frames import every_revision
from tests.support.peers.scripted import served


@dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict):
    name: str


class Tree(msgspec.Struct):
    value: int
    children: list[Tree] = []


def point() -> Point:
    return Point(1)


def maybe_a_point() -> Point | None:
    return Point(1)


def no_point() -> Point | None:
    return None


def named() -> Named:
    return {"name": "a"}


def tree() -> Tree:
    return Tree(1, [Tree(2)])


def points() -> list[Point]:
    return [Point(1)]


def number() -> int:
    return 1


def truth() -> bool:
    return False


def fraction() -> float:
    return 0.5


def counts() -> dict[str, int]:
    return {"a": 1}


def counts_or_numbers() -> dict[str, int] | list[int]:
    return {"a": 1}


def numbers() -> list[int]:
    return []


DATA = [
    point,
    maybe_a_point,
    no_point,
    named,
    tree,
    points,
    number,
    truth,
    fraction,
    counts,
    counts_or_numbers,
    numbers,
]
returning_data = pytest.mark.parametrize("function", DATA, ids=lambda f: f.__name__)


def with_tool(function: Callable[..., Any], **described: Any) -> Server:
    server = Server("tools")
    server.add_tool(function, **described)
    return server


async def listed(function: Callable[..., Any], revision: str, **described: Any) -> Any:
    """Return the one tool as listed at the revision."""
    async with served(with_tool(function, **described), revision) as session:
        (tool,) = (await session.list_tools()).tools
        return tool


async def called(function: Callable[..., Any], revision: str, **arguments: Any) -> Any:
    async with served(with_tool(function, name="t"), revision) as session:
        return await session.call_tool("t", arguments)


# --- return values ---


@every_revision
@returning_data
async def test_structured_content_is_there_exactly_where_a_schema_describes_it(
    revision: str, function: Callable[..., Any]
) -> None:
    tool = await listed(function, revision)
    result = msgspec.to_builtins(await called(function, revision))
    described = getattr(tool, "output_schema", None) is not None
    assert described == (mcp_wire.profile(revision).structured_content != "none")
    assert ("structuredContent" in result) == described


@every_revision
@returning_data
async def test_structured_content_is_valid_for_its_schema(
    revision: str, function: Callable[..., Any]
) -> None:
    schema = getattr(await listed(function, revision), "output_schema", None)
    if schema is not None:
        result = msgspec.to_builtins(await called(function, revision))
        jsonschema_rs.validate(schema, result["structuredContent"])


@every_revision
@returning_data
async def test_data_is_there_as_text_too(revision: str, function: Callable[..., Any]) -> None:
    (block,) = (await called(function, revision)).content
    assert msgspec.json.decode(block.text) == msgspec.to_builtins(function())


@every_revision
@pytest.mark.parametrize(
    ("value", "texts"),
    [("a", ["a"]), ("", [""]), (None, []), (["a", "b"], ["a", "b"]), ([], []), (5, ["5"])],
)
async def test_what_is_no_data_is_text_alone(revision: str, value: Any, texts: list[str]) -> None:
    def say() -> Any:
        return value

    result = await called(say, revision)
    assert [block.text for block in result.content] == texts
    assert "structuredContent" not in msgspec.to_builtins(result)


@every_revision
async def test_content_blocks_are_sent_as_they_are(revision: str) -> None:
    def picture() -> list[latest.ImageContent | latest.TextContent]:
        return [
            latest.ImageContent(data="AAAA", mime_type="image/png"),
            latest.TextContent(text="a"),
        ]

    image, text = (await called(picture, revision)).content
    assert (image.type, image.mime_type, text.text) == ("image", "image/png", "a")


@every_revision
async def test_a_function_that_may_return_a_block_promises_no_data(revision: str) -> None:
    def f() -> int | latest.TextContent:
        return latest.TextContent(text="a")

    assert getattr(await listed(f, revision), "output_schema", None) is None
    assert (await called(f, revision)).content[0].text == "a"


@every_revision
@pytest.mark.parametrize("written_at", mcp_wire.REVISIONS)
async def test_a_result_of_any_revision_is_sent_at_any_other(
    revision: str, written_at: str
) -> None:
    types = mcp_wire.types(written_at)

    def made() -> Any:
        return types.CallToolResult(content=[types.TextContent(text="a")], is_error=True)

    result = await called(made, revision)
    assert (result.content[0].text, result.is_error) == ("a", True)


async def test_a_block_that_the_revision_lacks_is_restated() -> None:
    def link() -> latest.ResourceLink:
        return latest.ResourceLink(name="a", uri="file:///a")

    result = await called(link, mcp_wire.REVISIONS[0])
    assert [block.text for block in result.content] == ["a: file:///a"]


# --- parameters ---


@every_revision
async def test_the_input_schema_says_what_the_function_takes(revision: str) -> None:
    def f(a: int, b: Annotated[str, msgspec.Meta(description="second")] = "x") -> None: ...

    assert (await listed(f, revision)).input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "string", "description": "second", "default": "x"},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


@every_revision
async def test_the_context_is_no_argument(revision: str) -> None:
    def where(ctx: Context) -> str:
        return ctx.revision

    assert "properties" not in {
        k: v for k, v in (await listed(where, revision)).input_schema.items() if v
    }
    assert (await called(where, revision)).content[0].text == revision


@every_revision
async def test_arguments_come_as_the_types_of_the_function(revision: str) -> None:
    def f(at: Point, tags: list[str], note: str | None = None) -> str:
        return repr((at, tags, note))

    result = await called(f, revision, at={"x": 1}, tags=["a"])
    assert result.content[0].text == repr((Point(1), ["a"], None))


@every_revision
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"a": "1"}, "$.arguments.a"),
        ({"a": True}, "$.arguments.a"),
        ({"a": None}, "$.arguments.a"),
        ({"a": 1.5}, "$.arguments.a"),
        ({}, "$.arguments"),
    ],
)
async def test_wrong_arguments_are_answered_as_the_revision_demands_with_their_path(
    revision: str, arguments: Any, path: str
) -> None:
    def f(a: int) -> None: ...

    if mcp_wire.profile(revision).bad_arguments == "protocol_error":
        with pytest.raises(McpError) as caught:
            await called(f, revision, **arguments)
        assert caught.value.code == -32602
        said = caught.value.message
    else:
        result = await called(f, revision, **arguments)
        assert result.is_error is True
        said = result.content[0].text
    assert f"`{path}`" in said


@every_revision
async def test_a_default_that_a_call_could_change_is_not_shared(revision: str) -> None:
    # The test is about the shared default.
    def collect(into: list[int] = [0]) -> list[int]:  # noqa: B006
        into.append(1)
        return into

    async with served(with_tool(collect), revision) as session:
        first = await session.call_tool("collect")
        second = await session.call_tool("collect")
    assert first.content[0].text == second.content[0].text == "[0,1]"


@every_revision
async def test_an_error_of_the_function_that_looks_like_one_of_decoding_is_a_failure(
    revision: str,
) -> None:
    def f() -> None:
        msgspec.json.decode(b"nonsense")

    assert (await called(f, revision)).is_error is True


# --- descriptions ---


@every_revision
async def test_the_docstring_is_the_description(revision: str) -> None:
    def f() -> None:
        """First line:
        and its second.

        More.
        """

    assert (await listed(f, revision)).description == "First line:\nand its second.\n\nMore."


@every_revision
async def test_a_description_may_be_given(revision: str) -> None:
    tool = await listed(number, revision, name="other", description="Counts.")
    assert (tool.name, tool.description) == ("other", "Counts.")


@every_revision
async def test_tools_are_listed_in_the_order_in_which_they_were_added(revision: str) -> None:
    server = Server("order")
    for name in ("b", "c", "a"):
        server.add_tool(number, name=name)
    async with served(server, revision) as session:
        assert [tool.name async for tool in session.tools()] == ["b", "c", "a"]


@every_revision
async def test_a_tool_that_is_added_later_is_listed_and_called(revision: str) -> None:
    server = with_tool(number)
    async with served(server, revision) as session:
        assert len((await session.list_tools()).tools) == 1
        server.add_tool(truth)
        assert len((await session.list_tools()).tools) == 2
        assert (await session.call_tool("truth")).content[0].text == "false"


@every_revision
async def test_what_newer_revisions_can_say_of_a_tool_is_said_to_them_alone(revision: str) -> None:
    tool = await listed(
        number,
        revision,
        title="Number",
        icons=[latest.Icon(src="https://example.org/i.png")],
        annotations=latest.ToolAnnotations(read_only_hint=True),
    )
    known = set(mcp_wire.types(revision).Tool.__struct_fields__)
    said = {name for name in ("title", "icons", "annotations") if getattr(tool, name, None)}
    assert said == known & {"title", "icons", "annotations"}


# --- errors of definitions ---


def test_a_decorator_gives_the_function_back() -> None:
    server = Server("same")
    assert server.tool(number) is number
    assert server.tool(name="other")(number) is number


@pytest.mark.parametrize("name", ["", "a b", "ä", "a" * 129, "a/b", "a\n"])
def test_a_name_that_is_not_allowed_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="1 to 128"):
        with_tool(number, name=name)


def test_a_name_that_is_taken_is_a_usage_error() -> None:
    server = with_tool(number)
    with pytest.raises(UsageError, match="'number' is there already"):
        server.add_tool(number)


def test_a_parameter_without_a_type_is_a_usage_error() -> None:
    # A mistake that a user without a type checker makes.
    def f(a) -> None: ...  # type: ignore[no-untyped-def]

    with pytest.raises(UsageError, match="annotate a"):
        with_tool(f)


def test_parameters_without_names_are_a_usage_error() -> None:
    def f(*many: int) -> None: ...

    with pytest.raises(UsageError, match="many"):
        with_tool(f)


def test_an_annotation_that_names_nothing_is_a_usage_error() -> None:
    # Likewise.
    def f(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(UsageError, match="Nowhere"):
        with_tool(f)

"""`returns=` takes any type, and means the same at every revision."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict

import msgspec
import pytest

from mcp_gen import Client, ClientManager, InvalidResult, Server
from mcp_gen.types import CallToolResult, ImageContent, TextContent
from tests.client.tools.test_typed_results import STRUCTURED, said, saying
from tests.client.using import using
from tests.support.frames import ALL, HANDSHAKE, PER_REQUEST, every_revision

Name = NewType("Name", str)
Text = Annotated[str, "a text"]


class Colour(enum.Enum):
    RED = "red"


class Pair(TypedDict):
    a: int
    b: list[str]


@dataclass
class Wrapped:
    result: int


TOOLS: list[tuple[Any, Any]] = [
    (None, None),
    (str, "five"),
    (str, ""),
    (str, "5"),
    (str, '"quoted"'),
    (str, "null"),
    (Optional[str], None),  # noqa: UP045 - the older spelling is a type form of its own
    (str | None, "5"),
    (str | None, "null"),
    (str | None, None),
    (Name, "5"),
    (Text, "[1]"),
    (Text | None, None),
    (Literal["a", "1"], "1"),
    (Colour, Colour.RED),
    (int, 5),
    (int | None, 5),
    (int | None, None),
    (Annotated[int, msgspec.Meta(ge=1)], 5),
    (int | str, "five"),
    (list[int], [1, 2]),
    (list[int], []),
    (list[int] | None, None),
    (list[str], ["a", "b"]),
    (list[str], ["a"]),
    (list[str], ["1", "2"]),
    (list[str], []),
    (tuple[int, str], (1, "a")),
    (dict[str, int], {"result": 3}),
    (dict[str, int], {}),
    (Pair, {"a": 1, "b": ["x"]}),
    (list[Pair], [{"a": 1, "b": []}]),
    (Wrapped, Wrapped(3)),
    (bytes, b"ab"),
    (bool, False),
    (float, 1.5),
]


def giving(kind: Any, value: Any) -> Server:
    """Return a server whose tool `t` is annotated `-> kind` and gives the value."""

    def t() -> Any:
        return value

    t.__annotations__["return"] = kind
    server = Server("giving")
    server.add_tool(t, name="t")
    return server


@every_revision
@pytest.mark.parametrize(("kind", "value"), TOOLS, ids=str)
async def test_what_a_tool_of_ours_gives_comes_back(revision: str, kind: Any, value: Any) -> None:
    async with using(Client("c"), giving(kind, value), revision) as session:
        got = await session.call_tool("t", returns=kind)
    assert (got, type(got)) == (value, type(value))


@every_revision
@pytest.mark.parametrize("kind", [Any, object], ids=["Any", "object"])
async def test_any_type_is_the_value_itself(revision: str, kind: Any) -> None:
    for given in (5, [1], {"a": 1}, {"result": 5}):
        async with using(Client("c"), giving(type(given), given), revision) as session:
            assert await session.call_tool("t", returns=kind) == given


@every_revision
async def test_a_field_of_the_name_of_the_wrapper_is_part_of_the_value(revision: str) -> None:
    async with using(Client("c"), giving(Wrapped, Wrapped(3)), revision) as session:
        assert await session.call_tool("t", returns=Any) == {"result": 3}


@every_revision
async def test_without_an_argument_it_is_the_plain_result(revision: str) -> None:
    async with using(Client("c"), giving(None, None), revision) as session:
        assert type(await session.call_tool("t")) is CallToolResult


@every_revision
@pytest.mark.parametrize("given", ["done", 5])
async def test_a_tool_that_gives_something_does_not_give_nothing(revision: str, given: Any) -> None:
    async with using(Client("c"), giving(type(given), given), revision) as session:
        with pytest.raises(InvalidResult, match=r"^t: .*(nothing|null).*got .* - at `\$`$"):
            await session.call_tool("t", returns=None)


REFUSED: list[tuple[Any, Any, Any, str]] = [
    (str, "about five", int, "t: expected int, got text that is not JSON - at `$`"),
    (str, "about five", int | None, "t: expected int | None, got text that is not JSON - at `$`"),
    (None, None, int, "t: expected int, got nothing - at `$`"),
    (None, None, str, "t: expected str, got nothing - at `$`"),
    (None, None, Pair, "t: expected Pair, got nothing - at `$`"),
    (Pair, {"a": 1, "b": []}, Wrapped, "t: Object missing required field `result` - at `$`"),
    (dict[str, int], {"a": 1}, dict[str, str], "t: Expected `str`, got `int` - at `$[...]`"),
]


@every_revision
@pytest.mark.parametrize(("kind", "value", "wanted", "message"), REFUSED)
async def test_what_does_not_fit_names_the_tool_the_path_and_both_types(
    revision: str, kind: Any, value: Any, wanted: Any, message: str
) -> None:
    async with using(Client("c"), giving(kind, value), revision) as session:
        with pytest.raises(InvalidResult) as caught:
            await session.call_tool("t", returns=wanted)
    assert str(caught.value) == message


@pytest.mark.parametrize("revision", STRUCTURED)
@pytest.mark.parametrize(
    ("kind", "value", "wanted", "path"), [(int, 5, str, "$"), (list[int], [1], list[str], "$[0]")]
)
async def test_data_is_not_read_as_its_text(
    revision: str, kind: Any, value: Any, wanted: Any, path: str
) -> None:
    async with using(Client("c"), giving(kind, value), revision) as session:
        with pytest.raises(InvalidResult) as caught:
            await session.call_tool("t", returns=wanted)
    assert str(caught.value) == f"t: Expected `str`, got `int` - at `{path}`"


@pytest.mark.parametrize("revision", STRUCTURED)
async def test_an_error_is_of_the_value_in_a_wrapper_of_any_schema(revision: str) -> None:
    schema = {"type": "object", "title": "addOutput", "properties": {"result": {}}}
    server = saying(revision, schema, structuredContent={"result": ["a"]})
    with pytest.raises(InvalidResult) as caught:
        await said(server, revision, list[int])
    assert str(caught.value) == "t: Expected `int`, got `str` - at `$[0]`"


@every_revision
@pytest.mark.parametrize(("text", "value"), [('{"result": 5}', 5), (" 5\n", 5)])
async def test_json_in_a_text_is_read_as_data_is(revision: str, text: str, value: int) -> None:
    server = saying(revision, None, content=[{"type": "text", "text": text}])
    assert await said(server, revision, int) == value


async def test_content_without_text_is_no_value() -> None:
    picture = ImageContent(data="", mime_type="image/png")
    async with using(
        Client("c"), giving(CallToolResult, CallToolResult(content=[picture])), PER_REQUEST
    ) as session:
        for wanted in (None, str, str | None, int):
            with pytest.raises(InvalidResult, match="got content without text - at `\\$`"):
                await session.call_tool("t", returns=wanted)


@every_revision
async def test_a_list_in_several_texts_is_read_item_by_item(revision: str) -> None:
    texts = [{"type": "text", "text": text} for text in ("1", "2")]
    server = saying(revision, None, content=texts)
    assert await said(server, revision, list[int]) == [1, 2]


@pytest.mark.parametrize("revision", [one for one in ALL if one != PER_REQUEST])
async def test_null_is_no_data_where_data_is_an_object(revision: str) -> None:
    texts = [{"type": "text", "text": "5"}]
    server = saying(revision, None, content=texts, structuredContent=None)
    assert await said(server, revision, int) == 5


Through = Callable[[Server, str, Any], Any]


async def by_manager(server: Server, revision: str, kind: Any) -> Any:
    async with ClientManager({"s": server}) as manager:
        return await manager.call_tool("mcp__s__t", returns=kind)


async def by_task(server: Server, revision: str, kind: Any) -> Any:
    async with using(Client("c"), server, revision) as session:
        return await (await session.start_tool("t")).result(kind)


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
@pytest.mark.parametrize("through", [by_manager, by_task])
@pytest.mark.parametrize(("kind", "value"), [(None, None), (str | None, "5"), (list[int], [1])])
async def test_it_means_the_same_in_managers_and_tasks(
    revision: str, through: Through, kind: Any, value: Any
) -> None:
    assert await through(giving(kind, value), revision, kind) == value


async def test_a_managers_call_and_a_task_without_it_are_plain_results() -> None:
    server = giving(None, None)
    async with ClientManager({"s": server}) as manager:
        called = await manager.call_tool("mcp__s__t")
    async with using(Client("c"), server, PER_REQUEST) as session:
        ran = await (await session.start_tool("t")).result()
    assert {type(called), type(ran)} == {CallToolResult}
    assert TextContent(text="") not in called.content

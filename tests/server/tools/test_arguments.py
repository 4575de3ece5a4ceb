"""Arguments of function tools: input schemas and decoded values."""

from __future__ import annotations

import datetime
import decimal
import enum
import functools
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import attrs
import jsonschema_rs
import pydantic
import pytest
from msgspec import Meta

import mcp_wire
from mcp_gen import Server
from mcp_wire import latest
from tests.server.tools.calls import call, failure, listed, texts, with_tool
from tests.support.frames import every_revision

if TYPE_CHECKING:
    # As many programs import it.
    from mcp_gen import Context


@dataclass
class Point:
    """A point."""

    x: int
    y: Annotated[int, Meta(ge=0)] = 0


@attrs.define
class Size:
    width: int


class Named(TypedDict):
    name: str


class Colour(enum.Enum):
    RED = "red"


class Order(pydantic.BaseModel):
    """An order."""

    item: str = pydantic.Field(alias="theItem")
    count: int = pydantic.Field(1, ge=1)


class Node(pydantic.BaseModel):
    value: int
    children: list[Node] = []


async def schema_of(function: Callable[..., Any]) -> Any:
    return (await listed(with_tool(function))).input_schema


async def property_of(function: Callable[..., Any]) -> Any:
    """Return the schema of the function's one parameter."""
    (found,) = (await schema_of(function))["properties"].values()
    return found


# --- types ---

OF_TYPES: list[tuple[Any, Any, Any]] = [
    (int, 1, 1),
    (float, 1, 1.0),
    (bool, True, True),
    (str, "a", "a"),
    (Any, [1, {"a": None}], [1, {"a": None}]),
    (bytes, "YQ==", b"a"),
    (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
    (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
    (datetime.date, "2020-01-02", datetime.date(2020, 1, 2)),
    (datetime.timedelta, "PT1M", datetime.timedelta(minutes=1)),
    (list[int], [1, 2], [1, 2]),
    (set[str], ["a"], {"a"}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (Literal["a", "b"], "a", "a"),
    (int | None, None, None),
    (int | str, "a", "a"),
    (Colour, "red", Colour.RED),
    (Point, {"x": 1}, Point(1)),
    (Size, {"width": 1}, Size(1)),
    (Named, {"name": "a"}, {"name": "a"}),
    (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
    (Order, {"theItem": "a", "count": 2}, Order(theItem="a", count=2)),
    (list[Order], [{"theItem": "a"}], [Order(theItem="a")]),
    (Order | None, None, None),
    (Node, {"value": 1, "children": [{"value": 2}]}, Node(value=1, children=[Node(value=2)])),
    (Annotated[int, pydantic.Field(ge=1)], 1, 1),
]
of_types = pytest.mark.parametrize(
    ("hint", "given", "value"), OF_TYPES, ids=[str(hint) for hint, _, _ in OF_TYPES]
)


def taking(hint: Any, into: list[Any]) -> Callable[..., Any]:
    async def take(value):  # type: ignore[no-untyped-def]
        into.append(value)

    take.__annotations__["value"] = hint
    return take


@of_types
async def test_an_argument_comes_as_its_type(hint: Any, given: Any, value: Any) -> None:
    came: list[Any] = []
    await call(with_tool(taking(hint, came)), value=given)
    assert came == [value]


@of_types
async def test_an_argument_comes_as_its_type_behind_middleware(
    hint: Any, given: Any, value: Any
) -> None:
    async def passing(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        return await call_next(params)

    came: list[Any] = []
    server = with_tool(taking(hint, came))
    server.add_middleware(passing)
    await call(server, value=given)
    assert came == [value]


@of_types
async def test_what_is_taken_is_valid_for_the_schema(hint: Any, given: Any, value: Any) -> None:
    schema = await schema_of(taking(hint, []))
    jsonschema_rs.validate(schema, {"value": given})


WRONG: list[tuple[Any, Any, str]] = [
    (Point, {"x": "1"}, "$.arguments.value.x"),
    (Point, {"x": 1, "y": -1}, "$.arguments.value.y"),
    (Annotated[int, Meta(ge=1)], 0, "$.arguments.value"),
    (list[int], [1, "a"], "$.arguments.value[1]"),
    (Colour, "blue", "$.arguments.value"),
    (Order, {"theItem": "a", "count": 0}, "$.arguments.value.count"),
    (list[Node], [{"value": 1}, {"value": "a"}], "$.arguments.value[1].value"),
    (Annotated[int, pydantic.Field(ge=1)], 0, "$.arguments.value"),
]


@every_revision
@pytest.mark.parametrize(("hint", "given", "path"), WRONG, ids=[str(one[:2]) for one in WRONG])
async def test_what_is_wrong_is_answered_with_its_path(
    revision: str, hint: Any, given: Any, path: str
) -> None:
    assert f"`{path}`" in await failure(with_tool(taking(hint, [])), revision, value=given)


@pytest.mark.parametrize(("hint", "given", "path"), WRONG, ids=[str(one[:2]) for one in WRONG])
async def test_what_is_wrong_is_not_valid_for_the_schema(hint: Any, given: Any, path: str) -> None:
    schema = await schema_of(taking(hint, []))
    assert not jsonschema_rs.is_valid(schema, {"value": given})


async def test_what_pydantic_says_of_an_argument_repeats_no_value() -> None:
    server = with_tool(taking(Order, []))
    said = await failure(server, value={"theItem": {"key": "s3cret"}})
    assert said == "take: Input should be a valid string - at `$.arguments.value.theItem`"


# --- descriptions and defaults ---


async def test_a_text_in_an_annotation_describes() -> None:
    def f(a: Annotated[int, "how many"]) -> None: ...

    assert await property_of(f) == {"type": "integer", "description": "how many"}


async def test_a_docstring_describes() -> None:
    def f(a: int) -> None:
        """Do it.

        Args:
            a: How many.
            b: Nothing.
        """

    tool = await listed(with_tool(f))
    assert tool.input_schema["properties"] == {"a": {"type": "integer", "description": "How many."}}
    assert tool.description == "Do it."


@pytest.mark.parametrize(
    "hint", [Annotated[int, "this"], Annotated[int, Meta(description="this")]], ids=str
)
async def test_an_annotation_goes_before_the_docstring(hint: Any) -> None:
    def f(a) -> None:  # type: ignore[no-untyped-def]
        """Do it.

        :param a: that
        """

    f.__annotations__["a"] = hint
    assert (await property_of(f))["description"] == "this"


async def test_a_type_that_is_defined_aside_is_described_too() -> None:
    def f(at: Annotated[Point, "where"]) -> None: ...

    schema = await schema_of(f)
    assert schema["properties"]["at"] == {"$ref": "#/$defs/Point", "description": "where"}
    assert schema["$defs"]["Point"]["description"] == "A point."


async def test_a_pydantic_field_describes() -> None:
    def f(a: Annotated[int, pydantic.Field(ge=1, description="how many")]) -> None: ...

    assert await property_of(f) == {"type": "integer", "minimum": 1, "description": "how many"}


@pytest.mark.parametrize(
    ("hint", "default", "said"),
    [
        (int, 3, 3),
        (int | None, None, None),
        (list[int], [1], [1]),
        (Point, Point(1), {"x": 1, "y": 0}),
        (Colour, Colour.RED, "red"),
        (Order, Order(theItem="a"), {"theItem": "a", "count": 1}),
        (datetime.date, datetime.date(2020, 1, 2), "2020-01-02"),
    ],
    ids=str,
)
async def test_a_default_is_in_the_schema(hint: Any, default: Any, said: Any) -> None:
    def f(a=default) -> None:  # type: ignore[no-untyped-def]
        ...

    f.__annotations__["a"] = hint
    assert (await property_of(f))["default"] == said


async def test_a_default_that_json_has_nothing_for_is_not_in_the_schema() -> None:
    nothing: Any = object()

    def f(a: int = nothing) -> str:
        return str(a is nothing)

    assert "default" not in await property_of(f)
    assert texts(await call(with_tool(f))) == ["True"]


async def test_a_pydantic_field_as_default_is_what_it_says() -> None:
    field: Any = pydantic.Field(3, ge=1, description="how many")

    def f(a: int = field) -> int:
        return a

    said = {"type": "integer", "minimum": 1, "description": "how many", "default": 3}
    assert await property_of(f) == said
    assert texts(await call(with_tool(f))) == ["3"]


async def test_a_pydantic_field_as_default_may_require_its_argument() -> None:
    field: Any = pydantic.Field(ge=1)

    def f(a: int = field) -> int:
        return a

    schema = await schema_of(f)
    assert (schema["properties"], schema["required"]) == (
        {"a": {"type": "integer", "minimum": 1}},
        ["a"],
    )
    assert (await call(with_tool(f))).is_error


async def test_a_pydantic_field_as_default_may_make_its_default_for_each_call() -> None:
    field: Any = pydantic.Field(default_factory=lambda: [3])

    def f(a: list[int] = field) -> int:
        a.append(4)
        return len(a)

    tool = with_tool(f)
    assert [texts(await call(tool)) for _ in range(2)] == [["2"], ["2"]]


async def test_definitions_of_msgspec_and_of_pydantic_keep_apart() -> None:
    @dataclass
    class Order:
        id: int

    def f(mine, theirs) -> str:  # type: ignore[no-untyped-def]
        return f"{mine.id} {theirs.item}"

    f.__annotations__ |= {"mine": Order, "theirs": globals()["Order"]}
    arguments = {"mine": {"id": 1}, "theirs": {"theItem": "a"}}
    jsonschema_rs.validate(await schema_of(f), arguments)
    assert texts(await call(with_tool(f), **arguments)) == ["1 a"]


# --- no parameters, and too many arguments ---


@every_revision
async def test_a_tool_without_parameters_says_that_it_takes_none(revision: str) -> None:
    async def f(ctx: Context) -> None: ...

    schema = (await listed(with_tool(f), revision)).input_schema
    assert schema == {"type": "object", "additionalProperties": False}


@every_revision
async def test_a_tool_without_parameters_takes_none(revision: str) -> None:
    async def f() -> None: ...

    said = "f: unknown argument 'a': there are none"
    assert await failure(with_tool(f), revision, a=1) == said


# --- functions of all kinds ---


class Shop:
    """A shop."""

    def __init__(self, name: str) -> None:
        self.name = name

    def buy(self, item: str) -> str:
        """Buy an item."""
        return f"{item} from {self.name}"

    @classmethod
    def count(cls, item: str) -> str:
        """Count items."""
        return f"{item} of {cls.__name__}"

    @staticmethod
    async def price(item: str) -> str:
        """The price of an item."""
        return f"{item} has one"

    async def __call__(self, item: str) -> str:
        """Ask for an item."""
        return f"{item}, {self.name}?"


def bought(item: str, shop: Shop) -> str:
    """Buy an item."""
    return shop.buy(item)


def twice(function: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(function)
    def doubled(*args: Any, **kwargs: Any) -> str:
        return function(*args, **kwargs) * 2

    return doubled


@twice
def shouted(item: str) -> str:
    """Shout."""
    return item.upper()


KINDS: list[tuple[Any, str, str, str]] = [
    (Shop("x").buy, "buy", "Buy an item.", "a from x"),
    (Shop.count, "count", "Count items.", "a of Shop"),
    (Shop.price, "price", "The price of an item.", "a has one"),
    (Shop("x"), "Shop", "Ask for an item.", "a, x?"),
    (functools.partial(bought, shop=Shop("x")), "bought", "Buy an item.", "a from x"),
    (functools.partial(Shop.buy, Shop("x")), "buy", "Buy an item.", "a from x"),
    (shouted, "shouted", "Shout.", "AA"),
]


@pytest.mark.parametrize(
    ("function", "name", "description", "said"), KINDS, ids=[one[1] for one in KINDS]
)
async def test_anything_that_can_be_called_is_a_tool(
    function: Any, name: str, description: str, said: str
) -> None:
    server = with_tool(function)
    tool = await listed(server)
    assert (tool.name, tool.description) == (name, description)
    assert tool.input_schema["properties"] == {"item": {"type": "string"}}
    assert texts(await call(server, item="a")) == [said]


async def test_what_a_partial_has_bound_is_not_for_the_client_to_give() -> None:
    server = with_tool(functools.partial(bought, shop=Shop("x")))
    said = "bought: unknown argument 'shop': there is 'item'"
    assert await failure(server, item="a", shop="mine") == said
    assert texts(await call(server, item="a")) == ["a from x"]


async def test_a_function_that_gives_a_coroutine_is_awaited() -> None:
    async def later() -> str:
        return "now"

    async def f() -> str:
        return await later()

    def g() -> Any:
        return f()

    assert texts(await call(with_tool(g))) == ["now"]


async def test_parameters_may_be_keywords_only() -> None:
    async def f(a: int, *, b: int) -> int:
        return a - b

    assert texts(await call(with_tool(f), a=3, b=1)) == ["2"]


# --- the context ---


async def test_the_context_is_known_where_only_type_checkers_import_it() -> None:
    async def f(ctx: Context) -> str:
        return ctx.revision

    assert texts(await call(with_tool(f))) == [mcp_wire.LATEST]


async def test_the_context_may_be_optional_for_callers_in_the_program() -> None:
    async def f(a: int, ctx: Context | None = None) -> str:
        return "called" if ctx else "here"

    server = with_tool(f)
    assert await f(1) == "here"
    assert list((await listed(server)).input_schema["properties"]) == ["a"]
    assert texts(await call(server, a=1)) == ["called"]


async def test_several_parameters_may_be_the_context() -> None:
    async def f(one: Context, other: Annotated[Context, "the same"]) -> str:
        return str(one is other)

    assert texts(await call(with_tool(f))) == ["True"]


async def test_a_name_in_a_string_inside_an_annotation_is_looked_up() -> None:
    async def f(at) -> Any:  # type: ignore[no-untyped-def]
        return repr(at)

    f.__annotations__["at"] = list["Point"]
    assert texts(await call(with_tool(f), at=[{"x": 1}])) == ["[Point(x=1, y=0)]"]


# --- a schema of one's own ---

NARROW = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 5}},
    "required": ["a"],
    "x-own": {"kept": True},
}


@every_revision
async def test_a_schema_may_stand_in_for_that_of_the_annotations(revision: str) -> None:
    async def f(a: int) -> int:
        return a

    server = with_tool(f, input_schema=NARROW)
    assert (await listed(server, revision)).input_schema == NARROW
    assert texts(await call(server, revision, a=5)) == ["5"]
    assert "`$.arguments.a`" in await failure(server, revision, a=4)


async def test_arguments_that_fit_the_schema_are_held_to_the_annotations_too() -> None:
    async def f(a: Annotated[int, Meta(le=9)]) -> int:
        return a

    assert "`$.arguments.a`" in await failure(with_tool(f, input_schema=NARROW), a=10)


async def test_metadata_that_cannot_be_hashed_is_no_obstacle() -> None:
    async def f(a: Annotated[int, {"unit": "m"}]) -> int:
        return a

    assert texts(await call(with_tool(f), a=1)) == ["1"]


async def test_wire_types_are_arguments_like_others() -> None:
    async def f(icon: latest.Icon) -> str:
        return icon.src

    assert texts(await call(with_tool(f), icon={"src": "data:,"})) == ["data:,"]


def test_a_server_knows_the_names_of_its_tools() -> None:
    server = Server("names")
    server.add_tool(shouted)
    server.add_tool(Shop.count)
    assert server.tools.names == ["shouted", "count"]
    assert len(server.tools) == 2
    assert "count" in server.tools
    assert [tool.name for tool in server.tools] == server.tools.names
    server.remove_tool("shouted")
    assert "shouted" not in server.tools

"""Errors about values and types: they name the path, the function and the parameter."""

from __future__ import annotations

import dataclasses
import socket
from typing import Any

import msgspec
import pydantic
import pytest

from mcp_gen import McpError, Server, UsageError, text_of
from tests.everyday.kinds.test_kinds import plain_server, typed
from tests.server.tools.calls import call, with_tool
from tests.support.frames import each_lifecycle, every_revision
from tests.support.peers.scripted import served


class Open:
    """An object that JSON has nothing for."""


@dataclasses.dataclass
class Item:
    when: Any


@dataclasses.dataclass
class Sized:
    size: int


class Record(msgspec.Struct, rename="camel"):
    the_items: list[Item]


class Model(pydantic.BaseModel):
    when: Any = pydantic.Field(serialization_alias="theWhen")


def holding_itself() -> dict[str, Any]:
    made: dict[str, Any] = {}
    made["it"] = made
    return made


WRONG: list[tuple[Any, str]] = [
    ({"items": [1, {"when": Open()}]}, "JSON has nothing for Open - at `$.items[1].when`"),
    ({"items": [Item(Open())]}, "JSON has nothing for Open - at `$.items[0].when`"),
    (Record([Item(1), Item(Open())]), "JSON has nothing for Open - at `$.theItems[1].when`"),
    ({"it": Model(when=[Open()])}, "JSON has nothing for Open - at `$.it.theWhen[0]`"),
    ({"it": {(1, 2): 3}}, "the keys of a JSON object are texts, not tuple - at `$.it`"),
    (
        {"it": ["\ud800"]},
        "a text with half of a surrogate pair, which UTF-8 cannot hold - at `$.it[0]`",
    ),
    ({"it": float("nan")}, "JSON has no number nan - at `$.it`"),
    (holding_itself(), "it holds itself, or is nested too deeply"),
]
each_wrong = pytest.mark.parametrize(("value", "said"), WRONG, ids=[said for _, said in WRONG])


@pytest.mark.parametrize("returns", [None, Any, dict[str, Any]], ids=str)
@each_wrong
async def test_a_result_that_is_no_json_is_named_with_its_path(
    value: Any, said: str, returns: Any
) -> None:
    annotations = {} if returns is None else {"return": returns}
    result = await call(with_tool(typed(lambda: value, **annotations), name="give"))
    assert result.is_error
    assert said in text_of(result)


@every_revision
async def test_a_socket_in_a_result_is_named_at_every_revision(revision: str) -> None:
    with socket.socket() as one:
        result = await call(
            with_tool(lambda: {"items": [1, 2, 3, Item(one)]}, name="give"), revision
        )
    assert text_of(result) == "the result: JSON has nothing for socket - at `$.items[3].when`"


async def test_an_item_of_a_list_that_is_no_json_is_named() -> None:
    result = await call(with_tool(lambda: ["a", {"b": Open()}], name="give"))
    assert text_of(result) == "the result: JSON has nothing for Open - at `$[1].b`"


async def test_a_result_that_the_types_do_not_fit_is_named_without_its_value() -> None:
    function = typed(lambda: {"size": "secret"}, **{"return": Sized})
    result = await call(with_tool(function, name="give"))
    assert text_of(result) == (
        "give: the result is not what the tool's output schema says - at `$.size`"
    )


async def test_contents_that_are_no_json_are_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server("kinds")
    server.resource("u://it")(typed(lambda: {"a": [Open()]}))
    async with served(server) as session:
        with pytest.raises(McpError):
            await session.read_resource("u://it")
    assert "the contents: JSON has nothing for Open - at `$.a[0]`" in caplog.text


@each_lifecycle
async def test_an_argument_that_is_no_json_is_named_and_not_sent(revision: str) -> None:
    server, given = plain_server()
    async with served(server, revision) as session:
        with pytest.raises(UsageError) as caught:
            await session.call_tool("take", {"items": [1, Open()]})
        with pytest.raises(UsageError) as of_prompt:
            await session.get_prompt("ask", {"it": Open()})
    assert str(caught.value) == "take: JSON has nothing for Open - at `$.arguments.items[1]`"
    assert str(of_prompt.value) == "ask: JSON has nothing for Open - at `$.arguments.it`"
    assert given == []


@pytest.mark.parametrize("arguments", [[1], "text", 5])
async def test_arguments_that_are_no_object_are_not_sent(arguments: Any) -> None:
    server, given = plain_server()
    async with served(server) as session:
        with pytest.raises(UsageError, match="take: arguments: expected a dict, or an object"):
            await session.call_tool("take", arguments)
    assert given == []


def takes_open(where: Open) -> None: ...


def takes_many(it: list[dict[str, Open]]) -> None: ...


def takes_item(item: dict[str, Item | Open]) -> None: ...


def gives_open() -> list[Open]:
    return []


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (takes_open, "takes_open: where: JSON has nothing for Open"),
        (takes_many, "takes_many: it: JSON has nothing for Open"),
        (takes_item, "takes_item: item: JSON has nothing for Open"),
        (gives_open, "gives_open: its result: JSON has nothing for Open"),
    ],
)
def test_a_type_that_json_has_nothing_for_is_refused_at_definition(
    function: Any, said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Server("kinds").add_tool(function)
    assert str(caught.value).startswith(said)

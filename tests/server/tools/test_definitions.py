"""Errors of tool definitions: raised at registration with a hint; nothing is built."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pydantic
import pytest
from msgspec import Meta

from mcp_gen import Context, Server, UsageError
from mcp_gen.server.context.blocking import BlockingContext
from mcp_wire import latest
from tests.server.tools.calls import with_tool


class Plain:
    pass


@dataclass
class HasPlain:
    inside: Plain


class Model(pydantic.BaseModel):
    x: int


class Struct(msgspec.Struct):
    x: int


class Methods:
    def method(self, a: int) -> None: ...

    unbound = classmethod(lambda cls, a: None)


def takes(hint: Any) -> Any:
    def tool(value) -> None:  # type: ignore[no-untyped-def]
        ...

    tool.__annotations__["value"] = hint
    return tool


def gives(hint: Any) -> Any:
    def tool():  # type: ignore[no-untyped-def]
        ...

    tool.__annotations__["return"] = hint
    return tool


async def yields_later() -> AsyncIterator[str]:
    yield ""


def yields() -> Iterator[str]:
    yield ""


def positional(a: int, /) -> None: ...


async def blocking(ctx: BlockingContext) -> None: ...


def untyped(a) -> None:  # type: ignore[no-untyped-def]
    ...


def nowhere(a: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    ...


def nonsense(a: "1 +") -> None:  # type: ignore[syntax]  # noqa: F722
    ...


WRONG: list[tuple[Any, str]] = [
    (takes(Plain), r"tool: value: JSON has nothing for Plain: use builtins, dataclasses"),
    (takes(list[Plain]), "tool: value: JSON has nothing for Plain"),
    (takes(HasPlain), "tool: value: HasPlain: JSON has nothing for Plain"),
    (takes(str | bytes), "tool: value: .* look alike as JSON"),
    (takes(dict[tuple[int, int], int]), r"the keys of a JSON object are texts: use `dict\[str"),
    (takes(Annotated[str, Meta(ge=1)]), "`ge` is about numbers, not about str"),
    (
        takes(tuple[pydantic.PositiveInt, Struct]),
        "types of msgspec and of pydantic do not go together",
    ),
    (gives(Plain), "tool: its result: JSON has nothing for Plain"),
    (gives(Iterator[str]), "tool: its result: JSON has nothing for .*Iterator"),
    (yields, "yields: a handler returns all it has, in a list"),
    (yields_later, "yields: a handler returns all it has, in a list"),
    (positional, "positional: a must be usable as a keyword"),
    (blocking, "blocking: ctx: an async function takes a Context"),
    (untyped, "untyped: annotate a, so that callers see its type"),
    (Methods.method, r"offer the bound method, as in `server.add_tool\(thing.method\)`"),
    (Methods.__dict__["unbound"], "a class method as `Class.method`"),
    (nowhere, "name 'Nowhere' is not defined. Import what it names at the top of the module"),
    (nonsense, "nonsense: an annotation means nothing here"),
    (lambda: None, "tool '<lambda>': a name has 1 to 128 .*: give it one with name="),
    (Plain, "Plain is a class: offer a function"),
    (5, "5 cannot be called"),
    (dict.get, "get: self must be usable as a keyword"),
    (dict.update, "update does not say what it takes: wrap it in a function"),
]


@pytest.mark.parametrize(("function", "said"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_a_function_that_can_be_no_tool_is_a_usage_error(function: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_tool(function)


def good() -> int:
    return 1


async def good_later() -> int:
    return 1


@pytest.mark.parametrize(
    ("described", "said"),
    [
        ({"name": "a b"}, "tool 'a b': a name has 1 to 128 of letters"),
        ({"timeout_s": 0}, "tool good_later: timeout_s=0: expected seconds, more than 0"),
        ({"timeout_s": float("nan")}, "timeout_s=nan: expected seconds"),
        ({"run_in_thread": True}, "an async function runs on the loop"),
        ({"icons": [latest.Icon(src="http://example.org/i.png")]}, "`https:` or `data:`"),
        ({"icons": [latest.Icon(src="javascript:alert(1)")]}, "not `javascript`"),
        ({"icons": [latest.Icon(src="i.png")]}, "an icon's src starts with"),
        ({"input_schema": {"type": "array"}}, 'expected `"type": "object"` at its root'),
        ({"output_schema": {"$ref": "http://a/b"}}, "is another document"),
    ],
    ids=str,
)
def test_a_description_that_cannot_be_is_a_usage_error(described: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_tool(good_later, **described)


@pytest.mark.parametrize("source", ["https://example.org/i.png", "HTTPS://a", "data:image/png,"])
def test_icons_come_from_the_web_or_with_the_description(source: str) -> None:
    with_tool(good, icons=[latest.Icon(src=source)])


def test_icons_of_a_description_are_held_to_the_same() -> None:
    icons = [latest.Icon(src="http://example.org/i.png")]
    tool = latest.Tool(name="t", input_schema={"type": "object"}, icons=icons)
    with pytest.raises(UsageError, match="tool t: an icon's src starts with"):
        with_tool(tool, lambda ctx, arguments: None)


def test_a_tool_that_is_refused_is_not_there() -> None:
    server = Server("s")
    with pytest.raises(UsageError):
        server.tool(takes(Plain))
    assert server.tools.names == []


# --- lazy building ---


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the types that msgspec builds from now on."""
    made: list[str] = []

    def counting(home: Any, name: str) -> None:
        original = getattr(home, name)

        @functools.wraps(original, updated=())
        def counted(*args: Any, **kwargs: Any) -> Any:
            made.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(home, name, counted)

    counting(msgspec, "defstruct")
    counting(msgspec.json, "Decoder")
    counting(msgspec.json, "schema_components")
    counting(msgspec.json, "schema")
    return made


def test_adding_tools_builds_no_decoders_and_no_schemas(built: list[str]) -> None:
    server = Server("many")

    @server.tool
    async def one(a: int, b: list[HasNumber], ctx: Context, c: str | None = None) -> HasNumber:
        """Do it.

        Args:
            a: How often.
        """
        return b[0]

    @server.tool
    def other(model: Model, size: Annotated[int, Meta(ge=0)] = 0) -> list[Model]:
        return [model]

    assert built == []


def test_a_description_is_made_when_tools_are_listed_and_a_decoder_at_a_call(
    built: list[str],
) -> None:
    server = with_tool(takes(Annotated[int, Meta(ge=17)]))
    (tool,) = server.tools
    assert tool.tool.input_schema["required"] == ["value"]
    assert built == ["schema_components"]
    built.clear()
    tool.decode(msgspec.Raw(b'{"value":18}'))
    assert built == ["defstruct", "Decoder"]
    built.clear()
    tool.decode(msgspec.Raw(b'{"value":18}'))
    assert tool.tool.input_schema["required"] == ["value"]
    assert built == []


@dataclass
class HasNumber:
    number: int


PROGRAM = """
import sys
from mcp_gen import Server, types
server = Server("s")
async def handler(ctx, arguments): ...
schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}}}
server.add_tool(types.Tool(name="t", input_schema=schema, output_schema=schema), handler)
@server.tool(input_schema=schema)
def f(a: int) -> int: ...
[one.tool for one in server.tools]
print(*sorted({"jsonschema_rs", "pydantic", "mimetypes"} & sys.modules.keys()))
"""


def test_no_validator_is_imported_before_a_tool_with_a_schema_is_called() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=30, check=True
    )
    assert ran.stdout == "\n"

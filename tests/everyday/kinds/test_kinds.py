"""Every kind in every place: one test for each place, with all kinds."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

import jsonschema_rs
import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, ClientSession, Context, Depends, Server, UsageError, text_of
from mcp_gen.types import ElicitRequestFormParams, Tool
from tests.client.using import using
from tests.everyday.kinds.exceptions import NO_FORM, NO_TYPE
from tests.everyday.kinds.kinds import KINDS, OBJECTS, TEXTS, Kind
from tests.manager.managed_servers import managing
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle, every_revision
from tests.support.peers.scripted import served

each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def typed(function: Any, **annotations: Any) -> Any:
    """Return the function with annotations that only a test knows."""
    function.__annotations__ = annotations
    return function


def keeping(given: list[Any]) -> Any:
    """Return a function that keeps what it was given, and returns it."""

    def keep(it: Any) -> Any:
        given.append(it)
        return it

    return keep


@contextlib.contextmanager
def refused(kind: Kind, reasons: Mapping[str, str]) -> Any:
    """Expect a UsageError with its reason if the table has one for the kind."""
    (name,) = (name for name, one in KINDS.items() if one is kind)
    if name not in reasons:
        yield
        return
    with pytest.raises(UsageError, match=reasons[name]):
        yield


def taking(kind: Kind) -> tuple[Server, list[Any]]:
    """Return a server whose one tool has a parameter of the kind, and what it was given."""
    given: list[Any] = []
    server = Server("kinds")
    server.add_tool(typed(keeping(given), it=kind.type_), name="take")
    return server, given


def giving(kind: Kind, **options: Any) -> Server:
    """Return a server whose one tool returns the value of the kind."""
    server = Server("kinds")
    server.add_tool(typed(lambda: kind.value, **{"return": kind.type_}), name="give", **options)
    return server


def plain_server() -> tuple[Server, list[Any]]:
    """Return a server whose one tool keeps the plain JSON of its arguments."""
    given: list[Any] = []
    server = Server("kinds")
    schema = {"type": "object"}
    server.add_tool(Tool(name="take", input_schema=schema), lambda ctx, it: given.append(it))
    return server, given


# --- the server's side ---


@each_lifecycle
@each_kind
async def test_a_tool_takes_a_kind(kind: Kind, revision: str) -> None:
    with refused(kind, NO_TYPE):
        server, given = taking(kind)
        async with served(server, revision) as session:
            result = await session.call_tool("take", {"it": kind.json})
        assert (result.is_error or False, given) == (False, [kind.value])


@each_kind
async def test_a_schema_is_valid_for_the_values_of_a_kind(kind: Kind) -> None:
    with refused(kind, NO_TYPE):
        server, _ = taking(kind)
        schema = server.tools["take"].tool.input_schema
        jsonschema_rs.validate(schema, {"it": kind.json})


@each_kind
async def test_a_value_of_a_kind_is_a_default(kind: Kind) -> None:
    with refused(kind, NO_TYPE):
        function = typed(lambda it=kind.value: None, it=kind.type_)
        server = Server("kinds")
        server.add_tool(function, name="take")
        default = server.tools["take"].tool.input_schema["properties"]["it"]["default"]
        assert msgspec.json.decode(msgspec.json.encode(default)) == kind.json


@every_revision
@each_kind
async def test_a_tool_returns_a_kind(kind: Kind, revision: str) -> None:
    with refused(kind, NO_TYPE):
        async with served(giving(kind), revision) as session:
            await session.list_tools()
            result = await session.call_tool("give")
        text = text_of(result)
        data = text if isinstance(kind.value, str) else msgspec.json.decode(text)
        assert (result.is_error or False, data) == (False, kind.json)
        if mcp_wire.profile(revision).structured_content == "any":
            assert result.structured_content == kind.json


@each_kind
async def test_an_output_schema_is_valid_for_the_values_of_a_kind(kind: Kind) -> None:
    with refused(kind, NO_TYPE):
        schema = giving(kind).tools["give"].tool.output_schema
        assert schema is not None
        jsonschema_rs.validate(schema, kind.json)


@each_kind
async def test_a_tool_without_annotation_returns_a_kind_as_text(kind: Kind) -> None:
    server = Server("kinds")
    server.add_tool(lambda: {"it": kind.value}, name="give")
    async with served(server) as session:
        result = await session.call_tool("give")
    assert msgspec.json.decode(text_of(result)) == {"it": kind.json}


@each_lifecycle
@each_kind
async def test_a_prompt_takes_a_kind(kind: Kind, revision: str) -> None:
    given: list[Any] = []

    def ask(it: Any) -> str:
        given.append(it)
        return "?"

    with refused(kind, NO_TYPE):
        server = Server("kinds")
        server.prompt(typed(ask, it=kind.type_))
        async with served(server, revision) as session:
            await session.get_prompt("ask", {"it": kind.json})
        assert given == [kind.value]


@pytest.mark.parametrize("name", TEXTS)
async def test_a_variable_of_a_uri_is_a_kind_that_is_text_or_a_number(name: str) -> None:
    kind = KINDS[name]
    given: list[Any] = []

    def read(it: Any) -> str:
        given.append(it)
        return "!"

    with refused(kind, NO_TYPE):
        server = Server("kinds")
        server.resource("kind://{it}")(typed(read, it=kind.type_))
        text = f"{kind.json}".replace("/", "%2F").replace(":", "%3A")
        async with served(server) as session:
            await session.read_resource(f"kind://{text}")
        assert given == [kind.value]


@each_kind
async def test_a_resource_returns_a_kind(kind: Kind) -> None:
    server = Server("kinds")
    server.resource("kind://it")(typed(lambda: {"it": kind.value}))
    async with served(server) as session:
        contents = await session.read_resource("kind://it")
    assert msgspec.json.decode(text_of(contents)) == {"it": kind.json}


@each_kind
async def test_a_dependency_is_a_kind(kind: Kind) -> None:
    given: list[Any] = []
    server = Server("kinds")
    wanted: Any = Annotated
    wanted = wanted[kind.type_, Depends(lambda: kind.value)]
    server.add_tool(typed(keeping(given), it=wanted), name="take")
    async with served(server) as session:
        await session.call_tool("take")
    assert given == [kind.value]


@each_kind
async def test_a_task_returns_a_kind(kind: Kind) -> None:
    with refused(kind, NO_TYPE):
        server = giving(kind, task="required")
        async with using(Client("test", tasks=True), server, HANDSHAKE) as session:
            task = await session.start_tool("give")
            assert await task.result(returns=kind.type_) == kind.value


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
@each_kind
async def test_a_form_is_a_kind_or_has_a_field_of_it(kind: Kind, revision: str) -> None:
    is_form = isinstance(kind.json, dict)
    form = kind.type_ if is_form else dataclasses.make_dataclass("Form", [("it", kind.type_)])
    answers: list[Any] = []

    async def ask(ctx: Context) -> None:
        answers.append(await ctx.elicit("What?", form))

    async def answer(session: ClientSession, params: ElicitRequestFormParams) -> Any:
        return kind.value if is_form else {"it": kind.value}

    with refused(kind, NO_FORM):
        server = Server("kinds")
        server.add_tool(ask)
        async with using(Client("test", elicitation=answer), server, revision) as session:
            result = await session.call_tool("ask")
        if result.is_error:
            raise UsageError(text_of(result))
        data = answers[-1].content
        assert (data if is_form else data.it) == kind.value


# --- the client's side ---


@each_lifecycle
@each_kind
async def test_a_value_of_a_kind_is_an_argument(kind: Kind, revision: str) -> None:
    server, given = plain_server()
    async with served(server, revision) as session:
        await session.call_tool("take", {"it": kind.value})
        await session.call_tool("take", {"them": [kind.value]})
    assert given == [{"it": kind.json}, {"them": [kind.json]}]


@every_revision
@pytest.mark.parametrize("name", OBJECTS)
async def test_an_object_of_a_kind_is_all_arguments(name: str, revision: str) -> None:
    server, given = plain_server()
    async with served(server, revision) as session:
        await session.call_tool("take", KINDS[name].value)
    assert given == [KINDS[name].json]


@each_kind
async def test_the_arguments_of_a_task_are_values_of_a_kind(kind: Kind) -> None:
    server, given = plain_server()
    async with using(Client("test", tasks=True), server, HANDSHAKE) as session:
        await (await session.start_tool("take", {"it": kind.value})).result()
    assert given == [{"it": kind.json}]


@each_lifecycle
@each_kind
async def test_a_result_is_read_as_a_kind(kind: Kind, revision: str) -> None:
    server = Server("kinds")
    server.add_tool(
        Tool(name="give", input_schema={"type": "object"}, output_schema={}),
        lambda ctx, given: kind.json,
    )
    with refused(kind, NO_TYPE):
        async with served(server, revision) as session:
            assert await session.call_tool("give", returns=kind.type_) == kind.value


@each_kind
async def test_a_value_of_a_kind_is_an_argument_of_a_prompt(kind: Kind) -> None:
    given: list[str] = []
    server = Server("kinds")

    @server.prompt
    def ask(it: str) -> str:
        given.append(it)
        return "?"

    async with served(server) as session:
        await session.get_prompt("ask", {"it": kind.value})
    (text,) = given
    assert (text if isinstance(kind.json, str) else msgspec.json.decode(text)) == kind.json


@each_kind
async def test_a_manager_passes_values_of_a_kind_and_reads_results_as_it(kind: Kind) -> None:
    with refused(kind, NO_TYPE):
        server = Server("kinds")
        function = typed(keeping([]), it=kind.type_, **{"return": kind.type_})
        server.add_tool(function, name="echo")
        async with managing({"one": server}) as (manager, _):
            made = await manager.call_tool("mcp__one__echo", {"it": kind.value}, returns=kind.type_)
        assert made == kind.value

"""`completion/complete` for prompt arguments and template variables, at every revision."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NewType

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server, UsageError
from mcp_wire import latest
from tests.server.resources.test_resources import asked
from tests.support.frames import HANDSHAKE, every_revision

TEMPLATE = "users://{id}/files/{name}"
LANGUAGES = ["python", "perl", "ruby"]

has_context = pytest.mark.parametrize(
    ("revision", "known"),
    [
        (one, {"id": "7"} if hasattr(mcp_wire.types(one), "CompletionContext") else {})
        for one in mcp_wire.REVISIONS
    ],
)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


def serving() -> Server:
    """Return a server with a prompt and a template without default completions."""
    server = Server("completions")

    @server.prompt
    def review(language: str, strict: str = "no") -> str:
        return language

    @server.resource(TEMPLATE)
    def file(id: int, name: str) -> str:
        return name

    return server


def completing(function: Callable[..., Any]) -> Server:
    server = serving()
    server.add_completion("review", "language", function)
    server.add_completion(TEMPLATE, "name", function)
    return server


def starting_with(value: str) -> list[str]:
    return [one for one in LANGUAGES if one.startswith(value)]


async def complete(
    server: Server,
    revision: str,
    ref: str = "review",
    argument: str = "language",
    value: str = "",
    **params: Any,
) -> Any:
    """Return the response: a whole frame."""
    return await asked(
        server,
        revision,
        "completion/complete",
        ref=_reference(ref),
        argument={"name": argument, "value": value},
        **params,
    )


def _reference(name: str) -> dict[str, str]:
    if "://" in name:
        return {"type": "ref/resource", "uri": name}
    return {"type": "ref/prompt", "name": name}


async def values(*asking: Any, **params: Any) -> Any:
    return (await complete(*asking, **params))["result"]["completion"]["values"]


# --- functions ---


@every_revision
@pytest.mark.parametrize(("ref", "argument"), [("review", "language"), (TEMPLATE, "name")])
async def test_a_function_completes_what_it_was_given_for(
    revision: str, ref: str, argument: str
) -> None:
    answer = await complete(completing(starting_with), revision, ref, argument, "p")
    assert answer["result"]["completion"] == {
        "values": ["python", "perl"],
        "total": 2,
        "hasMore": False,
    }


@every_revision
async def test_the_decorator_leaves_the_function_as_it_is(revision: str) -> None:
    server = serving()
    assert server.completion("review", "language")(starting_with) is starting_with
    assert await values(server, revision, value="r") == ["ruby"]


@every_revision
async def test_a_function_may_be_async_and_ask_for_the_context(revision: str) -> None:
    async def where(ctx: Context, value: str) -> Sequence[str]:
        return (value, ctx.revision)

    assert await values(completing(where), revision, value="x") == ["x", revision]


@has_context
async def test_a_function_gets_the_arguments_chosen_already_where_clients_send_them(
    revision: str, known: dict[str, str]
) -> None:
    seen: list[Mapping[str, str]] = []

    def names(value: str, arguments: Mapping[str, str]) -> list[str]:
        seen.append(arguments)
        return []

    sent = {"context": {"arguments": known}} if known else {}
    await complete(completing(names), revision, TEMPLATE, "name", **sent)
    assert seen == [known]


@every_revision
async def test_no_chosen_arguments_are_an_empty_mapping(revision: str) -> None:
    def names(value: str, arguments: Mapping[str, str]) -> list[str]:
        return [str(len(arguments))]

    assert await values(completing(names), revision) == ["0"]


@every_revision
async def test_context_is_left_aside_where_the_revision_lacks_it(revision: str) -> None:
    lacks = not hasattr(mcp_wire.types(revision), "CompletionContext")

    def names(value: str, arguments: Mapping[str, str]) -> list[str]:
        return list(arguments.values())

    sent = {} if lacks else {"context": {}}
    assert await values(completing(names), revision, **sent) == []


@every_revision
@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
async def test_a_hundred_values_are_sent_and_the_total_told(revision: str, count: int) -> None:
    def many(value: str) -> list[str]:
        return [str(number) for number in range(count)]

    completion = (await complete(completing(many), revision))["result"]["completion"]
    assert completion["values"] == [str(number) for number in range(min(count, 100))]
    assert (completion["total"], completion["hasMore"]) == (count, count > 100)


@every_revision
@pytest.mark.parametrize(
    ("made", "sent"),
    [
        (latest.Completion(values=["a"]), {"values": ["a"]}),
        (
            latest.Completion(values=["a"], total=5, has_more=True),
            {"values": ["a"], "total": 5, "hasMore": True},
        ),
        (
            latest.Completion(values=["a"] * 101, total=1000),
            {"values": ["a"] * 100, "total": 1000, "hasMore": True},
        ),
        (
            latest.Completion(values=["a"] * 101, has_more=False),
            {"values": ["a"] * 100, "total": 101, "hasMore": True},
        ),
        (
            mcp_wire.types(HANDSHAKE).Completion(values=["a"], total=5),
            {"values": ["a"], "total": 5},
        ),
        (None, {"values": [], "total": 0, "hasMore": False}),
        (("a", "b"), {"values": ["a", "b"], "total": 2, "hasMore": False}),
    ],
)
async def test_a_function_may_know_of_more_than_it_gives(
    revision: str, made: Any, sent: Any
) -> None:
    def known(value: str) -> Any:
        return made

    assert (await complete(completing(known), revision))["result"]["completion"] == sent


@every_revision
async def test_an_error_of_the_protocol_goes_as_it_was_raised(revision: str) -> None:
    def refuse(value: str) -> list[str]:
        raise McpError(-31000, "not today")

    error = (await complete(completing(refuse), revision))["error"]
    assert error == {"code": -31000, "message": "not today"}


@every_revision
@pytest.mark.parametrize("made", ["one text", RuntimeError("the secret")])
async def test_any_other_failure_tells_the_client_nothing(revision: str, made: Any) -> None:
    def fail(value: str) -> Any:
        if isinstance(made, Exception):
            raise made
        return made

    error = (await complete(completing(fail), revision))["error"]
    assert error == {"code": -32603, "message": "internal error"}


@every_revision
async def test_a_function_that_is_removed_completes_no_more(revision: str) -> None:
    server = completing(starting_with)
    server.remove_completion("review", "language")
    assert await values(server, revision) == []


# --- by themselves ---


@every_revision
@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Literal["red", "blue"], "", ["red", "blue"]),
        (Literal["red", "blue"], "b", ["blue"]),
        (Literal["red", "blue"], "BL", ["blue"]),
        (Literal["red", "blue"], "x", []),
        (Literal[1, 2], "", ["1", "2"]),
        (Literal[True], "", ["true"]),
        (Literal["red"] | None, "", ["red"]),
        (NewType("Chosen", Color), "", ["red", "blue"]),
        (Annotated[Color, msgspec.Meta(description="which")], "", ["red", "blue"]),
        (Color, "r", ["red"]),
        (bool, "", ["true", "false"]),
        (bool, "t", ["true"]),
    ],
)
async def test_what_has_given_values_is_completed_by_itself(
    revision: str, kind: Any, value: str, expected: list[str]
) -> None:
    def f(a: Any) -> str:
        return ""

    f.__annotations__["a"] = kind
    for ref in ("f", "u://{a}"):
        server = Server("completions")
        server.add_prompt(f) if ref == "f" else server.add_resource_template(ref, f)
        assert await values(server, revision, ref, "a", value) == expected


@every_revision
async def test_a_function_stands_before_what_is_completed_by_itself(revision: str) -> None:
    server = Server("completions")

    @server.resource("u://{a}")
    def f(a: bool) -> str:
        return ""

    @server.completion("u://{a}", "a")
    def mine(value: str) -> list[str]:
        return ["mine"]

    assert await values(server, revision, "u://{a}", "a") == ["mine"]


@every_revision
@pytest.mark.parametrize("kind", [str, int, int | bool, Any])
async def test_what_may_be_anything_is_not_completed_by_itself(revision: str, kind: Any) -> None:
    server = completing(starting_with)

    def f(a: Any) -> str:
        return ""

    f.__annotations__["a"] = kind
    server.add_prompt(f)
    assert await values(server, revision, "f", "a") == []


# --- without completions ---


@every_revision
@pytest.mark.parametrize(
    ("ref", "argument", "path"),
    [
        ("other", "language", "$.ref"),
        ("users://7/files/a", "name", "$.ref"),
        ("users://{other}", "name", "$.ref"),
        ("review", "other", "$.argument.name"),
        (TEMPLATE, "language", "$.argument.name"),
    ],
)
async def test_what_is_unknown_is_a_bad_parameter(
    revision: str, ref: str, argument: str, path: str
) -> None:
    error = (await complete(completing(starting_with), revision, ref, argument))["error"]
    assert error["code"] == -32602
    assert path in error["message"]


@every_revision
async def test_what_a_filter_hides_is_unknown(revision: str) -> None:
    server = completing(starting_with)
    server.filter_prompts(lambda ctx, prompt: False)
    server.filter_resources(lambda ctx, one: False)
    for ref, argument in (("review", "language"), (TEMPLATE, "name")):
        assert (await complete(server, revision, ref, argument))["error"]["code"] == -32602


@every_revision
async def test_without_any_completions_the_method_is_there_only_where_nothing_declares_it(
    revision: str,
) -> None:
    fields = msgspec.structs.fields(mcp_wire.types(revision).ServerCapabilities)
    declared = "completions" in {field.name for field in fields}
    answer = await complete(serving(), revision)
    assert answer.get("error", {}).get("code") == (-32601 if declared else None)


def offering(make: Callable[[Server], Any]) -> Server:
    server = serving()
    make(server)
    return server


def with_enum(server: Server) -> None:
    @server.prompt
    def f(a: Color) -> str:
        return ""


def with_flag(server: Server) -> None:
    @server.resource("u://{a}")
    def f(a: bool) -> str:
        return ""


@every_revision
@pytest.mark.parametrize(
    "make",
    [
        lambda server: server.add_completion("review", "language", starting_with),
        with_enum,
        with_flag,
    ],
)
async def test_the_capability_is_declared_as_soon_as_anything_is_completed(
    revision: str, make: Callable[[Server], Any]
) -> None:
    assert serving().capabilities().completions is None
    server = offering(make)
    assert server.capabilities().completions == {}
    assert "result" in await complete(server, revision)


# --- definition ---


def of_nothing() -> list[str]: ...
def of_three(value: str, arguments: Mapping[str, str], more: int) -> list[str]: ...
def of_objects(value: dict[str, str]) -> list[str]: ...
def gives_text(value: str) -> str: ...


@pytest.mark.parametrize(
    ("ref", "argument", "function", "says"),
    [
        ("other", "language", starting_with, "no prompt and no template of that name"),
        ("users://{id}", "id", starting_with, "no prompt and no template of that name"),
        ("review", "lang", starting_with, "there are: `language`, `strict`"),
        (TEMPLATE, "language", starting_with, "there are: `id`, `name`"),
        ("review", "language", of_nothing, "takes `value: str`"),
        ("review", "language", of_three, "takes `value: str`"),
        ("review", "language", of_objects, "takes `value: str`"),
        ("review", "language", gives_text, "returns a str"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_there_is(
    ref: str, argument: str, function: Callable[..., Any], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        serving().completion(ref, argument)(function)


def test_a_second_function_for_the_same_is_refused() -> None:
    with pytest.raises(UsageError, match="there is a function already"):
        completing(starting_with).add_completion("review", "language", starting_with)


def test_a_function_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(UsageError, match="no function to remove"):
        serving().remove_completion("review", "language")

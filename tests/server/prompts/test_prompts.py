"""Prompts: lists, decoded arguments, and messages from return values."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server, UsageError, assistant, user
from mcp_wire import latest
from tests.support.frames import every_revision
from tests.support.peers.raw import talking
from tests.support.peers.scripted import served


@dataclass
class Point:
    x: int
    y: int = 0


class Named(TypedDict):
    name: str


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


def with_prompt(function: Callable[..., Any], **described: Any) -> Server:
    server = Server("prompts")
    server.add_prompt(function, **described)
    return server


async def listed(server: Server, revision: str) -> Any:
    """Return the prompts as JSON at the revision."""
    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.request(1, "prompts/list"))
        return answer["result"]["prompts"]


async def got(server: Server, revision: str, /, name: str = "p", **arguments: Any) -> Any:
    """Return the whole response to `prompts/get` as JSON."""
    async with talking(server, revision) as client:
        params = {"name": name, "arguments": arguments}
        return await client.ask(client.speaker.request(1, "prompts/get", params))


async def messages(returned: Any, revision: str) -> Any:
    """Return the messages of a prompt with this return value."""
    answer = await got(with_prompt(lambda: returned, name="p"), revision)
    return answer["result"]["messages"]


async def taken(hint: Any, text: str) -> Any:
    """Return the decoded argument of a parameter of that type."""
    seen: list[Any] = []

    async def p(value: Any) -> str:
        seen.append(value)
        return ""

    p.__annotations__["value"] = hint
    answer = await got(with_prompt(p), mcp_wire.LATEST, value=text)
    assert "result" in answer, answer
    return seen[0]


# --- listed description ---


@every_revision
async def test_parameters_are_listed_as_arguments(revision: str) -> None:
    async def review(
        code: Annotated[str, msgspec.Meta(description="What to review.")], strict: bool = False
    ) -> str:
        """Review code.

        Thoroughly.
        """
        return code

    (prompt,) = await listed(with_prompt(review), revision)
    assert prompt == {
        "name": "review",
        "description": "Review code.",
        "arguments": [
            {"name": "code", "description": "What to review.", "required": True},
            {"name": "strict"},
        ],
    }


@every_revision
async def test_a_prompt_without_parameters_lists_no_arguments(revision: str) -> None:
    (prompt,) = await listed(with_prompt(lambda: "hello", name="greet"), revision)
    assert prompt == {"name": "greet"}


@every_revision
async def test_the_context_is_no_argument(revision: str) -> None:
    async def where(ctx: Context) -> str:
        return ctx.revision

    server = with_prompt(where, name="p")
    assert await listed(server, revision) == [{"name": "p"}]
    answer = await got(server, revision)
    assert answer["result"]["messages"][0]["content"]["text"] == revision


@every_revision
async def test_title_icons_and_meta_are_listed_where_the_revision_has_them(revision: str) -> None:
    server = with_prompt(
        lambda: "",
        name="p",
        title="Title",
        description="Described.",
        icons=[latest.Icon(src="data:image/png;base64,AA==")],
        meta={"org.example/a": 1},
    )
    (prompt,) = await listed(server, revision)
    has = mcp_wire.types(revision).Prompt.__struct_fields__
    names = {"title": "title", "icons": "icons", "meta": "_meta"}
    assert {wire for name, wire in names.items() if name in has} == prompt.keys() - {
        "name",
        "description",
    }


async def test_the_decorator_returns_the_function() -> None:
    server = Server("prompts")

    @server.prompt
    def one() -> str:
        return "1"

    @server.prompt(name="second", title="Two")
    def two() -> str:
        return "2"

    assert (one(), two()) == ("1", "2")
    assert [prompt.name for prompt in server.prompts] == ["one", "second"]


# --- decoding of text arguments ---


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (str, "5", "5"),
        (str | None, "null", "null"),
        (int, "5", 5),
        (float, "0.5", 0.5),
        (bool, "true", True),
        (bool, "0", False),
        (int | None, "7", 7),
        (Literal["a", "b"], "b", "b"),
        (Literal[1, 2], "2", 2),
        (Colour, "blue", Colour.BLUE),
        (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
        (Point, '{"x": 1}', Point(1)),
        (Point | None, '{"x": 1, "y": 2}', Point(1, 2)),
        (Named, '{"name": "a"}', {"name": "a"}),
        (list[int], "[1, 2]", [1, 2]),
        (list[int] | str, "[1, 2]", [1, 2]),
        (list[int] | str, "5", "5"),
        (dict[str, Point], '{"a": {"x": 1}}', {"a": Point(1)}),
        (Annotated[list[int], msgspec.Meta(max_length=2)], "[1]", [1]),
        (Any, "[1]", "[1]"),
    ],
    ids=str,
)
async def test_a_text_is_read_as_the_type_of_its_parameter(
    hint: Any, text: str, value: Any
) -> None:
    assert await taken(hint, text) == value


@every_revision
async def test_an_argument_that_is_left_out_has_its_default(revision: str) -> None:
    def p(a: int = 3, b: Point = Point(1)) -> str:  # noqa: B008
        return f"{a} {b.x}"

    answer = await got(with_prompt(p), revision)
    assert answer["result"]["messages"][0]["content"]["text"] == "3 1"


@every_revision
async def test_a_missing_argument_is_invalid_params_and_named(revision: str) -> None:
    def p(first: str, second: int) -> str:
        return first

    answer = await got(with_prompt(p), revision, first="a")
    assert answer["error"] == {
        "code": -32602,
        "message": "p: expected the argument `second` - at `$.arguments`",
    }


@every_revision
@pytest.mark.parametrize(
    ("hint", "text"),
    [(int, "five"), (bool, "perhaps"), (Colour, "green"), (Point, "{}"), (list[int], "none")],
    ids=str,
)
async def test_a_bad_argument_is_invalid_params_and_named(
    revision: str, hint: Any, text: str
) -> None:
    def p(value: Any) -> str:
        raise AssertionError("called with a bad argument")

    p.__annotations__["value"] = hint
    answer = await got(with_prompt(p), revision, value=text)
    assert answer["error"]["code"] == -32602
    assert "$.arguments.value" in answer["error"]["message"]


@every_revision
async def test_arguments_that_are_ignored_are_left_out(revision: str) -> None:
    server = with_prompt(lambda: "fine", name="p", unknown_arguments="ignore")
    answer = await got(server, revision, other="x")
    assert answer["result"]["messages"][0]["content"]["text"] == "fine"


@every_revision
async def test_an_argument_that_is_no_text_is_invalid_params(revision: str) -> None:
    def p(value: str) -> str:
        return value

    answer = await got(with_prompt(p), revision, value=5)
    assert answer["error"]["code"] == -32602


@every_revision
async def test_an_unknown_prompt_is_invalid_params_with_its_name(revision: str) -> None:
    answer = await got(with_prompt(lambda: "", name="p"), revision, name="nope")
    assert answer["error"] == {"code": -32602, "message": "unknown prompt: nope"}


# --- return values to messages ---

HELLO = {"role": "user", "content": {"type": "text", "text": "hello"}}
IMAGE = latest.ImageContent(data="AA==", mime_type="image/png")
AUDIO = latest.AudioContent(data="AA==", mime_type="audio/wav")
LINK = latest.ResourceLink(name="a", uri="file:///a")
RESOURCE = latest.EmbeddedResource(
    resource=latest.TextResourceContents(uri="file:///a", text="a", mime_type="text/plain")
)


@every_revision
async def test_a_text_is_said_by_the_user(revision: str) -> None:
    assert await messages("hello", revision) == [HELLO]


@every_revision
@pytest.mark.parametrize("block", [IMAGE, AUDIO, LINK, RESOURCE], ids=lambda b: b.type)
async def test_a_content_block_is_said_by_the_user_as_the_revision_can_hold_it(
    revision: str, block: Any
) -> None:
    (message,) = await messages(block, revision)
    has_it = type(block).__name__ in dir(mcp_wire.types(revision))
    assert message["role"] == "user"
    assert (message["content"]["type"] == block.type) == has_it


@every_revision
async def test_texts_blocks_and_messages_may_be_mixed(revision: str) -> None:
    said = await messages(["hello", IMAGE, assistant("yes?"), user(RESOURCE)], revision)
    assert [(one["role"], one["content"]["type"]) for one in said] == [
        ("user", "text"),
        ("user", "image"),
        ("assistant", "text"),
        ("user", "resource"),
    ]


@pytest.mark.parametrize("made_at", mcp_wire.REVISIONS)
@every_revision
async def test_messages_of_any_revision_reach_clients_of_any(revision: str, made_at: str) -> None:
    home = mcp_wire.types(made_at)
    made = home.PromptMessage(role="assistant", content=home.TextContent(text="hello"))
    assert await messages([made], revision) == [{**HELLO, "role": "assistant"}]


@pytest.mark.parametrize("made_at", mcp_wire.REVISIONS)
@every_revision
async def test_hooks_see_messages_of_the_newest_types(revision: str, made_at: str) -> None:
    home = mcp_wire.types(made_at)
    text = home.TextContent(text="hello")
    server = with_prompt(lambda: [home.PromptMessage(role="user", content=text), text], name="p")
    seen: list[Any] = []

    @server.hooks.after_get_prompt
    def look(ctx: Any, params: Any, result: Any) -> None:
        seen.extend(result.messages)

    await got(server, revision)
    assert seen == [user("hello"), user("hello")]


@pytest.mark.parametrize("made_at", mcp_wire.REVISIONS)
@every_revision
async def test_a_whole_result_of_any_revision_reaches_clients_of_any(
    revision: str, made_at: str
) -> None:
    home = mcp_wire.types(made_at)
    message = home.PromptMessage(role="user", content=home.TextContent(text="hello"))
    result = home.GetPromptResult(messages=[message], description="Another.")
    answer = await got(with_prompt(lambda: result, name="p", description="One."), revision)
    assert answer["result"]["description"] == "Another."
    assert answer["result"]["messages"] == [HELLO]


@every_revision
async def test_the_result_is_described_as_the_prompt_is(revision: str) -> None:
    answer = await got(with_prompt(lambda: "", name="p", description="One."), revision)
    assert answer["result"]["description"] == "One."


class TextContent:
    """Class of a program, which has the name of one of ours."""


@every_revision
@pytest.mark.parametrize(
    "returned", [None, 5, [None], {"role": "user"}, TextContent()], ids=lambda one: repr(one)[:20]
)
async def test_what_becomes_no_message_is_an_internal_error(
    revision: str, returned: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await got(with_prompt(lambda: returned, name="p"), revision)
    assert answer["error"] == {"code": -32603, "message": "internal error"}
    assert "expected a text, a content block" in caplog.text


# --- exceptions ---


@every_revision
async def test_what_a_prompt_raises_is_logged_and_not_told(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    def p() -> str:
        raise ValueError("secret")

    answer = await got(with_prompt(p), revision)
    assert answer["error"] == {"code": -32603, "message": "internal error"}
    assert "secret" in caplog.text


@every_revision
async def test_an_error_of_the_protocol_is_told_as_it_is(revision: str) -> None:
    async def p() -> str:
        raise McpError(-32000, "not today", {"when": "tomorrow"})

    answer = await got(with_prompt(p), revision)
    assert answer["error"] == {
        "code": -32000,
        "message": "not today",
        "data": {"when": "tomorrow"},
    }


# --- a Prompt and its handler ---

DESCRIBED = latest.Prompt(
    name="p",
    title="Title",
    description="Described.",
    arguments=[
        latest.PromptArgument(name="a", title="A", required=True),
        latest.PromptArgument(name="b"),
    ],
)


def described() -> Server:
    server = Server("prompts")

    async def fill_in(ctx: Context, arguments: dict[str, str]) -> str:
        return f"{ctx.revision} {arguments}"

    server.add_prompt(DESCRIBED, fill_in)
    return server


@every_revision
async def test_a_described_prompt_is_listed_as_it_is_described(revision: str) -> None:
    async with served(described(), revision) as session:
        (prompt,) = (await session.list_prompts()).prompts
        assert [(one.name, one.required) for one in prompt.arguments or ()] == [
            ("a", True),
            ("b", None),
        ]


@every_revision
async def test_its_handler_gets_the_texts_that_it_names_as_they_came(revision: str) -> None:
    answer = await got(described(), revision, b="2", a="1")
    text = answer["result"]["messages"][0]["content"]["text"]
    assert text == f"{revision} {{'a': '1', 'b': '2'}}"


@every_revision
async def test_what_it_requires_must_be_there(revision: str) -> None:
    answer = await got(described(), revision, b="1")
    assert answer["error"]["code"] == -32602
    assert "`a`" in answer["error"]["message"]


@pytest.mark.parametrize("made_at", mcp_wire.REVISIONS)
async def test_it_may_be_described_at_any_revision(made_at: str) -> None:
    server = Server("prompts")
    server.add_prompt(mcp_wire.types(made_at).Prompt(name="p"), lambda ctx, arguments: "hello")
    answer = await got(server, mcp_wire.LATEST)
    assert answer["result"]["messages"] == [HELLO]


# --- errors of definitions ---


def test_a_name_that_is_taken_is_refused() -> None:
    server = with_prompt(lambda: "", name="p")
    with pytest.raises(UsageError, match=r"prompt 'p' is there already; give one of them another"):
        server.add_prompt(lambda: "", name="p")


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(UsageError, match="a prompt needs a name"):
        with_prompt(lambda: "", name="")


def test_removing_what_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no prompt 'p' to remove"):
        Server("prompts").remove_prompt("p")


@pytest.mark.parametrize(
    "hint", [complex, Callable[[], int], object, set[complex] | complex, list[complex]]
)
def test_a_parameter_of_a_type_that_json_lacks_is_refused(hint: Any) -> None:
    def p(value: Any) -> str:
        return ""

    p.__annotations__["value"] = hint
    with pytest.raises(UsageError, match="p: value: JSON has nothing for"):
        with_prompt(p)


def test_a_description_goes_with_a_handler() -> None:
    add: Any = Server("prompts").add_prompt
    with pytest.raises(UsageError, match="prompt 'p': expected a handler"):
        add(DESCRIBED)


def test_a_handler_goes_with_a_description() -> None:
    add: Any = Server("prompts").add_prompt
    with pytest.raises(UsageError, match="a function needs none"):
        add(lambda: "", lambda ctx, arguments: "")


async def test_a_class_of_the_program_with_the_name_of_a_content_block_is_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mine = type("TextContent", (), {"text": "hi"})()
    answer = await got(with_prompt(lambda: mine, name="p"), mcp_wire.LATEST)
    assert answer["error"] == {"code": -32603, "message": "internal error"}
    assert "TextContent: expected a text, a content block" in caplog.text

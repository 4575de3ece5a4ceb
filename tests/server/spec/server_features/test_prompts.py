"""Spec tests of prompts."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Literal

from mcp_gen import Context, InvalidParams, Server, user
from mcp_gen.server.content import blocks
from mcp_wire import latest
from tests.server.spec.clients import is_admin, opened_as
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

PNG, WAV = b"\x89PNG\r\n\x1a\n\x00", b"RIFF\x24\x00\x00\x00WAVE"


@dataclass
class Point:
    x: int
    y: int = 0


def library() -> Server:
    """Return a server with prompts of many kinds, and a tool that returns their arguments."""
    server = Server("library")
    got: list[Any] = []

    @server.prompt
    async def greet(name: str, style: Literal["formal", "short"] = "short") -> str:
        """Greet somebody."""
        got.append((name, style))
        return f"Write a {style} greeting for {name}."

    @server.prompt
    async def plot(point: Point, times: int = 1) -> str:
        """Plot a point."""
        got.append((point, times))
        return "Plot it."

    async def handler(ctx: Context, arguments: dict[str, str]) -> str:
        got.append(arguments)
        return "Fill it in."

    form = latest.Prompt(
        name="form",
        arguments=[
            latest.PromptArgument(name="first", required=True),
            latest.PromptArgument(name="second"),
        ],
    )
    server.add_prompt(form, handler)

    @server.prompt
    async def stumble() -> str:
        """A prompt that fails."""
        raise RuntimeError("a secret of the inside")

    @server.prompt
    async def shapeless(kind: str) -> Any:
        """A prompt whose messages are invalid."""
        return {"number": 7, "object": {"role": "user"}, "nested": [[user("a")]]}[kind]

    @server.prompt
    async def picture() -> latest.ImageContent:
        return blocks.image(PNG, mime_type="image/png")

    @server.prompt
    async def sound() -> latest.AudioContent:
        return blocks.audio(WAV, mime_type="audio/wav")

    @server.prompt
    async def attached() -> list[latest.EmbeddedResource]:
        return [
            blocks.embedded("test://text", "Grüße", mime_type="text/plain"),
            blocks.embedded("test://binary", PNG, mime_type="image/png"),
        ]

    @server.tool
    async def reached() -> str:
        """Return the arguments that reached the prompts."""
        return repr(got)

    return server


async def get(client: Conversation, prompt: str, /, **arguments: str) -> list[Any]:
    """Return the contents of a prompt's messages."""
    result = await client.request("prompts/get", {"name": prompt, "arguments": arguments})
    return [message["content"] for message in result["messages"]]


@requirement("prompts:declared")
async def test_a_server_with_prompts_declares_them(connect: Connect) -> None:
    async with connect(library) as client:
        told = await client.server()
    assert "prompts" in told["capabilities"]


def bare() -> Server:
    return Server("bare")


@requirement("prompts:capabilities")
async def test_a_server_without_prompts_answers_no_request_for_them(connect: Connect) -> None:
    async with connect(bare) as client:
        told = await client.server()
        listed = await client.refusal("prompts/list")
        got = await client.refusal("prompts/get", {"name": "greet"})
    assert "prompts" not in told["capabilities"]
    assert (listed.code, got.code) == (-32601, -32601)


# --- the list ---


def guarded() -> Server:
    """Return a server whose prompt `secret` is for the client `admin` alone."""
    server = Server("guarded", page_size=2)
    for name in ("pear", "secret", "apple", "fig"):
        server.add_prompt(lambda: "text", name=name)

    @server.filter_prompts
    def may(ctx: Context, prompt: latest.Prompt) -> bool:
        return prompt.name != "secret" or is_admin(ctx)

    return server


@requirement("prompts:list")
async def test_each_client_is_listed_every_prompt_that_it_may_use(connect: Connect) -> None:
    seen = {}
    for name in ("admin", "guest"):
        async with connect(guarded, opened=False) as client:
            await opened_as(client, name)
            seen[name] = await client.names("prompts/list", "prompts")
    everything = ["pear", "secret", "apple", "fig"]
    assert seen == {"admin": everything, "guest": ["pear", "apple", "fig"]}


@cache
def shared() -> Server:
    """Return the same server for every connection of this process."""
    return library()


@requirement("prompts:list:same-for-all")
async def test_prompts_are_the_same_on_each_connection_whatever_was_asked_before(
    connect: Connect,
) -> None:
    async with connect(shared) as one, connect(shared) as other:
        first = await one.pages("prompts/list", "prompts")
        await get(other, "greet", name="Ada")
        await other.refusal("prompts/get", {"name": "nope"})
        assert await other.pages("prompts/list", "prompts") == first
        assert await one.pages("prompts/list", "prompts") == first


def growing() -> Server:
    """Return a server whose tools add and remove a prompt."""
    server = Server("growing", declare=["prompts"])

    @server.tool
    async def grow() -> str:
        server.add_prompt(lambda: "text", name="extra")
        return "grown"

    @server.tool
    async def shrink() -> str:
        server.remove_prompt("extra")
        return "shrunk"

    return server


async def is_told(connect: Connect) -> None:
    """Check that a subscribed client is notified of added and removed prompts."""
    changed = "notifications/prompts/list_changed"
    async with connect(growing) as client:
        await client.listen(promptsListChanged=True)
        await client.text("grow")
        await client.hears(changed, 1)
        assert await client.names("prompts/list", "prompts") == ["extra"]
        await client.text("shrink")
        await client.hears(changed, 2)
        assert await client.names("prompts/list", "prompts") == []


@requirement("prompts:list:changed")
async def test_clients_are_told_that_prompts_came_and_went(connect: Connect) -> None:
    await is_told(connect)


@requirement("prompts:list:changed-listening")
async def test_clients_that_listen_are_told_that_prompts_came_and_went(connect: Connect) -> None:
    await is_told(connect)


# --- content ---


@requirement("prompts:content:image")
async def test_an_image_is_base64_with_its_mime_type(connect: Connect) -> None:
    async with connect(library) as client:
        (block,) = await get(client, "picture")
    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(block["data"], validate=True) == PNG


@requirement("prompts:content:audio")
async def test_a_sound_is_base64_with_its_mime_type(connect: Connect) -> None:
    async with connect(library) as client:
        (block,) = await get(client, "sound")
    assert (block["type"], block["mimeType"]) == ("audio", "audio/wav")
    assert base64.b64decode(block["data"], validate=True) == WAV


@requirement("prompts:content:resource")
async def test_an_embedded_resource_has_its_uri_its_mime_type_and_text_or_base64(
    connect: Connect,
) -> None:
    async with connect(library) as client:
        text, binary = [block["resource"] for block in await get(client, "attached")]
    assert text == {"uri": "test://text", "mimeType": "text/plain", "text": "Grüße"}
    assert base64.b64decode(binary.pop("blob"), validate=True) == PNG
    assert binary == {"uri": "test://binary", "mimeType": "image/png"}


# --- errors ---


@requirement("prompts:errors:unknown")
async def test_a_prompt_that_there_is_none_of_is_invalid_params(connect: Connect) -> None:
    async with connect(library) as client:
        refused = [await client.refusal("prompts/get", {"name": name}) for name in ("nope", "")]
    assert [one.code for one in refused] == [-32602, -32602]


WITHOUT: list[dict[str, Any]] = [{}, {"arguments": {}}, {"arguments": {"second": "here"}}]


@requirement("prompts:errors:missing-argument")
async def test_a_prompt_without_an_argument_that_it_needs_is_invalid_params(
    connect: Connect,
) -> None:
    async with connect(library) as client:
        for name, params in product(("greet", "form"), WITHOUT):
            refused = await client.refusal("prompts/get", {"name": name, **params})
            assert refused.code == -32602, (name, params)
        assert await client.text("reached") == "[]"


@requirement("prompts:errors:internal")
async def test_a_prompt_that_fails_is_an_internal_error_that_tells_no_secret(
    connect: Connect,
) -> None:
    async with connect(library) as client:
        refused = await client.refusal("prompts/get", {"name": "stumble"})
    assert refused.code == -32603
    assert "secret" not in str(refused.error)


# --- passthrough ---


@requirement("prompts:arguments-validated")
async def test_arguments_that_a_prompt_does_not_take_never_get_to_it(connect: Connect) -> None:
    async with connect(library) as client:
        for name, given in (
            ("greet", {"name": "Ada", "age": "36"}),
            ("form", {"first": "one", "third": "three"}),
        ):
            refused = await client.refusal("prompts/get", {"name": name, "arguments": given})
            assert refused.code == InvalidParams.code
        assert await client.text("reached") == "[]"


BAD: list[tuple[str, Any]] = [
    ("greet", {"name": "Ada", "style": "rude"}),
    ("greet", {"name": 7}),
    ("greet", {"name": None}),
    ("greet", []),
    ("plot", {"point": "here"}),
    ("plot", {"point": '{"x": "one"}'}),
    ("plot", {"point": '{"x": 1}', "times": "twice"}),
    ("form", {"first": ["one"]}),
]


@requirement("prompts:inputs-validated")
async def test_arguments_of_the_wrong_type_never_get_to_a_prompt(connect: Connect) -> None:
    async with connect(library) as client:
        for name, arguments in BAD:
            refused = await client.refusal("prompts/get", {"name": name, "arguments": arguments})
            assert refused.code == -32602, arguments
        assert await client.text("reached") == "[]"


@requirement("prompts:inputs-validated")
async def test_messages_of_the_wrong_shape_are_not_sent(connect: Connect) -> None:
    async with connect(library) as client:
        for kind in ("number", "object", "nested"):
            params = {"name": "shapeless", "arguments": {"kind": kind}}
            assert (await client.refusal("prompts/get", params)).code == -32603

"""Long texts and blobs arrive as they were sent, whichever encoders are installed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from mcp_gen import Client, Contents, Context, Server, media_of
from mcp_gen.core.text_encoding import LONG
from mcp_gen.server.content.blocks import embedded, image
from tests.client.using import using
from tests.server.tasks.raw_client import CORE, conversing
from tests.support.encoders import encoders, with_and_without_fast
from tests.support.frames import (
    STREAMABLE,
    Speaker,
    every_revision,
    with_batches,
)
from tests.support.http.asgi import surfing
from tests.support.peers.connect import talk
from tests.support.peers.raw import talking

SIZES = [LONG - 1, LONG, LONG + 1, 3 * LONG]
LINE = 'line "1"\\\n\t\r\x00\x7f é 漢 🎈 \u2028 null\n'
TEXTS = {str(size): (LINE * size)[:size] for size in SIZES}
BLOBS = {str(size): (bytes(range(256)) * size)[:size] for size in SIZES}


def a_server() -> Server:
    """Return a server with a text and a blob of each size, and tools that return long content."""
    server = Server("long")

    @server.resource("text://{size}")
    async def text(size: str) -> str:
        return TEXTS[size]

    @server.resource("blob://{size}")
    async def blob(size: str) -> bytes:
        return BLOBS[size]

    @server.resource("all://of-them")
    async def all_of_them() -> list[Contents]:
        parts = [
            Contents(data, uri=f"part://{number}")
            for number, data in enumerate([*TEXTS.values(), *BLOBS.values()])
        ]
        return [*parts, Contents(BLOBS[str(LONG)], meta={"example.com/is": None})]

    @server.tool
    async def tell() -> list[Any]:
        images = [image(data, mime_type="image/png") for data in BLOBS.values()]
        return [*TEXTS.values(), *images, embedded("a://b", BLOBS[str(LONG)])]

    @server.tool(task="optional")
    async def tell_later() -> str:
        return TEXTS[str(LONG)]

    @server.tool
    async def warn(ctx: Context) -> str:
        await ctx.log("warning", "before")
        return TEXTS[str(LONG)]

    return server


def sent(part: dict[str, Any]) -> str | bytes:
    """Return what a part of a result holds, decoded."""
    part = part.get("resource", part)
    if "text" in part:
        return str(part["text"])
    return base64.b64decode(part.get("blob") or part["data"], validate=True)


# --- arriving ---


@every_revision
@with_and_without_fast
@pytest.mark.parametrize("over", ["memory", "stdio", "http"])
async def test_contents_of_any_length_arrive(revision: str, fast: bool, over: str) -> None:
    with encoders(fast=fast):
        async with talk(a_server, revision, over=over) as client:
            for size in map(str, SIZES):
                for scheme, values in (("text", TEXTS), ("blob", BLOBS)):
                    read = await client.request("resources/read", {"uri": f"{scheme}://{size}"})
                    (part,) = read["contents"]
                    assert sent(part) == values[size]


@every_revision
@with_and_without_fast
async def test_many_long_parts_of_one_result_keep_their_places(revision: str, fast: bool) -> None:
    with encoders(fast=fast):
        async with talk(a_server, revision) as client:
            read = await client.request("resources/read", {"uri": "all://of-them"})
            *parts, last = read["contents"]
            assert [sent(part) for part in parts] == [*TEXTS.values(), *BLOBS.values()]
            assert [part["uri"] for part in parts] == [f"part://{n}" for n in range(len(parts))]
            assert sent(last) == BLOBS[str(LONG)]
            told = await client.call("tell")
    blocks = [sent(block) for block in told["content"]]
    assert blocks == [*TEXTS.values(), *BLOBS.values(), BLOBS[str(LONG)]]


@with_batches
async def test_long_contents_arrive_in_a_batch(revision: str) -> None:
    async with talking(a_server(), revision) as client:
        uris = [f"text://{LONG}", f"blob://{LONG}"]
        asks = [client.speaker.request(i, "resources/read", {"uri": u}) for i, u in enumerate(uris)]
        client.send(b"[%b]" % b",".join(asks))
        answers = await client.take(lambda frame: isinstance(frame, list))
    found = {answer["id"]: sent(answer["result"]["contents"][0]) for answer in answers}
    assert found == {0: TEXTS[str(LONG)], 1: BLOBS[str(LONG)]}


@pytest.mark.parametrize("revision", STREAMABLE)
async def test_a_long_text_arrives_as_one_event(revision: str) -> None:
    app, speaker = a_server().asgi(), Speaker(revision)
    key = speaker.profile.log_level_key
    meta = {"_meta": {key: "info"}} if key else {}
    async with surfing(app, revision) as client:
        call = speaker.request(1, "tools/call", {"name": "warn", "arguments": {}, **meta})
        reply = await client.ask(call)
        (answer,) = (event.json for event in reply.events if event.data and "id" in event.json)
    assert answer["result"]["content"][0]["text"] == TEXTS[str(LONG)]


@with_and_without_fast
async def test_a_long_result_of_a_task_arrives(fast: bool) -> None:
    with encoders(fast=fast):
        async with conversing(a_server(), CORE) as client:
            id = await client.make("tell_later")
            result = await client.ask("tasks/result", taskId=id)
    assert result["content"][0]["text"] == TEXTS[str(LONG)]


@every_revision
@with_and_without_fast
async def test_a_client_decodes_what_a_server_sent(revision: str, fast: bool) -> None:
    with encoders(fast=fast):
        async with using(Client("test"), a_server(), revision) as client:
            for size, data in BLOBS.items():
                (media,) = media_of(await client.read_resource(f"blob://{size}"))
                assert media.data == data


# --- those who see a result before it is encoded ---


def seen_by_a_hook(seen: list[Any]) -> Server:
    server = a_server()

    @server.hooks.after_read_resource
    async def after(ctx: Any, params: Any, result: Any) -> None:
        seen.append(result)

    return server


def seen_by_middleware(seen: list[Any]) -> Server:
    server = a_server()
    server.middleware(watching(seen))
    return server


def watching(seen: list[Any]) -> Any:
    """Return middleware that keeps the results."""

    async def around(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        seen.append(result)
        return result

    return around


def seen_by_an_outer_server(seen: list[Any]) -> Server:
    outer = Server("outer")
    outer.middleware(watching(seen))
    outer.mount(None, a_server())
    return outer


def seen_by_a_handler(seen: list[Any]) -> Server:
    server = a_server()

    @server.resource("data://again")
    async def again(ctx: Context) -> Any:
        result = await ctx.read_resource(f"blob://{LONG}")
        seen.append(result)
        return result

    return server


@every_revision
@pytest.mark.parametrize(
    ("make", "uri"),
    [
        (seen_by_a_hook, f"blob://{LONG}"),
        (seen_by_middleware, f"blob://{LONG}"),
        (seen_by_an_outer_server, f"blob://{LONG}"),
        (seen_by_a_handler, "data://again"),
    ],
)
async def test_who_sees_the_result_sees_base64(
    revision: str, make: Callable[[list[Any]], Server], uri: str
) -> None:
    seen: list[Any] = []
    async with talk(lambda: make(seen), revision) as client:
        read = await client.request("resources/read", {"uri": uri})
    expected = base64.b64encode(BLOBS[str(LONG)]).decode()
    assert seen[-1].contents[0].blob == read["contents"][0]["blob"] == expected

"""Prompts: declared, listed and filled in. And completions of what they take."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from mcp_gen import Server, user
from mcp_gen.server import content
from tests.server.spec.servers import bare, rich, waiting
from tests.server.spec.test_tools import guarded
from tests.support.connect import Connect
from tests.support.requirement import requirement

PNG = b"\x89PNG\r\n\x1a\n"


@requirement("prompts:declared")
async def test_a_server_with_prompts_declares_them(connect: Connect) -> None:
    async with connect(rich) as client:
        assert "prompts" in (await client.server())["capabilities"]


@requirement("prompts:capabilities")
async def test_a_server_without_prompts_answers_no_request_for_them(connect: Connect) -> None:
    async with connect(bare) as client:
        assert "prompts" not in (await client.server())["capabilities"]
        assert (await client.refusal("prompts/list")).code == -32601
        assert (await client.refusal("prompts/get", {"name": "greet"})).code == -32601


# --- the list ---


@requirement("prompts:list")
async def test_every_prompt_is_listed(connect: Connect) -> None:
    async with connect(rich) as client:
        assert await client.names("prompts/list", "prompts") == ["greet", "stumble"]


@requirement("prompts:list:same-for-all")
async def test_the_list_is_the_same_on_every_connection_and_after_every_use(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        first = await client.pages("prompts/list", "prompts")
        await client.request("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}})
        assert await client.pages("prompts/list", "prompts") == first
    async with connect(rich) as other:
        assert await other.pages("prompts/list", "prompts") == first


def growing() -> Server:
    """One that gets a prompt when it is asked to."""
    server = rich()

    async def more() -> str:
        return "more"

    @server.tool
    async def grow() -> str:
        server.add_prompt(more)
        return "grown"

    return server


@requirement("prompts:list:changed")
async def test_clients_are_told_when_the_list_changes(connect: Connect) -> None:
    async with connect(growing) as client:
        assert client.opening["capabilities"]["prompts"]["listChanged"] is True
        await client.text("grow")
        await client.hears("notifications/prompts/list_changed")


@requirement("prompts:list:changed-listening")
async def test_clients_that_listen_are_told_when_the_list_changes(connect: Connect) -> None:
    async with connect(growing) as client:
        assert (await client.server())["capabilities"]["prompts"]["listChanged"] is True
        await client.listen(promptsListChanged=True)
        await client.text("grow")
        await client.hears("notifications/prompts/list_changed")


# --- contents ---


def illustrated() -> Server:
    """One with a prompt of every kind of content."""
    server = Server("illustrated")

    @server.prompt
    async def show() -> list[Any]:
        return [
            user(content.image(PNG, mime_type="image/png")),
            user(content.audio(b"RIFF", mime_type="audio/wav")),
            user(content.embedded("test://text", "text", mime_type="text/plain")),
            user(content.embedded("test://blob", PNG, mime_type="image/png")),
        ]

    return server


async def shown(connect: Connect) -> list[dict[str, Any]]:
    """The contents of the prompt."""
    async with connect(illustrated) as client:
        messages = (await client.request("prompts/get", {"name": "show"}))["messages"]
    return [message["content"] for message in messages]


@requirement("prompts:content:image")
async def test_an_image_is_base64_with_its_type(connect: Connect) -> None:
    (image,) = [one for one in await shown(connect) if one["type"] == "image"]
    assert (b64decode(image["data"], validate=True), image["mimeType"]) == (PNG, "image/png")


@requirement("prompts:content:audio")
async def test_a_sound_is_base64_with_its_type(connect: Connect) -> None:
    (sound,) = [one for one in await shown(connect) if one["type"] == "audio"]
    assert (b64decode(sound["data"], validate=True), sound["mimeType"]) == (b"RIFF", "audio/wav")


@requirement("prompts:content:resource")
async def test_an_embedded_resource_has_its_uri_type_and_contents(connect: Connect) -> None:
    found = [one["resource"] for one in await shown(connect) if one["type"] == "resource"]
    by_uri = {one["uri"]: one for one in found}
    assert by_uri["test://text"]["text"] == "text"
    assert by_uri["test://text"]["mimeType"] == "text/plain"
    assert b64decode(by_uri["test://blob"]["blob"], validate=True) == PNG
    assert by_uri["test://blob"]["mimeType"] == "image/png"


# --- what goes wrong ---


async def refusal(connect: Connect, **params: Any) -> Any:
    async with connect(rich) as client:
        return await client.refusal("prompts/get", params)


@requirement("prompts:errors:unknown")
async def test_an_unknown_prompt_is_refused(connect: Connect) -> None:
    assert (await refusal(connect, name="nope")).code == -32602


@requirement("prompts:errors:missing-argument")
async def test_a_missing_argument_is_refused_with_its_name(connect: Connect) -> None:
    for arguments in ({}, {"style": "short"}):
        refused = await refusal(connect, name="greet", arguments=arguments)
        assert refused.code == -32602
        assert "name" in str(refused)


@requirement("prompts:errors:internal")
async def test_a_prompt_that_fails_is_an_internal_error_that_leaks_nothing(
    connect: Connect,
) -> None:
    refused = await refusal(connect, name="stumble", arguments={"name": "Ada"})
    assert refused.code == -32603
    assert "secret" not in str(refused.error)


@requirement("prompts:arguments-validated")
async def test_an_argument_that_is_none_of_the_choices_is_refused(connect: Connect) -> None:
    refused = await refusal(connect, name="greet", arguments={"name": "Ada", "style": "rude"})
    assert refused.code == -32602


def odd() -> Server:
    """One whose prompts return what is no message."""
    server = Server("odd")

    @server.prompt
    async def nonsense() -> Any:
        return object()

    @server.prompt
    async def half() -> Any:
        return [user("text"), 7]

    return server


@requirement("prompts:inputs-validated")
async def test_neither_wrong_arguments_nor_wrong_messages_pass_through_a_prompt(
    connect: Connect,
) -> None:
    wrong: list[Any] = [{"name": 7}, {"name": None}, {"name": ["Ada"]}, ["Ada"], "Ada"]
    async with connect(rich) as client:
        for arguments in wrong:
            params = {"name": "greet", "arguments": arguments}
            assert (await client.refusal("prompts/get", params)).code == -32602
    async with connect(odd) as client:
        for name in ("nonsense", "half"):
            assert (await client.refusal("prompts/get", {"name": name})).code == -32603


# --- completions ---

GREET = {"type": "ref/prompt", "name": "greet"}
USER = {"type": "ref/resource", "uri": "test://users/{id}"}


def completing(ref: Any, name: str, value: str) -> dict[str, Any]:
    return {"ref": ref, "argument": {"name": name, "value": value}}


@requirement("completion:declared")
async def test_a_server_with_completions_declares_them(connect: Connect) -> None:
    async with connect(rich) as client:
        assert "completions" in (await client.server())["capabilities"]
        result = await client.request("completion/complete", completing(USER, "id", "2"))
    assert result["completion"]["values"] == ["2"]


@requirement("completion:errors:not-offered")
async def test_without_completions_there_is_no_such_method(connect: Connect) -> None:
    async with connect(bare) as client:
        params = completing(GREET, "name", "")
        assert (await client.refusal("completion/complete", params)).code == -32601


@requirement("completion:errors:unknown-prompt")
async def test_completing_for_an_unknown_prompt_is_refused(connect: Connect) -> None:
    async with connect(rich) as client:
        params = completing({**GREET, "name": "nope"}, "name", "")
        assert (await client.refusal("completion/complete", params)).code == -32602


@requirement("completion:errors:missing-argument")
async def test_completing_nothing_is_refused(connect: Connect) -> None:
    wrong: list[Any] = [{"ref": GREET}, {"ref": GREET, "argument": {}}, {"argument": {}}, {}]
    async with connect(rich) as client:
        for params in wrong:
            assert (await client.refusal("completion/complete", params)).code == -32602


@requirement("completion:errors:internal")
async def test_a_completion_that_fails_is_an_internal_error_that_leaks_nothing(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        params = completing(GREET, "name", "crash")
        refused = await client.refusal("completion/complete", params)
    assert refused.code == -32603
    assert "secret" not in str(refused.error)


@requirement("completion:validated")
async def test_only_arguments_of_what_is_there_are_completed(connect: Connect) -> None:
    wrong = [
        completing(GREET, "nothing", ""),
        completing(USER, "name", ""),
        completing({**USER, "uri": "test://nowhere/{id}"}, "id", ""),
        {"ref": GREET, "argument": {"name": "name", "value": 7}},
        {"ref": {"type": "ref/other", "name": "greet"}, "argument": {"name": "name", "value": ""}},
    ]
    async with connect(rich) as client:
        for params in wrong:
            assert (await client.refusal("completion/complete", params)).code == -32602


@requirement("completion:access")
async def test_nothing_is_completed_for_what_a_client_may_not_see(connect: Connect) -> None:
    both = [completing(GREET, "name", ""), completing(USER, "id", "")]
    async with connect(guarded, capabilities={}) as client:
        for params in both:
            assert (await client.refusal("completion/complete", params)).code == -32602
    async with connect(guarded, capabilities={"sampling": {}}) as client:
        for params in both:
            assert (await client.request("completion/complete", params))["completion"]["values"]


@requirement("completion:limit")
async def test_no_more_than_100_values_are_sent(connect: Connect) -> None:
    async with connect(rich) as client:
        params = completing(GREET, "name", "a")
        completion = (await client.request("completion/complete", params))["completion"]
    assert len(completion["values"]) == 100
    assert (completion["total"], completion["hasMore"]) == (150, True)


def limited() -> Server:
    """One that answers one request at a time."""
    server = Server("limited", max_concurrent_requests=1)
    for tool in waiting().tools:
        server.tools.add(tool)

    @server.prompt
    async def greet(name: str) -> str:
        return name

    @server.completion("greet", "name")
    async def names(value: str) -> list[str]:
        return ["Ada"]

    return server


@requirement("completion:rate")
async def test_more_completions_than_may_run_at_once_are_refused(connect: Connect) -> None:
    async with connect(limited) as client:
        params = completing(GREET, "name", "")
        assert (await client.request("completion/complete", params))["completion"]["values"]
        held = client.begin("tools/call", {"name": "hold"}, meta={"progressToken": 1})
        await client.hears("notifications/progress")
        assert (await client.refusal("completion/complete", params)).code == -32600
        client.cancel(held)

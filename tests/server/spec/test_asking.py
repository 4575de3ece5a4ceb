"""Questions to the user, to the model and for roots, at every revision that has them."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from mcp_gen import Context, FileResources, Server, UrlElicitation, UrlElicitationRequired
from mcp_gen.types import (
    SamplingMessage,
    TextContent,
    Tool,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)
from tests.server.spec.servers import asking, rich
from tests.support.asked import Refused
from tests.support.connect import Connect
from tests.support.conversation import Conversation
from tests.support.requirement import requirement

BLUE = {"action": "accept", "content": {"colour": "blue"}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "test-model"}
ACCEPTED = {"action": "accept"}


async def failed(client: Conversation, tool: str) -> bool:
    """Whether a tool failed, in its result or as a protocol error."""
    try:
        return bool((await client.call(tool)).get("isError"))
    except Refused:
        return True


# --- elicitation: how it is asked ---


@requirement("elicitation:modes")
async def test_a_client_is_asked_in_no_mode_that_it_did_not_declare(connect: Connect) -> None:
    for declared, tool in (
        ({"elicitation": {}}, "visit"),
        ({"elicitation": {"form": {}}}, "visit"),
        ({"elicitation": {"url": {}}}, "choose"),
    ):
        async with connect(asking, capabilities=declared) as client:
            assert await failed(client, tool)
        assert client.questions == []


@requirement("elicitation:message", "elicitation:form:shape")
async def test_a_form_comes_with_its_message_and_schema(connect: Connect) -> None:
    async with connect(asking, answers={"elicitation/create": lambda _: BLUE}) as client:
        assert await client.text("choose") == "blue"
    ((_, params),) = client.questions
    assert params["message"] == "Which colour?"
    assert params.get("mode", "form") == "form"
    assert params["requestedSchema"] == {
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "green", "blue"]}},
        "required": ["colour"],
    }


@requirement("elicitation:message", "elicitation:url:shape")
async def test_a_page_comes_with_its_message_and_url(connect: Connect) -> None:
    async with connect(asking, answers={"elicitation/create": lambda _: ACCEPTED}) as client:
        assert await client.text("visit") == "accept"
    ((_, params),) = client.questions
    assert params["mode"] == "url"
    assert (params["message"], params["url"]) == ("Sign here", "https://example.org/sign")
    has_ids = client.profile.elicitation_complete is not None
    assert bool(params.get("elicitationId")) == has_ids


@requirement("elicitation:url:valid")
async def test_a_url_that_is_none_is_never_sent(connect: Connect) -> None:
    async with connect(asking, answers={"elicitation/create": lambda _: ACCEPTED}) as client:
        for url in ("", "nowhere", "/sign", "https://", "https:// a", "//example.org/x"):
            result = await client.call("visit", url=url)
            assert result["isError"]
    assert client.questions == []


# --- elicitation: what is answered ---

UNFIT: list[Any] = [
    {"action": "accept"},
    {"action": "accept", "content": {}},
    {"action": "accept", "content": {"colour": "mauve"}},
    {"action": "accept", "content": {"colour": 7}},
    {"action": "accept", "content": {"colour": ["red"]}},
]


async def keeps_out_what_does_not_fit(connect: Connect) -> None:
    """The call fails, or the user is asked again."""
    for answer in UNFIT:
        answers = iter([answer])

        def respond(params: Any, answers: Any = answers) -> Any:
            return next(answers, BLUE)

        async with connect(asking, answers={"elicitation/create": respond}) as client:
            assert await outcome(client) in ("failed", "blue")
            assert await outcome(client) == "blue"


async def outcome(client: Conversation) -> str:
    """What a choice came to: the handler answers with what it got."""
    try:
        result = await client.call("choose")
    except Refused:
        return "failed"
    return "failed" if result.get("isError") else str(result["content"][0]["text"])


@requirement("elicitation:answers:validated")
async def test_an_answer_that_does_not_fit_never_gets_to_the_handler(connect: Connect) -> None:
    await keeps_out_what_does_not_fit(connect)


@requirement("elicitation:answers:validated-early")
async def test_an_early_answer_that_does_not_fit_never_gets_to_the_handler(
    connect: Connect,
) -> None:
    await keeps_out_what_does_not_fit(connect)


@requirement("elicitation:answers:no")
async def test_a_handler_can_answer_to_a_user_who_says_no(connect: Connect) -> None:
    for action in ("decline", "cancel"):
        async with connect(
            asking, answers={"elicitation/create": lambda _, no=action: {"action": no}}
        ) as client:
            assert await client.text("choose") == action


@requirement("elicitation:bound")
async def test_an_answer_counts_only_from_the_client_that_was_asked(connect: Connect) -> None:
    waiting = asyncio.Event()

    async def later(params: Any) -> Any:
        await waiting.wait()
        return BLUE

    async with connect(asking, answers={"elicitation/create": later}) as mine:
        asked = mine.begin("tools/call", {"name": "choose"})
        if mine.profile.handshake is None:
            first = await asked.result()
            waiting.set()
            given = await mine.answers_to(first)
            asked = mine.begin("tools/call", {"name": "choose", **given})
        else:
            await mine.asks()
            async with connect(asking) as other:
                for frame in [one for one in mine.frames if "method" in one and "id" in one]:
                    answer = {"jsonrpc": "2.0", "id": frame["id"], "result": {"action": "decline"}}
                    other.send(msgspec.json.encode(answer))
                await other.settled()
            assert not asked.answer.done()
            waiting.set()
        assert (await asked.result())["content"][0]["text"] == "blue"


# --- elicitation: pages that must be dealt with first ---


def insisting() -> Server:
    """One that will do nothing before its user has been to a page."""
    server = rich()

    @server.tool
    async def insist() -> str:
        pages = [
            UrlElicitation("Sign here", "https://example.org/sign", "one"),
            UrlElicitation("And here", "https://example.org/again", "two"),
        ]
        raise UrlElicitationRequired(pages)

    @server.tool
    async def visit(ctx: Context) -> str:
        answer = await ctx.elicit_url("Sign here", "https://example.org/a", elicitation_id="three")
        return answer.action

    @server.tool
    async def done() -> str:
        await server.notify.elicitation_complete("three")
        return "done"

    return server


URLS = {"elicitation": {"form": {}, "url": {}}}


@requirement("elicitation:required:list", "elicitation:required:entries")
async def test_the_error_lists_the_pages_that_must_be_dealt_with(connect: Connect) -> None:
    async with connect(insisting, capabilities=URLS) as client:
        refused = await client.refusal("tools/call", {"name": "insist"})
    assert refused.code == -32042
    assert refused.data["elicitations"] == [
        {
            "mode": "url",
            "message": "Sign here",
            "url": "https://example.org/sign",
            "elicitationId": "one",
        },
        {
            "mode": "url",
            "message": "And here",
            "url": "https://example.org/again",
            "elicitationId": "two",
        },
    ]


@requirement("elicitation:required:only-url")
async def test_nothing_else_is_answered_with_that_error(connect: Connect) -> None:
    codes = []
    async with connect(insisting, capabilities=URLS) as client:
        for params in ({"name": "nope"}, {"name": "refuse"}, {"name": "echo"}, {}):
            frame = await client.begin("tools/call", params).answer
            codes.append(frame.get("error", {}).get("code"))
        codes.append((await client.refusal("resources/read", {"uri": "test://nowhere"})).code)
    assert -32042 not in codes


@requirement("elicitation:complete:own-client", "elicitation:complete:id")
async def test_that_a_page_was_dealt_with_is_told_to_who_was_sent_there(connect: Connect) -> None:
    answers = {"elicitation/create": lambda _: ACCEPTED}
    async with connect(insisting, answers=answers) as client:
        await client.text("visit")
        await client.text("done")
        told = await client.hears("notifications/elicitation/complete")
    assert told == [{"elicitationId": "three"}]
    async with connect(insisting, answers=answers) as other:
        await other.text("done")
        await other.settled()
    assert other.params_of("notifications/elicitation/complete") == []


# --- sampling ---


def sampling() -> Server:
    """One that asks for all that a model can be asked for."""
    server = Server("sampling")
    weather = Tool(name="weather", input_schema={"type": "object"})
    use = ToolUseContent(id="1", name="weather", input={})
    result = ToolResultContent(tool_use_id="1", content=[TextContent(text="sunny")])
    question = SamplingMessage(role="user", content=TextContent(text="How is the weather?"))
    used = SamplingMessage(role="assistant", content=use)

    async def ask(ctx: Context, messages: list[Any], **more: Any) -> str:
        return (await ctx.sample(messages, max_tokens=10, **more)).model

    @server.tool
    async def plain(ctx: Context) -> str:
        return await ask(ctx, ["Hello", SamplingMessage(role="assistant", content=_text("Hi"))])

    @server.tool
    async def with_tools(ctx: Context) -> str:
        return await ask(ctx, [question], tools=[weather], tool_choice=ToolChoice(mode="auto"))

    @server.tool
    async def with_context(ctx: Context) -> str:
        return await ask(ctx, [question], include_context="thisServer")

    @server.tool
    async def with_results(ctx: Context) -> str:
        answered = SamplingMessage(role="user", content=result)
        return await ask(ctx, [question, used, answered], tools=[weather])

    @server.tool
    async def mixed(ctx: Context) -> str:
        both = SamplingMessage(role="user", content=[result, TextContent(text="and this")])
        return await ask(ctx, [question, used, both], tools=[weather])

    @server.tool
    async def unanswered(ctx: Context) -> str:
        return await ask(ctx, [question, used, question], tools=[weather])

    @server.tool
    async def mismatched(ctx: Context) -> str:
        other = ToolResultContent(tool_use_id="2", content=[TextContent(text="sunny")])
        answered = SamplingMessage(role="user", content=other)
        return await ask(ctx, [question, used, answered], tools=[weather])

    return server


def _text(text: str) -> TextContent:
    return TextContent(text=text)


def modelled(connect: Connect, **options: Any) -> Any:
    return connect(sampling, answers={"sampling/createMessage": lambda _: SAID}, **options)


@requirement("sampling:tools:undeclared")
async def test_a_client_without_tools_in_sampling_is_sent_none(connect: Connect) -> None:
    async with modelled(connect, capabilities={"sampling": {}}) as client:
        assert await failed(client, "with_tools")
        assert client.questions == []
    async with modelled(connect, capabilities={"sampling": {"tools": {}}}) as client:
        assert await client.text("with_tools") == "test-model"


@requirement("sampling:context:undeclared")
async def test_a_client_that_declares_no_context_is_asked_for_none(connect: Connect) -> None:
    async with modelled(connect, capabilities={"sampling": {}}) as client:
        assert await failed(client, "with_context")
    assert client.questions == []


@requirement("sampling:context:avoided")
async def test_no_context_is_asked_for_unless_the_program_does(connect: Connect) -> None:
    async with modelled(connect) as client:
        assert await client.text("plain") == "test-model"
    ((_, params),) = client.questions
    assert params.get("includeContext", "none") == "none"


@requirement("sampling:tool-results:alone")
async def test_a_message_with_tool_results_and_more_is_not_sent(connect: Connect) -> None:
    async with modelled(connect) as client:
        assert await failed(client, "mixed")
        assert client.questions == []
        assert await client.text("with_results") == "test-model"


@requirement("sampling:tool-results:matched")
async def test_a_use_of_a_tool_without_its_result_is_not_sent(connect: Connect) -> None:
    async with modelled(connect) as client:
        assert await failed(client, "unanswered")
        assert await failed(client, "mismatched")
    assert client.questions == []


@requirement("sampling:messages:shape")
async def test_every_message_has_a_role_and_a_content(connect: Connect) -> None:
    async with modelled(connect) as client:
        await client.text("plain")
    ((_, params),) = client.questions
    assert [(one["role"], one["content"]) for one in params["messages"]] == [
        ("user", {"type": "text", "text": "Hello"}),
        ("assistant", {"type": "text", "text": "Hi"}),
    ]
    assert params["maxTokens"] == 10


@requirement("sampling:validated")
async def test_what_is_no_message_never_gets_to_the_handler(connect: Connect) -> None:
    wrong: list[Any] = [
        {},
        {"role": "assistant"},
        {**SAID, "role": "nobody"},
        {**SAID, "content": "text"},
        {**SAID, "content": {"type": "text"}},
        {**SAID, "model": 7},
    ]
    for answer in wrong:
        said = iter([answer])
        async with connect(
            sampling, answers={"sampling/createMessage": lambda _, said=said: next(said, SAID)}
        ) as client:
            try:
                result = await client.call("plain")
            except Refused:
                continue
        # Asked again where answers come with the next request.
        assert result.get("isError") or client.rounds > 2


# --- roots ---

HOME = {"roots": [{"uri": "file:///home/ada", "name": "home"}]}


@requirement("roots:capability")
async def test_a_client_without_roots_is_not_asked_for_them(connect: Connect) -> None:
    async with connect(asking, capabilities={}) as client:
        assert await failed(client, "folders")
    assert client.questions == []


@requirement("roots:cached")
async def test_roots_are_asked_for_once_until_they_change(connect: Connect) -> None:
    async with connect(asking, answers={"roots/list": lambda _: HOME}) as client:
        assert await client.text("folders") == "file:///home/ada"
        once = len(client.questions)
        await client.text("folders")
        again = len(client.questions)
        if client.profile.roots_changed is not None:
            client.notify("notifications/roots/list_changed")
            await client.text("folders")
            assert (once, again, len(client.questions)) == (1, 1, 2)
    # Without a session there is nothing to keep them in: once for each request.
    assert once == 1


@requirement("roots:unavailable")
async def test_a_client_that_fails_to_list_its_roots_does_no_harm(connect: Connect) -> None:
    for answer in ({"roots": []}, {"roots": [{"uri": "file:///gone/since/long"}]}):
        async with connect(asking, answers={"roots/list": lambda _, it=answer: it}) as client:
            found = " ".join(root["uri"] for root in answer["roots"])
            assert await client.text("folders") == found
            await client.settled()


def filing(folder: Path) -> Server:
    """One that serves the files of a folder, as far as the client's roots go."""
    server = Server("filing")
    server.add_resources(FileResources(folder, within_client_roots=True))
    return server


@requirement("roots:respected", "roots:paths-checked")
async def test_files_outside_of_the_roots_are_not_served(connect: Connect, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.txt").write_text("text")
    (inside / "link.txt").symlink_to(outside / "a.txt")
    answers = {"roots/list": lambda _: {"roots": [{"uri": inside.as_uri()}]}}
    async with connect(partial(filing, tmp_path), answers=answers) as client:
        read = await client.request("resources/read", {"uri": (inside / "a.txt").as_uri()})
        assert read["contents"][0]["text"] == "text"
        for uri in (
            (outside / "a.txt").as_uri(),
            (inside / "link.txt").as_uri(),
            inside.as_uri() + "/../outside/a.txt",
            inside.as_uri() + "/%2e%2e/outside/a.txt",
        ):
            await client.refusal("resources/read", {"uri": uri})

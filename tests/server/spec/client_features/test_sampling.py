"""Spec tests of sampling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from mcp_gen import Context, InvalidParams, InvalidResult, Server
from mcp_gen.types import (
    SamplingMessage,
    TextContent,
    Tool,
    ToolChoice,
    ToolResultContent,
    ToolUseContent,
)
from tests.support.peers.asked import Answer, Refused
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

ASK = "sampling/createMessage"
HELLO = {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}

TEXT = TextContent(text="hm")
WEATHER = Tool(name="weather", input_schema={"type": "object"})


def asks(*blocks: Any) -> SamplingMessage:
    return SamplingMessage(role="assistant", content=list(blocks))


def gives(*blocks: Any) -> SamplingMessage:
    return SamplingMessage(role="user", content=list(blocks))


def use(id: str) -> ToolUseContent:
    return ToolUseContent(id=id, name="weather", input={})


def result(id: str) -> ToolResultContent:
    return ToolResultContent(tool_use_id=id, content=[TEXT])


CONVERSATIONS: dict[str, list[str | SamplingMessage]] = {
    "matched": ["Weather?", asks(TEXT, use("a"), use("b")), gives(result("b"), result("a")), "Ok"],
    "twice": [asks(use("a")), gives(result("a")), asks(use("a")), gives(result("a"))],
    "alone": [
        SamplingMessage(role="assistant", content=use("a")),
        SamplingMessage(role="user", content=result("a")),
    ],
    "with text": [asks(use("a")), gives(result("a"), TEXT)],
    "no result": [asks(use("a")), "Go on"],
    "no result at the end": ["Weather?", asks(use("a"))],
    "one result of two": [asks(use("a"), use("b")), gives(result("a"))],
    "late result": [asks(use("a")), "Wait", gives(result("a"))],
    "another's result": [asks(use("a")), gives(result("b"))],
    "result of nothing": [gives(result("a"))],
    "result twice": [asks(use("a")), gives(result("a"), result("a"))],
    "result of the assistant": [asks(use("a")), asks(result("a"))],
    "use of the user": [gives(use("a")), gives(result("a"))],
    "results in two messages": [
        asks(use("a"), use("b")),
        gives(result("a")),
        gives(result("b")),
    ],
}
MAY_BE_SENT = ("matched", "twice", "alone")


def sampling() -> Server:
    """Return a server that makes sampling requests."""
    server = Server("sampling")
    given: list[str] = []

    @server.tool
    async def sample(ctx: Context) -> str:
        """Ask the model for a word."""
        try:
            answer = await ctx.sample(["Say hello.", "Please."], max_tokens=10)
        except InvalidResult:
            return "refused"
        given.append(answer.model)
        return answer.model

    @server.tool
    async def got() -> list[str]:
        """Return every answer that reached `sample`."""
        return given

    @server.tool
    async def sample_with_tools(ctx: Context, choice: bool) -> str:
        """Make a sampling request with a tool."""
        more = ToolChoice(mode="auto") if choice else None
        return (await ctx.sample("Hi", max_tokens=10, tools=[WEATHER], tool_choice=more)).model

    @server.tool
    async def sample_with_choice(ctx: Context) -> str:
        """Make a sampling request with a tool choice, but no tool."""
        return (await ctx.sample("Hi", max_tokens=10, tool_choice=ToolChoice(mode="none"))).model

    @server.tool
    async def sample_with_context(
        ctx: Context, context: Literal["none", "thisServer", "allServers"]
    ) -> str:
        """Make a sampling request with `includeContext`."""
        return (await ctx.sample("Hi", max_tokens=10, include_context=context)).model

    @server.tool
    async def converse(ctx: Context, which: str) -> str:
        """Make a sampling request that continues a conversation."""
        turns = CONVERSATIONS[which]
        return (await ctx.sample(turns, max_tokens=10, tools=[WEATHER])).model

    return server


ANSWERS: dict[str, Answer] = {ASK: lambda params: HELLO}


async def is_asked(client: Conversation, tool: str, **arguments: Any) -> bool:
    """Return True if a tool's sampling request reaches the client."""
    before = len(client.questions)
    try:
        failed = (await client.call(tool, **arguments)).get("isError", False)
    except Refused:
        failed = True
    asked = len(client.questions) > before
    assert asked != failed
    return asked


@requirement("sampling:tools:undeclared")
async def test_a_client_that_has_not_declared_tools_is_sent_none(connect: Connect) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("sample_with_tools", {"choice": False}),
        ("sample_with_tools", {"choice": True}),
        ("sample_with_choice", {}),
    ]
    for parts, may in ({}, False), ({"context": {}}, False), ({"tools": {}}, True):
        declared = {"sampling": parts}
        async with connect(sampling, answers=ANSWERS, capabilities=declared) as client:
            assert [await is_asked(client, tool, **more) for tool, more in calls] == [may] * 3
            assert await is_asked(client, "sample")
        sent = [("tools" in params or "toolChoice" in params) for _, params in client.questions]
        assert sent == [may] * (len(sent) - 1) + [False]


@requirement("sampling:context:undeclared")
async def test_context_is_asked_for_only_where_the_client_has_declared_it(
    connect: Connect,
) -> None:
    contexts = ["none", "thisServer", "allServers"]
    for parts, may in ({}, False), ({"tools": {}}, False), ({"context": {}}, True):
        declared = {"sampling": parts}
        async with connect(sampling, answers=ANSWERS, capabilities=declared) as client:
            asked = [await is_asked(client, "sample_with_context", context=c) for c in contexts]
        assert asked == [True, may, may]
        sent = [params.get("includeContext", "none") for _, params in client.questions]
        assert sent == [context for context, was in zip(contexts, asked, strict=True) if was]


@requirement("sampling:context:avoided")
async def test_no_context_is_asked_for_unless_the_handler_says_so(connect: Connect) -> None:
    async with connect(sampling, answers=ANSWERS) as client:
        await client.call("sample")
        await client.call("sample_with_tools", choice=True)
    assert [params.get("includeContext") for _, params in client.questions] == [None, None]


@requirement("sampling:tool-results:alone", "sampling:tool-results:matched")
async def test_every_use_of_a_tool_has_its_result_at_once_and_that_alone(
    connect: Connect,
) -> None:
    async with connect(sampling, answers=ANSWERS) as client:
        asked = [one for one in CONVERSATIONS if await is_asked(client, "converse", which=one)]
    assert asked == [*MAY_BE_SENT]


@requirement("sampling:messages:shape")
async def test_every_message_has_a_role_and_a_content(connect: Connect) -> None:
    async with connect(sampling, answers=ANSWERS) as client:
        await client.call("sample")
        await client.call("converse", which="matched")
    messages = [message for _, params in client.questions for message in params["messages"]]
    assert [one["role"] for one in messages] == ["user"] * 3 + ["assistant", "user", "user"]
    assert messages[0]["content"] == {"type": "text", "text": "Say hello."}
    assert all(one["content"] for one in messages)


@requirement("sampling:validated")
async def test_an_answer_that_is_no_message_is_never_given_to_the_handler(
    connect: Connect,
) -> None:
    wrong: list[Any] = [
        {},
        {**HELLO, "role": "robot"},
        {**HELLO, "content": "hello"},
        {**HELLO, "content": None},
        {**HELLO, "content": {"type": "text"}},
        {"role": "assistant", "content": HELLO["content"]},
        {"action": "accept"},
    ]
    live = connect.profile.handshake is not None
    said: list[str] = []
    for bad in wrong:
        given: Iterator[Any] = iter([bad] if live else [bad, HELLO])
        async with connect(sampling, answers={ASK: lambda params, g=given: next(g)}) as client:
            try:
                said.append(await client.text("sample"))
            except Refused as refused:
                said.append("refused" if refused.code == InvalidParams.code else "failed")
            got = [block["text"] for block in (await client.call("got"))["content"]]
        # With `input_required` results the server may ask again.
        assert got == ([] if said[-1] == "refused" else ["m"]), bad
    assert set(said) <= ({"refused"} if live else {"refused", "m"})

"""The manager runs the tool calls of a model's reply: in order, within limits, never raising."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_gen import ClientManager, McpError, Server, UsageError
from mcp_gen.content import image
from mcp_gen.manager.model_calls import ToolResults
from mcp_wire import latest
from tests.manager.model_sdks import APIS, checked, checked_message, checked_tool, reply_type

LOOK, SLOW, FAIL = "mcp__shop__look", "mcp__shop__slow", "mcp__shop__fail"


class Shop:
    """Server with tools that a test holds back and counts."""

    def __init__(self) -> None:
        self.server = Server("shop")
        self.running = self.most = 0
        self.goes_on = asyncio.Event()
        self.started = asyncio.Event()

        @self.server.tool
        async def look(item: str) -> str:
            return f"{item}: 3"

        @self.server.tool
        async def slow(item: str) -> str:
            self.running += 1
            self.most = max(self.most, self.running)
            self.started.set()
            await self.goes_on.wait()
            self.running -= 1
            return item

        @self.server.tool
        async def fail() -> str:
            raise McpError(-31000, "out of order")

        @self.server.tool
        async def picture() -> latest.ImageContent:
            return image(b"png", mime_type="image/png")


@asynccontextmanager
async def shopping() -> AsyncIterator[tuple[Shop, ClientManager]]:
    shop = Shop()
    async with ClientManager({"shop": shop.server}) as manager:
        yield shop, manager


Calls = list[tuple[str, Any]]


def anthropic(calls: Calls) -> dict[str, Any]:
    uses = [
        {"type": "tool_use", "id": str(n), "name": name, "input": given}
        for n, (name, given) in enumerate(calls)
    ]
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Let me see."}, *uses],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def openai(calls: Calls) -> dict[str, Any]:
    made = [
        {
            "type": "function",
            "id": str(n),
            "function": {"name": name, "arguments": written(given)},
        }
        for n, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    choice = {"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }


def responses(calls: Calls) -> dict[str, Any]:
    made = [
        {"type": "function_call", "call_id": str(n), "name": name, "arguments": written(given)}
        for n, (name, given) in enumerate(calls)
    ]
    return {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": [{"type": "reasoning", "id": "x", "summary": []}, *made],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def gemini(calls: Calls) -> dict[str, Any]:
    parts = [
        {"functionCall": {"id": str(n), "name": name, "args": given}}
        for n, (name, given) in enumerate(calls)
    ]
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hm."}, *parts]}}]}


def written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


JSON: dict[str, Any] = {
    "anthropic": anthropic,
    "openai": openai,
    "openai-responses": responses,
    "gemini": gemini,
}

every_api = pytest.mark.parametrize("api", APIS)


def reply(api: str, calls: Calls) -> Any:
    """Return a reply as the SDK of an API returns it."""
    return reply_type(api).model_validate_json(json.dumps(JSON[api](calls)))


def texts(api: str, results: ToolResults) -> list[str]:
    """Return the text of each result, checked with the types of the SDK."""
    for message in results:
        checked_message(api, message)
    return [_text(checked(api, one) and one) for one in results.results]


def _text(one: Any) -> str:
    if "function_response" in one:
        response = one["function_response"]["response"]
        return "".join(f"{'' if key == 'output' else 'E '}{response[key]}" for key in response)
    content = one.get("content", one.get("output"))
    whole = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
    failed = "The tool failed:\n"
    is_error = one.get("is_error") or whole.startswith(failed)
    return ("E " if is_error else "") + whole.removeprefix(failed)


@every_api
@pytest.mark.parametrize("form", ["objects", "JSON"])
async def test_the_calls_of_a_reply_are_run_and_answered_in_order(api: Any, form: str) -> None:
    calls: Calls = [(LOOK, {"item": "bolt"}), (LOOK, {"item": "nut"})]
    given = reply(api, calls) if form == "objects" else JSON[api](calls)
    async with shopping() as (_, manager):
        results = await manager.run_tool_calls(api, given)
    assert texts(api, results) == ["bolt: 3", "nut: 3"]
    assert [call.id for call in results.calls] == ["0", "1"]


@every_api
async def test_a_reply_without_calls_adds_nothing(api: Any) -> None:
    async with shopping() as (_, manager):
        assert await manager.run_tool_calls(api, reply(api, [])) == []


async def test_a_reply_of_gemini_that_was_blocked_adds_nothing() -> None:
    async with shopping() as (_, manager):
        assert await manager.run_tool_calls("gemini", reply_type("gemini")()) == []


async def test_a_message_of_chat_completions_is_a_reply() -> None:
    message = reply("openai", [(LOOK, {"item": "bolt"})]).choices[0].message
    async with shopping() as (_, manager):
        results = await manager.run_tool_calls("openai", message)
    assert texts("openai", results) == ["bolt: 3"]


async def test_a_message_among_the_choices_of_a_faked_reply_needs_no_role() -> None:
    faked = openai([(LOOK, {"item": "bolt"})])
    del faked["choices"][0]["message"]["role"]
    async with shopping() as (_, manager):
        results = await manager.run_tool_calls("openai", faked)
    assert texts("openai", results) == ["bolt: 3"]


@every_api
async def test_each_call_that_fails_has_an_error_result(
    api: Any, caplog: pytest.LogCaptureFixture
) -> None:
    calls: Calls = [
        (FAIL, {}),
        ("mcp__shop__made_up", {}),
        ("mcp__nowhere__look", {}),
        ("made_up", {}),
        (LOOK, {}),
        (LOOK, {"item": "nut"}),
    ]
    async with shopping() as (_, manager):
        found = texts(api, await manager.run_tool_calls(api, reply(api, calls)))
    assert [text.startswith("E ") for text in found] == [True] * 5 + [False]
    for text, part in zip(
        found,
        ("out of order", "unknown tool", "no such server", "expected a name", "item"),
        strict=False,
    ):
        assert part in text


@pytest.mark.parametrize("api", ["openai", "openai-responses"])
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"item": ', "the arguments are not valid JSON"),
        ("[1]", "expected the arguments as object, got list"),
        ("", "the arguments are not valid JSON"),
    ],
)
async def test_arguments_that_cannot_be_read_are_an_error_result(
    api: Any, arguments: str, problem: str
) -> None:
    calls: Calls = [(LOOK, arguments), (LOOK, {"item": "nut"})]
    async with shopping() as (_, manager):
        wrong, right = texts(api, await manager.run_tool_calls(api, reply(api, calls)))
    assert wrong.startswith(f"E {LOOK}: {problem}")
    assert right == "nut: 3"


async def test_calls_run_at_the_same_time_but_not_too_many() -> None:
    calls: Calls = [(SLOW, {"item": str(n)}) for n in range(7)]
    async with shopping() as (shop, manager):
        running = asyncio.ensure_future(
            manager.run_tool_calls("anthropic", anthropic(calls), max_at_once=3)
        )
        async with asyncio.timeout(30):
            # The calls arrive in several turns of the loop.
            while shop.running < 3:  # noqa: ASYNC110  # one turn each, bounded above
                await asyncio.sleep(0)
        shop.goes_on.set()
        assert texts("anthropic", await running) == [str(n) for n in range(7)]
    assert shop.most == 3


async def test_a_call_that_takes_too_long_is_stopped_and_the_others_are_answered() -> None:
    calls: Calls = [(SLOW, {"item": "a"}), (LOOK, {"item": "nut"})]
    async with shopping() as (_, manager):
        results = await manager.run_tool_calls("anthropic", anthropic(calls), timeout_s=0.05)
    assert texts("anthropic", results) == [
        f"E {SLOW}: not done in 0.05 s, and stopped",
        "nut: 3",
    ]


async def test_a_cancelled_run_stops_its_calls() -> None:
    async with shopping() as (shop, manager):
        calls = anthropic([(SLOW, {"item": "a"})])
        running = asyncio.ensure_future(manager.run_tool_calls("anthropic", calls))
        async with asyncio.timeout(30):
            await shop.started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


async def test_an_error_that_nobody_expects_is_logged_and_its_text_kept_from_the_model(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret")

    async with shopping() as (_, manager):
        monkeypatch.setattr(manager, "call_tool", broken)
        with caplog.at_level(logging.ERROR, "mcp_gen.client"):
            results = await manager.run_tool_calls("anthropic", anthropic([(LOOK, {})]))
    assert texts("anthropic", results) == [f"E {LOOK} failed: ZeroDivisionError"]
    assert "secret" in caplog.text


async def test_tools_that_the_program_answers_itself_are_skipped() -> None:
    calls: Calls = [("my_own", {}), (LOOK, {"item": "nut"})]
    async with shopping() as (_, manager):
        results = await manager.run_tool_calls("openai", openai(calls), skip=["my_own"])
    assert [one["tool_call_id"] for one in results] == ["1"]


async def test_images_for_chat_completions_follow_all_tool_messages() -> None:
    calls: Calls = [("mcp__shop__picture", {}), (LOOK, {"item": "nut"})]
    async with shopping() as (_, manager):
        results = await manager.run_tool_calls("openai", openai(calls))
    assert [one["role"] for one in results] == ["tool", "tool", "user"]
    checked_message("openai", results[-1])
    png = base64.b64encode(b"png").decode()
    assert results[-1]["content"][1] == {
        "type": "image_url",
        "image_url": {"url": f"data:image/png;base64,{png}"},
    }


@every_api
async def test_a_reply_of_another_api_is_refused(api: Any) -> None:
    other = APIS[APIS.index(api) - 1]
    async with shopping() as (_, manager):
        with pytest.raises(UsageError, match=f"run_tool_calls\\('{api}'\\): expected a"):
            await manager.run_tool_calls(api, reply(other, [(LOOK, {})]))


async def test_a_call_that_cannot_be_answered_is_refused() -> None:
    async with shopping() as (_, manager):
        with pytest.raises(UsageError, match="has no id to answer"):
            await manager.run_tool_calls(
                "anthropic", {"content": [{"type": "tool_use", "name": LOOK, "input": {}}]}
            )


async def test_wrong_options_are_refused() -> None:
    unknown: Any = "opneai"
    async with shopping() as (_, manager):
        with pytest.raises(UsageError, match="there is 'anthropic'"):
            await manager.run_tool_calls(unknown, {})
        with pytest.raises(UsageError, match="expected at least 1"):
            await manager.run_tool_calls("openai", openai([]), max_at_once=0)


@every_api
async def test_the_sdk_of_each_api_takes_the_tools(api: Any) -> None:
    async with shopping() as (_, manager):
        tools = await manager.tools_for(api)
    assert len([checked_tool(api, tool) for tool in tools]) == 4

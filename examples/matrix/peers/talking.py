"""Conversations of a client with a server, and a line of JSON on stdout for each.

`shelf_conversations` needs some functions, which each SDK writes in its own words. Conversations
about tools, resources and prompts of the shelf are for servers of that name; every server has the
others, if it declares the capability.
"""

import asyncio
import json
import traceback
from collections.abc import Awaitable, Callable, Collection
from typing import Any, NamedTuple

SHELF = "matrix-shelf"
LIMIT_S = 20.0
"""Longest time of one conversation, in seconds."""


class NotTestedError(Exception):
    """The conversation cannot be had; the text says why."""


class ToolAnswer(NamedTuple):
    """Result of a tool call."""

    text: str
    is_error: bool
    structured: Any


class Words(NamedTuple):
    """Calls and answers of a client, in the words of its SDK.

    Args:
        server_name: Returns the name of the server; None if it has not said one.
        capabilities: Names of the capabilities that the server declares.
        tools: Returns the names of the tools.
        call: Calls a tool, with a function that takes each progress value.
        resources: Returns the URIs of the resources.
        templates: Returns the URI templates.
        read: Returns the text of a resource.
        prompts: Returns the names of the prompts.
        prompt: Returns the text of the first message of a prompt.
        refusals: Exceptions that an error of the server is raised as.
        asks: False if the revision has no elicitation.
    """

    server_name: Callable[[], str | None]
    capabilities: Collection[str]
    tools: Callable[[], Awaitable[list[str]]]
    call: Callable[[str, dict[str, Any], Callable[[float], None]], Awaitable[ToolAnswer]]
    resources: Callable[[], Awaitable[list[str]]]
    templates: Callable[[], Awaitable[list[str]]]
    read: Callable[[str], Awaitable[str]]
    prompts: Callable[[], Awaitable[list[str]]]
    prompt: Callable[[str, dict[str, str]], Awaitable[str]]
    refusals: tuple[type[Exception], ...]
    asks: bool


def tell(conversation: str, verdict: str, why: str = "") -> None:
    """Print the verdict on a conversation."""
    print(json.dumps({"conversation": conversation, "verdict": verdict, "why": why}), flush=True)


async def shelf_conversations(words: Words) -> None:
    """Have every conversation, and print a line for each."""
    tell("connect", "passed")
    for name, conversation in CONVERSATIONS.items():
        try:
            async with asyncio.timeout(LIMIT_S):
                await conversation(words)
        except NotTestedError as error:
            tell(name, "not tested", str(error))
        except TimeoutError:
            tell(name, "failed", f"no answer in {LIMIT_S:g} s")
        except AssertionError as error:
            tell(name, "failed", str(error))
        except Exception as error:
            traceback.print_exc()
            tell(name, "failed", f"{type(error).__name__}: {error}")
        else:
            tell(name, "passed")


def expect(expected: object, came: object) -> None:
    """Fail unless two values are equal."""
    assert expected == came, f"expected {expected!r}, got {came!r}"


def ignore(progress: float) -> None:
    """Take no note of progress."""


def _need(words: Words, capability: str, *, of_shelf: bool = True) -> None:
    if capability not in words.capabilities:
        raise NotTestedError(f"the server has no {capability}")
    if of_shelf and words.server_name() != SHELF:
        raise NotTestedError(f"it is for servers of the name {SHELF!r}")


async def _call(words: Words, name: str, arguments: dict[str, Any]) -> ToolAnswer:
    _need(words, "tools")
    return await words.call(name, arguments, ignore)


async def _identity(words: Words) -> None:
    name = words.server_name()
    assert name, "the server has not said its name"


def _once(names: list[str]) -> None:
    assert len(names) == len(set(names)), f"something is listed twice: {names}"


async def _tool_list(words: Words) -> None:
    _need(words, "tools", of_shelf=False)
    _once(await words.tools())


async def _resource_lists(words: Words) -> None:
    _need(words, "resources", of_shelf=False)
    _once(await words.resources())
    _once(await words.templates())


async def _prompt_list(words: Words) -> None:
    _need(words, "prompts", of_shelf=False)
    _once(await words.prompts())


async def _tool_call(words: Words) -> None:
    answer = await _call(words, "add", {"a": 1, "b": 2})
    expect(("3", False), (answer.text, answer.is_error))


async def _structured(words: Words) -> None:
    answer = await _call(words, "count", {})
    expect(False, answer.is_error)
    if answer.structured is None:
        expect({"titles": 3}, json.loads(answer.text))
    else:
        expect({"titles": 3}, answer.structured)


async def _progress(words: Words) -> None:
    _need(words, "tools")
    seen: list[float] = []
    answer = await words.call("scan", {"shelves": 3}, seen.append)
    expect("3 shelves", answer.text)
    # Notifications may arrive after the result.
    for _ in range(50):
        if len(seen) == 3:
            break
        await asyncio.sleep(0.01)
    assert len(seen) >= 3, "fewer than 3 reports of progress came"
    expect([1, 2, 3], seen)


async def _tool_error(words: Words) -> None:
    answer = await _call(words, "lend", {"title": "Emma"})
    assert answer.is_error, "the result of a tool that failed is no error"
    assert "Emma" in answer.text, f"expected the error of the tool, got {answer.text!r}"


async def _wrong_arguments(words: Words) -> None:
    try:
        answer = await _call(words, "add", {"a": "one", "b": 2})
    except words.refusals:
        return
    assert answer.is_error, f"expected an error, got {answer.text!r}"


async def _unknown_tool(words: Words) -> None:
    _need(words, "tools", of_shelf=False)
    try:
        answer = await words.call("no-such-tool", {}, ignore)
    except words.refusals:
        return
    assert answer.is_error, f"expected an error, got {answer.text!r}"


async def _question(words: Words) -> None:
    if not words.asks:
        raise NotTestedError("the revision has no elicitation")
    answer = await _call(words, "choose", {})
    expect("chose Emma", answer.text)


async def _resource(words: Words) -> None:
    _need(words, "resources")
    expect("Bring it back.", await words.read("shelf://rules"))


async def _template(words: Words) -> None:
    _need(words, "resources")
    expect("title 7", await words.read("shelf://titles/7"))


async def _unknown_resource(words: Words) -> None:
    _need(words, "resources", of_shelf=False)
    try:
        text = await words.read("nowhere://at-all")
    except words.refusals:
        return
    raise AssertionError(f"expected an error, got {text!r}")


async def _prompt(words: Words) -> None:
    _need(words, "prompts")
    text = await words.prompt("recommend", {"reader": "Ada"})
    expect("Recommend a title to Ada.", text)


CONVERSATIONS: dict[str, Callable[[Words], Awaitable[None]]] = {
    "identity": _identity,
    "list tools": _tool_list,
    "list resources": _resource_lists,
    "list prompts": _prompt_list,
    "call a tool": _tool_call,
    "structured result": _structured,
    "progress": _progress,
    "tool error": _tool_error,
    "wrong arguments": _wrong_arguments,
    "unknown tool": _unknown_tool,
    "elicitation": _question,
    "read a resource": _resource,
    "resource template": _template,
    "unknown resource": _unknown_resource,
    "prompt": _prompt,
}
"""Every conversation after `connect`, by its name."""

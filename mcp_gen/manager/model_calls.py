"""Runs the tool calls of a model's reply: reads the replies of each SDK, without importing it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from mcp_gen.core.errors import McpGenError, UsageError
from mcp_gen.core.peer_values import shortened
from mcp_gen.manager.model_results import ExportedResult, export_result
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.manager.model_formats import Api, Json

__all__ = ["ModelCall", "ToolResults", "calls_in", "run_calls"]

_log = logging.getLogger("mcp_gen.client")


class ModelCall(NamedTuple):
    """Call of a tool in a model's reply.

    Args:
        name: Name of the tool, as the model was told it.
        arguments: The arguments; empty if they could not be read.
        id: Id of the call; None if it has none, which only Gemini's may.
        problem: What is wrong with the arguments; empty if nothing is.
    """

    name: str
    arguments: dict[str, Any]
    id: str | None
    problem: str = ""


class ToolResults(list["Json"]):
    """Messages with the results of a model's calls, to append to the conversation as they are.

    Args:
        messages: The messages, contents or input items of the API.
        results: The results alone, in the order of the calls.
        calls: The calls.
    """

    def __init__(
        self, messages: Iterable[Json], results: Iterable[Json], calls: Iterable[ModelCall]
    ) -> None:
        super().__init__(messages)
        self.results: list[Json] = list(results)
        self.calls: list[ModelCall] = list(calls)


async def run_calls(
    api: Api,
    reply: Any,
    call: Callable[[str, dict[str, Any]], Awaitable[latest.CallToolResult]],
    *,
    max_at_once: int,
    timeout_s: float | None,
    skip: Collection[str],
) -> ToolResults:
    """Run all calls of a reply; see `ClientManager.run_tool_calls`.

    Raises:
        UsageError: an unknown API, a reply of another one, or `max_at_once` below 1.
    """
    if max_at_once < 1:
        raise UsageError(f"run_tool_calls(max_at_once={max_at_once}): expected at least 1")
    calls = [one for one in calls_in(api, reply) if one.name not in skip]
    turn = asyncio.Semaphore(max_at_once)

    async def run(one: ModelCall) -> ExportedResult:
        async with turn:
            return export_result(api, await _result(one, call, timeout_s), one.id, one.name)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(one)) for one in calls]
    done = [task.result() for task in tasks]
    results = [one.result for one in done]
    media = [part for one in done for part in one.media]
    return ToolResults(_FORMATS[api].messages(results, media) if calls else [], results, calls)


async def _result(
    one: ModelCall,
    call: Callable[[str, dict[str, Any]], Awaitable[latest.CallToolResult]],
    timeout_s: float | None,
) -> latest.CallToolResult:
    """Return the result of a call; an error result if it fails."""
    if one.problem:
        return _failed(one.problem)
    try:
        async with asyncio.timeout(timeout_s):
            return await call(one.name, one.arguments)
    except TimeoutError:
        return _failed(f"{one.name}: not done in {timeout_s:g} s, and stopped")
    except McpGenError as error:
        return _failed(str(error))
    except Exception as error:
        _log.exception("run_tool_calls: %s failed", shortened(one.name))
        return _failed(f"{one.name} failed: {type(error).__name__}")


def _failed(text: str) -> latest.CallToolResult:
    return latest.CallToolResult(content=[latest.TextContent(text=text)], is_error=True)


# --- reading replies ---


def calls_in(api: Api, reply: Any) -> list[ModelCall]:
    """Return the calls of tools in a model's reply.

    Args:
        api: The API.
        reply: The reply as the API's SDK returns it, or as JSON.

    Raises:
        UsageError: an unknown API, or a reply that is not one of it.
    """
    found = _FORMATS.get(api)
    if found is None:
        raise UsageError(f"run_tool_calls({api!r}): there is {', '.join(map(repr, _FORMATS))}")
    calls = found.calls(reply)
    if calls is None:
        raise UsageError(
            f"run_tool_calls({api!r}): expected {found.reply}, got {type(reply).__name__}"
        )
    if found.needs_ids and any(one.id is None for one in calls):
        raise UsageError(f"run_tool_calls({api!r}): a call in the reply has no id to answer")
    return calls


def _get(value: Any, *names: str) -> Any:
    """Return a member of an object or a mapping, by the first of its names that is there."""
    for name in names:
        found = _member(value, name)
        if found is not None:
            return found
    return None


def _member(value: Any, name: str) -> Any:
    if not isinstance(value, Mapping):
        return getattr(value, name, None)
    return cast("Mapping[str, Any]", value).get(name)


def _has(value: Any, name: str) -> bool:
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def _list(value: Any) -> list[Any] | None:
    return list(cast("list[Any]", value)) if isinstance(value, list | tuple) else None


def _call(name: Any, arguments: Any, id: Any) -> ModelCall:
    """Return a call whose arguments are an object, or a JSON text of one."""
    name, id = str(name), None if id is None else str(id)
    try:
        given = msgspec.json.decode(arguments) if isinstance(arguments, str) else arguments
    except msgspec.DecodeError as error:
        return ModelCall(name, {}, id, f"{name}: the arguments are not valid JSON: {error}")
    if given is None:
        return ModelCall(name, {}, id)
    if not isinstance(given, Mapping):
        got = type(given).__name__
        return ModelCall(name, {}, id, f"{name}: expected the arguments as object, got {got}")
    return ModelCall(name, dict(cast("Mapping[str, Any]", given)), id)


def _anthropic_calls(reply: Any) -> list[ModelCall] | None:
    blocks = _list(_get(reply, "content"))
    return blocks and [
        _call(_get(one, "name"), _get(one, "input"), _get(one, "id"))
        for one in blocks
        if _get(one, "type") == "tool_use"
    ]


def _chat_calls(reply: Any) -> list[ModelCall] | None:
    choices = _list(_get(reply, "choices"))
    message = _get(choices[0], "message") if choices else reply
    # A message of Anthropic has this role, too; its content is a list.
    if (not choices and _get(message, "role") != "assistant") or _list(
        _get(message, "content")
    ) is not None:
        return None
    calls = _list(_get(message, "tool_calls")) or []
    functions = [(_get(one, "function"), _get(one, "id")) for one in calls]
    return [
        _call(_get(function, "name"), _get(function, "arguments"), id)
        for function, id in functions
        if function is not None
    ]


def _responses_calls(reply: Any) -> list[ModelCall] | None:
    items = _list(_get(reply, "output"))
    return items and [
        _call(_get(one, "name"), _get(one, "arguments"), _get(one, "call_id"))
        for one in items
        if _get(one, "type") == "function_call"
    ]


def _gemini_calls(reply: Any) -> list[ModelCall] | None:
    candidates = _list(_get(reply, "candidates"))
    content = _get(candidates[0], "content") if candidates else reply
    parts = _list(_get(content, "parts"))
    if parts is None and not _has(reply, "candidates"):
        return None
    # A reply that was blocked has no content.
    calls = [_get(one, "function_call", "functionCall") for one in parts or []]
    return [
        _call(_get(one, "name"), _get(one, "args"), _get(one, "id"))
        for one in calls
        if one is not None
    ]


# --- writing messages ---


def _anthropic_messages(results: list[Json], media: list[Json]) -> list[Json]:
    return [{"role": "user", "content": results}]


def _chat_messages(results: list[Json], media: list[Json]) -> list[Json]:
    if not media:
        return results
    said = {"type": "text", "text": "What the tools returned beside text, in their order:"}
    return [*results, {"role": "user", "content": [said, *media]}]


def _responses_messages(results: list[Json], media: list[Json]) -> list[Json]:
    return results


def _gemini_messages(results: list[Json], media: list[Json]) -> list[Json]:
    return [{"role": "user", "parts": results}]


class _ReplyFormat(NamedTuple):
    calls: Callable[[Any], list[ModelCall] | None]
    messages: Callable[[list[Json], list[Json]], list[Json]]
    reply: str
    needs_ids: bool = True


_FORMATS: Mapping[str, _ReplyFormat] = {
    "anthropic": _ReplyFormat(_anthropic_calls, _anthropic_messages, "a Message with `content`"),
    "openai": _ReplyFormat(
        _chat_calls, _chat_messages, "a ChatCompletion with `choices`, or its message"
    ),
    "openai-responses": _ReplyFormat(
        _responses_calls, _responses_messages, "a Response with `output`"
    ),
    "gemini": _ReplyFormat(
        _gemini_calls, _gemini_messages, "a GenerateContentResponse, or its content", False
    ),
}

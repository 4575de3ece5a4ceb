"""Checks of shapes with the types of the SDKs of model APIs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter

__all__ = ["APIS", "WRONG", "checked", "checked_message", "checked_tool", "reply_type"]

APIS = ["anthropic", "openai", "openai-responses", "gemini"]


class _Types(NamedTuple):
    """Types of the SDKs, by API."""

    results: dict[str, Any]
    messages: dict[str, Any]
    tools: dict[str, Any]
    replies: dict[str, Any]


@cache
def _types() -> _Types:
    # They take a second to load, which each process of a test run would spend.
    from anthropic.types import Message, MessageParam, ToolParam, ToolResultBlockParam
    from google.genai import types as gemini
    from openai.types.chat import (
        ChatCompletion,
        ChatCompletionToolMessageParam,
        ChatCompletionToolParam,
        ChatCompletionUserMessageParam,
    )
    from openai.types.responses import FunctionToolParam, Response
    from openai.types.responses.response_input_param import FunctionCallOutput

    return _Types(
        results={
            "anthropic": ToolResultBlockParam,
            "openai": ChatCompletionToolMessageParam,
            "openai-responses": FunctionCallOutput,
            "gemini": gemini.Part,
        },
        messages={
            "anthropic": MessageParam,
            "openai": ChatCompletionUserMessageParam,
            "openai-responses": FunctionCallOutput,
            "gemini": gemini.Content,
        },
        tools={
            "anthropic": ToolParam,
            "openai": ChatCompletionToolParam,
            "openai-responses": FunctionToolParam,
            "gemini": gemini.FunctionDeclaration,
        },
        replies={
            "anthropic": Message,
            "openai": ChatCompletion,
            "openai-responses": Response,
            "gemini": gemini.GenerateContentResponse,
        },
    )


WRONG: dict[str, Any] = {
    "anthropic": {
        "type": "tool_result",
        "tool_use_id": "1",
        # The shape of MCP, not that of the API.
        "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
    },
    "openai": {
        "role": "tool",
        "tool_call_id": "1",
        "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}],
    },
    "openai-responses": {
        "type": "function_call_output",
        "call_id": "1",
        "output": [{"type": "text", "text": "hi"}],
    },
    "gemini": {"function_response": {"name": "look", "response": "a text"}},
}
"""A shape per API that its SDK refuses."""


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _checked(kind: Any, shape: Any) -> Any:
    found = _adapter(kind).validate_python(shape)
    if hasattr(kind, "model_validate"):
        return found
    # Members that the type lacks are left out.
    read = _read(found)
    if read != shape:
        raise ValueError(f"Extra inputs: {shape} was read as {read}")
    return found


def _read(value: Any) -> Any:
    """Return a value with its iterables read, which checks them."""
    if isinstance(value, dict):
        return {name: _read(one) for name, one in value.items()}
    is_text = isinstance(value, str | bytes)
    return [_read(one) for one in value] if isinstance(value, Iterable) and not is_text else value


def checked(api: str, shape: Any) -> Any:
    """Return a result of a tool as the SDK's type.

    Raises:
        ValidationError: the SDK does not take it.
    """
    return _checked(_types().results[api], shape)


def checked_message(api: str, shape: Any) -> Any:
    """Return a message as the SDK's type; raises ValidationError."""
    types = _types()
    kinds = types.results if shape.get("role") == "tool" else types.messages
    return _checked(kinds[api], shape)


def checked_tool(api: str, shape: Any) -> Any:
    """Return a tool as the SDK's type; raises ValidationError."""
    return _checked(_types().tools[api], shape)


def reply_type(api: str) -> Any:
    """Return the type of a model's reply."""
    return _types().replies[api]

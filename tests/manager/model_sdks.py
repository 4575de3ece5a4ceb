"""Checks of shapes with the types of the SDKs of model APIs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam
from google.genai import types as gemini
from openai.types.chat import (
    ChatCompletionToolMessageParam,
    ChatCompletionToolParam,
    ChatCompletionUserMessageParam,
)
from openai.types.responses import FunctionToolParam
from openai.types.responses.response_input_param import FunctionCallOutput
from pydantic import TypeAdapter

__all__ = ["APIS", "WRONG", "checked", "checked_message", "checked_tool"]

APIS = ["anthropic", "openai", "openai-responses", "gemini"]

RESULTS: dict[str, Any] = {
    "anthropic": ToolResultBlockParam,
    "openai": ChatCompletionToolMessageParam,
    "openai-responses": FunctionCallOutput,
    "gemini": gemini.Part,
}
MESSAGES: dict[str, Any] = {
    "anthropic": MessageParam,
    "openai": ChatCompletionUserMessageParam,
    "openai-responses": FunctionCallOutput,
    "gemini": gemini.Content,
}
TOOLS: dict[str, Any] = {
    "anthropic": ToolParam,
    "openai": ChatCompletionToolParam,
    "openai-responses": FunctionToolParam,
    "gemini": gemini.FunctionDeclaration,
}

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
    return _checked(RESULTS[api], shape)


def checked_message(api: str, shape: Any) -> Any:
    """Return a message as the SDK's type; raises ValidationError."""
    results = RESULTS if shape.get("role") == "tool" else MESSAGES
    return _checked(results[api], shape)


def checked_tool(api: str, shape: Any) -> Any:
    """Return a tool as the SDK's type; raises ValidationError."""
    return _checked(TOOLS[api], shape)

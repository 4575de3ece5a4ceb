"""Tools in the formats of model APIs: OpenAI, Anthropic and Gemini."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_wire import latest

__all__ = ["Api", "ExportedTools", "export_tools"]

Api: TypeAlias = Literal["openai", "openai-responses", "anthropic", "gemini"]
"""OpenAI Chat Completions, OpenAI Responses, Anthropic Messages, or Gemini."""

Json: TypeAlias = dict[str, Any]

_COMBINED = ("oneOf", "anyOf", "allOf", "not", "enum")
"""Keywords that no API accepts at the top level of a schema; all accept them deeper."""


class _ModelFormat(NamedTuple):
    make: Callable[[str, str, Json], Json]
    max_name: int
    max_tools: int | None


def _chat(name: str, description: str, schema: Json) -> Json:
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def _responses(name: str, description: str, schema: Json) -> Json:
    # `strict` is true by default, and rejects schemas with optional arguments.
    made = {"name": name, "description": description, "parameters": schema, "strict": False}
    return {"type": "function", **made}


def _messages(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "description": description, "input_schema": schema}


def _declarations(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "description": description, "parameters_json_schema": schema}


_FORMATS: Mapping[str, _ModelFormat] = {
    "openai": _ModelFormat(_chat, 64, 128),
    "openai-responses": _ModelFormat(_responses, 64, 128),
    "anthropic": _ModelFormat(_messages, 128, None),
    "gemini": _ModelFormat(_declarations, 64, None),
}


class ExportedTools(list[Json]):
    """Tools in the format of a model API: a list to pass on as it is.

    Args:
        tools: The tools.
        problems: One sentence each for tools that were left out because their names are too long,
            and for what the API may refuse.
    """

    def __init__(self, tools: Iterable[Json] = (), problems: Iterable[str] = ()) -> None:
        super().__init__(tools)
        self.problems: list[str] = list(problems)


def export_tools(api: Api, tools: Iterable[tuple[str, latest.Tool]]) -> ExportedTools:
    """Return tools in the format of a model API.

    Schemas are passed on unchanged, with `oneOf`, `anyOf` and defaults.

    Args:
        api: The API.
        tools: Qualified names and tools.

    Raises:
        UsageError: an unknown API.
    """
    model_format = _FORMATS.get(api)
    if model_format is None:
        raise UsageError(f"tools_for({api!r}): there is {', '.join(map(repr, _FORMATS))}")
    made = ExportedTools()
    for name, tool in tools:
        if len(name) > model_format.max_name:
            made.problems.append(
                f"{name} is left out: its name has {len(name)} characters, {api} takes "
                f"{model_format.max_name}; give its server a shorter name"
            )
            continue
        combined = [word for word in _COMBINED if word in tool.input_schema]
        if combined:
            said = ", ".join(f"`{word}`" for word in combined)
            made.problems.append(f"{name}: {said} at the top of its schema, which {api} refuses")
        made.append(model_format.make(name, tool.description or tool.title or "", _schema(tool)))
    if model_format.max_tools is not None and len(made) > model_format.max_tools:
        made.problems.append(
            f"{len(made)} tools, {api} takes {model_format.max_tools}: pass on a part of them"
        )
    return made


def _schema(tool: latest.Tool) -> Json:
    # A schema without `properties` is valid, but some APIs refuse it.
    return {"type": "object", "properties": {}, **tool.input_schema}

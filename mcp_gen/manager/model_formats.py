"""Tools in the shapes that the APIs of models take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_wire import latest

__all__ = ["Api", "ExportedTools", "export_tools"]

Api: TypeAlias = Literal["openai", "openai-responses", "anthropic"]
"""Chat Completions and Responses of OpenAI, and Messages of Anthropic."""

Json: TypeAlias = dict[str, Any]

_COMBINED = ("oneOf", "anyOf", "allOf", "not", "enum")
"""What no API takes at the top of a schema; further down they all do."""


class _ModelFormat(NamedTuple):
    make: Callable[[str, str, Json], Json]
    max_name: int
    max_tools: int | None


def _chat(name: str, description: str, schema: Json) -> Json:
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def _responses(name: str, description: str, schema: Json) -> Json:
    # Strict is its default, and takes no schema with optional arguments.
    made = {"name": name, "description": description, "parameters": schema, "strict": False}
    return {"type": "function", **made}


def _messages(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "description": description, "input_schema": schema}


_SHAPES: Mapping[str, _ModelFormat] = {
    "openai": _ModelFormat(_chat, 64, 128),
    "openai-responses": _ModelFormat(_responses, 64, 128),
    "anthropic": _ModelFormat(_messages, 128, None),
}


class ExportedTools(list[Json]):
    """Tools as an API takes them: a list to pass on as it is.

    `problems` says in one sentence each what the API will not take: tools that were left out
    because their names are too long, and what of the list it may refuse.
    """

    def __init__(self, tools: Iterable[Json] = (), problems: Iterable[str] = ()) -> None:
        super().__init__(tools)
        self.problems: list[str] = list(problems)


def export_tools(api: Api, tools: Iterable[tuple[str, latest.Tool]]) -> ExportedTools:
    """The tools, each with its name among all, in the shape of an API.

    Schemas stay as they are, with their `oneOf`, `anyOf` and defaults.

    Raises:
        UsageError: an API that is not known.
    """
    shape = _SHAPES.get(api)
    if shape is None:
        raise UsageError(f"tools_for({api!r}): there is {', '.join(map(repr, _SHAPES))}")
    made = ExportedTools()
    for name, tool in tools:
        if len(name) > shape.max_name:
            made.problems.append(
                f"{name} is left out: its name has {len(name)} characters, {api} takes "
                f"{shape.max_name}; give its server a shorter name"
            )
            continue
        combined = [word for word in _COMBINED if word in tool.input_schema]
        if combined:
            said = ", ".join(f"`{word}`" for word in combined)
            made.problems.append(f"{name}: {said} at the top of its schema, which {api} refuses")
        made.append(shape.make(name, tool.description or tool.title or "", _schema(tool)))
    if shape.max_tools is not None and len(made) > shape.max_tools:
        made.problems.append(
            f"{len(made)} tools, {api} takes {shape.max_tools}: pass on a part of them"
        )
    return made


def _schema(tool: latest.Tool) -> Json:
    # An object without properties is right, and some refuse it all the same.
    return {"type": "object", "properties": {}, **tool.input_schema}

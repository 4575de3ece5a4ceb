"""Results of calls, in the types of the revision that they are for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard, get_args

import msgspec
from msgspec import Raw

import mcp_wire
from mcp_gen.core.projection.project import project
from mcp_gen.session.kernel.results import EncodedResult, RelayedResult
from mcp_wire import UnknownContent, Wire, latest
from mcp_wire.base import DEFAULT_TAGS

if TYPE_CHECKING:
    from mcp_wire import common
    from mcp_wire.method import Method

__all__ = [
    "as_block",
    "as_text",
    "failed",
    "is_alternative_result",
    "is_block",
    "is_result",
    "newest",
    "to_json",
    "with_data_text",
]

_BLOCKS = frozenset(kind.__name__ for kind in get_args(latest.ContentBlock))
_RESULTS = frozenset({latest.CallToolResult.__name__, latest.InputRequiredResult.__name__})


def failed(message: str) -> common.CallToolResult:
    """The result of a call that has failed, for the model to read."""
    return latest.CallToolResult(content=[latest.TextContent(text=message)], is_error=True)


def newest(result: Any, method: Method[Any, Any] | None = None) -> Any:
    """Return a result of any revision, encoded or relayed ones too, in the newest wire types.

    Args:
        method: The newest row of the method that was called; tools/call if there is none.
    """
    if isinstance(result, EncodedResult | RelayedResult):
        result = result.json
    if isinstance(result, Raw):
        row: Any = method or mcp_wire.profile(mcp_wire.LATEST).call_tool
        return row.decode_result(result)
    return project(result, mcp_wire.LATEST).value


def is_block(value: Any) -> TypeGuard[latest.ContentBlock]:
    """A block of any revision: the tool has made its own."""
    if isinstance(value, UnknownContent):
        return True
    return isinstance(value, Wire) and type(value).__name__ in _BLOCKS


def is_result(value: Any) -> TypeGuard[common.CallToolResult]:
    """A result of any revision, or what may stand in its place: the tool has made its own."""
    return isinstance(value, Wire) and (
        type(value).__name__ in _RESULTS or is_alternative_result(type(value))
    )


def is_alternative_result(kind: Any) -> bool:
    """Whether values of a wire type answer a request without being its result: a question, a task.

    They say so with another `resultType`.
    """
    config: Any = getattr(kind, "__struct_config__", None)
    return (
        config is not None
        and config.tag_field in DEFAULT_TAGS
        and config.tag != DEFAULT_TAGS[config.tag_field]
    )


def as_block(value: Any) -> latest.ContentBlock:
    """A block as it is, all else as text."""
    return value if is_block(value) else latest.TextContent(text=as_text(value))


def as_text(value: Any) -> str:
    """A text as it is, all else as JSON."""
    return value if isinstance(value, str) else to_json(value).decode()


def _write(value: Any) -> Any:
    if isinstance(value, UnknownContent):
        return Raw(value.raw)
    writer: Any = getattr(value, "__pydantic_serializer__", None)
    if writer is not None:
        return Raw(writer.to_json(value, by_alias=True))
    raise TypeError(f"JSON has nothing for {type(value).__name__}")


to_json = msgspec.json.Encoder(enc_hook=_write).encode
"""The JSON of what a tool may return; TypeError for what JSON cannot carry."""


def with_data_text(content: Sequence[Any], json: bytes, *, is_object: bool) -> list[Any]:
    """The blocks, and the data as text: where that is no object, older clients have nothing else.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools#structured-content
    """
    blocks = [as_block(one) for one in content]
    says_it = is_object and any(getattr(block, "text", None) is not None for block in blocks)
    return blocks if says_it else [*blocks, latest.TextContent(text=json.decode())]

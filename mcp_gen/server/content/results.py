"""Builds CallToolResult at each revision; recognizes blocks and results."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeGuard, get_args

from msgspec import Raw

import mcp_wire
from mcp_gen.core.checks.finite import check_finite
from mcp_gen.core.projection.project import restate
from mcp_gen.session.kernel.results import EncodedResult, RelayedResult
from mcp_gen.values.custom_types import to_json
from mcp_wire import UNSET, UnknownContent, Wire, latest
from mcp_wire.base import DEFAULT_TAGS, wire_name

if TYPE_CHECKING:
    from mcp_wire import common
    from mcp_wire.method import Method

__all__ = [
    "as_block",
    "as_text",
    "at_newest",
    "check_blocks",
    "check_built_result",
    "error_result",
    "finite_json",
    "is_alternative_result",
    "is_block",
    "is_result",
    "to_json",
    "unserializable",
    "with_data_text",
]

_BLOCKS = frozenset(kind.__name__ for kind in get_args(latest.ContentBlock))
_WITHOUT_FLOATS = frozenset({type(None), type(UNSET), Raw})
_RESULTS = frozenset({latest.CallToolResult.__name__, latest.InputRequiredResult.__name__})


def error_result(message: str) -> common.CallToolResult:
    """Return a tool result with `isError`, for the model to read."""
    return latest.CallToolResult(content=[latest.TextContent(text=message)], is_error=True)


def at_newest(result: Any, method: Method[Any, Any] | None = None) -> Any:
    """Return a result of any revision, also encoded or relayed, in the newest wire types.

    Args:
        result: The result.
        method: The method that was called, at the newest revision; None for `tools/call`.
    """
    if isinstance(result, EncodedResult | RelayedResult):
        result = result.json
    if isinstance(result, Raw):
        row: Any = method or mcp_wire.profile(mcp_wire.LATEST).call_tool
        return row.decode_result(result)
    return restate(result, mcp_wire.LATEST).value


def is_block(value: Any) -> TypeGuard[latest.ContentBlock]:
    """Return True if the value is a content block of any revision."""
    if isinstance(value, UnknownContent):
        return True
    return isinstance(value, Wire) and type(value).__name__ in _BLOCKS


def is_result(value: Any) -> TypeGuard[common.CallToolResult]:
    """Return True if the value is a tool result of any revision, or an alternative result."""
    return isinstance(value, Wire) and (
        type(value).__name__ in _RESULTS or is_alternative_result(type(value))
    )


def is_alternative_result(kind: Any) -> bool:
    """Return True if a wire type answers a request instead of its result.

    Such types declare another `resultType`: `input_required` or a task.
    """
    config: Any = getattr(kind, "__struct_config__", None)
    return (
        config is not None
        and config.tag_field in DEFAULT_TAGS
        and config.tag != DEFAULT_TAGS[config.tag_field]
    )


def as_block(value: Any) -> latest.ContentBlock:
    """Return a block as it is, anything else as a text block."""
    return value if is_block(value) else latest.TextContent(text=as_text(value))


def as_text(value: Any) -> str:
    """Return a text as it is, anything else as JSON.

    Raises:
        UsageError: A number in it is NaN or infinite.
    """
    return value if isinstance(value, str) else finite_json(value).decode()


def finite_json(value: Any, what: str = "the result") -> bytes:
    """Encode a value that may hold floats; see `to_json`.

    Args:
        value: The value.
        what: Beginning of the error message.

    Raises:
        UsageError: JSON cannot carry a part of it, or a number in it is NaN or infinite; the
            message ends in the path.
    """
    try:
        json = to_json(value)
    except Exception as error:
        raise unserializable(value, error, what) from error
    check_finite(value, json, what)
    return json


def unserializable(value: Any, error: Exception, what: str = "the result") -> Exception:
    """Return the error for a value that could not be encoded: with the path, if there is one.

    Args:
        value: The value.
        error: Raised by the encoder.
        what: Beginning of the error message.
    """
    # Loaded when a value cannot be encoded.
    from mcp_gen.values.unserializable import not_json

    return not_json(value, what) or error


def check_built_result(result: Any) -> None:
    """Check the plain JSON in a result that a tool has built itself.

    Raises:
        UsageError: A number in it is NaN or infinite; the message ends in the path.
    """
    for name in ("structured_content", "meta"):
        _check_member(result, name, "$")
    check_blocks(result.content, "$.content")


def check_blocks(blocks: Sequence[Any], path: str = "$") -> None:
    """Check the `_meta` of content blocks; see `check_built_result`."""
    for i, block in enumerate(blocks):
        _check_member(block, "meta", f"{path}[{i}]")
        _check_member(getattr(block, "resource", None), "meta", f"{path}[{i}].resource")


def _check_member(owner: Any, name: str, path: str) -> None:
    value = getattr(owner, name, None)
    if value.__class__ not in _WITHOUT_FLOATS:
        # A value that cannot be encoded at all is refused where the result is.
        with suppress(TypeError):
            check_finite(value, to_json(value), "the result", f"{path}.{wire_name(name)}")


def with_data_text(content: Sequence[Any], json: bytes, *, is_object: bool) -> list[Any]:
    """Return the blocks, with the data as text if clients would miss it otherwise.

    That is where no block has text, or the data is no object: older clients cannot read it then.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools#structured-content
    """
    blocks = [as_block(one) for one in content]
    has_text = is_object and any(getattr(block, "text", None) is not None for block in blocks)
    return blocks if has_text else [*blocks, latest.TextContent(text=json.decode())]

"""Derives from the return annotation whether a tool has structured output."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Mapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from types import NoneType, UnionType
from typing import (
    Any,
    Never,
    NoReturn,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from mcp_gen.server.content.blocks import Structured
from mcp_gen.server.content.results import is_alternative_result
from mcp_gen.server.functions.function import NO_DEFAULT
from mcp_gen.values.json_types import bare, cached_by_hint
from mcp_wire import UnknownContent, Wire

__all__ = ["accepted_classes", "is_structured"]

_UNSTRUCTURED = (str, NoneType, Any, object, Never, NoReturn, NO_DEFAULT)
_ABSTRACT: dict[Any, frozenset[type]] = {
    Sequence: frozenset({list, tuple}),
    MutableSequence: frozenset({list}),
    Mapping: frozenset({dict}),
    AbstractSet: frozenset({set, frozenset}),
    MutableSet: frozenset({set}),
    float: frozenset({float, int}),
}


def is_structured(returns: Any) -> Any:
    """Return the type of the structured content, or None if the output is unstructured.

    Strings are unstructured, and so is anything that may contain wire types: the function then
    builds its own content.
    """
    if get_origin(bare(returns)) in (Awaitable, Coroutine):
        returns = get_args(bare(returns))[-1]
    if get_origin(returns) in (Union, UnionType):
        # Skip alternative results (input_required, a task): the final result has the schema.
        arms = [arm for arm in get_args(returns) if not _is_alternative(arm)]
        returns = Union[tuple(arms)] if arms else None  # noqa: UP007
    if get_origin(returns) is Structured:
        return get_args(returns)[0]
    return returns if _is_structured_type(returns) else None


@cached_by_hint
def _is_structured_type(returns: Any) -> bool:
    kind = bare(returns)
    origin, inner = get_origin(kind), get_args(kind)
    if _may_contain_blocks(kind) or kind is Structured:
        return False
    if origin is list:
        return all(_is_structured_type(item) for item in inner)
    if origin in (Union, UnionType):
        return any(_is_structured_type(arm) for arm in inner)
    return not any(kind is one for one in _UNSTRUCTURED)


def _may_contain_blocks(hint: Any) -> bool:
    """Return True if a value may contain content blocks: itself, in a list, or in a union."""
    hint = bare(hint)
    origin = get_origin(hint)
    if origin in (list, tuple, Sequence, Union, UnionType):
        return any(map(_may_contain_blocks, get_args(hint)))
    return isinstance(hint, type) and issubclass(hint, (Wire, UnknownContent))


def _is_alternative(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Wire) and is_alternative_result(hint)


@cached_by_hint
def accepted_classes(hint: Any) -> frozenset[type] | None:
    """Return the value classes accepted for the type without decoding; None: all classes."""
    hint = bare(hint)
    origin = get_origin(hint) or hint
    if origin is Any or isinstance(origin, TypeVar):
        return None
    if origin in (Union, UnionType):
        found: frozenset[type] = frozenset()
        for arm in get_args(hint):
            classes = accepted_classes(arm)
            if classes is None:
                return None
            found |= classes
        return found
    if origin in _ABSTRACT:
        return _ABSTRACT[origin]
    if isinstance(origin, type):
        kind = cast("type[Any]", origin)
        return frozenset({dict if issubclass(kind, dict) else kind})
    return frozenset()

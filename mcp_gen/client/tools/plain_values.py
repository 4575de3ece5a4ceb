"""Plain values that the content of a tool result can stand for, to be converted to a type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin

import msgspec

from mcp_gen.client.tools.result_content import texts_of

__all__ = ["Candidates", "candidates", "named", "unwrapped", "wraps"]

_WRAPPED = "result"
"""Key under which servers wrap data that is not an object."""


class Candidates(NamedTuple):
    """Values that content can stand for; the first that fits the type is meant."""

    values: Iterable[Any]
    got: str | None
    """Description of the content for an error; None: the first value is the description."""


def candidates(result: Any, kind: Any) -> Candidates:
    """Return the values that the content of a result can stand for, likeliest first.

    Args:
        result: The result of a tool, without structured content.
        kind: The type that is wanted: one that takes nothing but text gets the text itself.
    """
    texts = texts_of(result)
    if not texts:
        if result.content:
            return Candidates([], "content without text")
        return Candidates([None, []], "nothing")
    whole = "\n".join(texts)
    if _is_text(kind):
        return Candidates([whole], None)
    decoded = _decoded(whole)
    return Candidates(
        _readings(texts, whole, decoded), None if decoded else "text that is not JSON"
    )


def _readings(texts: list[str], whole: str, decoded: list[Any]) -> Iterator[Any]:
    """Yield what texts can stand for, where the type takes more than text.

    Args:
        texts: The texts.
        whole: The same as one text.
        decoded: The JSON value of that, alone in a list; empty if it is not JSON.
    """
    yield from decoded
    if decoded:
        yield from unwrapped(decoded[0])
    yield whole
    # Servers send each item of a list as a text of its own.
    one = len(texts) == 1
    items = decoded if one else [value for text in texts for value in _decoded(text)]
    if len(items) == len(texts):
        yield items
    yield texts


def _decoded(text: str) -> list[Any]:
    """Return the JSON value of a text, alone in a list; empty if the text is not JSON."""
    try:
        return [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError):
        return []


def _is_text(kind: Any) -> bool:
    """Return True if a type takes text, or text and None, and nothing else."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _is_text(kind.__origin__)
    if origin is Union or origin is UnionType:
        arms = [arm for arm in get_args(kind) if arm is not NoneType]
        return bool(arms) and all(map(_is_text, arms))
    if origin is Literal:
        return all(isinstance(one, str) for one in get_args(kind))
    # What `NewType` and `type` statements stand for.
    meant = getattr(kind, "__supertype__", None) or getattr(kind, "__value__", None)
    return kind is str or (meant is not None and _is_text(meant))


def unwrapped(data: Any) -> list[Any]:
    """Return the value under the only key `result` of an object; empty if it is none."""
    if data.__class__ is dict and data.keys() == {_WRAPPED}:
        return [data[_WRAPPED]]
    return []


def wraps(schema: Any) -> bool:
    """Return True if an output schema is that of a value under the key `result`, and no more.

    The schema of a class with a field of that name has a title.
    """
    if schema is None:
        return False
    plain = cast("dict[str, Any]", msgspec.to_builtins(schema))
    properties: Any = plain.get("properties")
    return (
        isinstance(properties, dict)
        and list(cast("dict[str, Any]", properties)) == [_WRAPPED]
        and plain.get("required") == [_WRAPPED]
        and "title" not in plain
    )


def named(kind: Any) -> str:
    """Return a type as one writes it."""
    if kind is None or kind is NoneType:
        return "nothing"
    if isinstance(kind, type) and not get_args(kind):
        return kind.__name__
    return str(kind).replace("typing.", "")

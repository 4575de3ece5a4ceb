"""Reads results of tools as values of a type: what `returns=` of a call asks for."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    cast,
    get_args,
    get_origin,
)

import msgspec

from mcp_gen.core.errors import InvalidResult
from mcp_gen.values.reading import read_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["is_wrapped", "value_of_content", "value_of_data", "wraps"]

_WRAPPED = "result"
"""Key under which servers wrap data that is not an object."""


def value_of_data(name: str, data: Any, returns: Any, *, unwrap: bool = False) -> Any:
    """Return structured content, or the value under its only key `result`, as a type.

    Args:
        name: Name of the tool.
        data: The structured content.
        returns: The type.
        unwrap: The value under the key comes first; else it counts only if the data does not fit.

    Raises:
        InvalidResult: Neither fits; the message ends in the path.
        UsageError: Nothing reads that type.
    """
    values = [data, *_unwrapped(data)]
    if unwrap:
        values.reverse()
    problems: list[str] = []
    for value in values:
        try:
            return _read(value, returns)
        except msgspec.ValidationError as error:
            problems.append(str(error))
    raise _misfit(name, problems[0 if unwrap else -1])


def value_of_content(name: str, texts: Sequence[str], returns: Any, *, is_empty: bool) -> Any:
    """Return the texts of a result as a type: servers without structured content send JSON as text.

    Args:
        name: Name of the tool.
        texts: The texts of the content.
        returns: The type.
        is_empty: There is no content at all.

    Raises:
        InvalidResult: They do not fit; the message ends in the path.
        UsageError: Nothing reads that type.
    """
    values, problem = _candidates(texts, returns, is_empty)
    if problem is not None:
        problem = f"expected {_named(returns)}, got {problem}"
    for value in values:
        try:
            return _read(value, returns)
        except msgspec.ValidationError as error:
            problem = problem or str(error)
    raise _misfit(name, problem or "")


def _read(value: Any, returns: Any) -> Any:
    return read_value(value, returns, f"returns={returns!r}")


def _misfit(name: str, problem: str) -> InvalidResult:
    """Return the error for a result that does not fit the type; it ends in the path."""
    path = "" if " - at `" in problem else " - at `$`"
    return InvalidResult(f"{name}: {problem}{path}")


class _Candidates(NamedTuple):
    """Values that content can stand for; the first that fits the type is meant."""

    values: Iterable[Any]
    got: str | None
    """Description of the content for an error; None: the first value is the description."""


def _candidates(texts: Sequence[str], kind: Any, is_empty: bool) -> _Candidates:
    """Return the values that texts can stand for, likeliest first.

    A type that takes nothing but text gets the text itself.
    """
    if not texts:
        if is_empty:
            return _Candidates([None, []], "nothing")
        return _Candidates([], "content without text")
    whole = "\n".join(texts)
    if _is_text(kind):
        return _Candidates([whole], None)
    decoded = _decoded(whole)
    return _Candidates(
        _readings(texts, whole, decoded), None if decoded else "text that is not JSON"
    )


def _readings(texts: Sequence[str], whole: str, decoded: list[Any]) -> Iterator[Any]:
    """Yield what texts can stand for, where the type takes more than text.

    Args:
        texts: The texts.
        whole: The same as one text.
        decoded: The JSON value of that, alone in a list; empty if it is not JSON.
    """
    yield from decoded
    if decoded:
        yield from _unwrapped(decoded[0])
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


def is_wrapped(data: Any) -> bool:
    """Return True for an object with the key `result` alone: it may be what wraps a value."""
    return data.__class__ is dict and data.keys() == {_WRAPPED}


def _unwrapped(data: Any) -> list[Any]:
    return [data[_WRAPPED]] if is_wrapped(data) else []


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


def _named(kind: Any) -> str:
    """Return a type as one writes it."""
    if kind is None or kind is NoneType:
        return "nothing"
    if isinstance(kind, type) and not get_args(kind):
        return kind.__name__
    return str(kind).replace("typing.", "")

"""Compares what shapes say about numbers, texts and sizes."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mcp_gen.contracts.subsumption.findings import SchemaFinding
from mcp_gen.contracts.subsumption.json_values import key_of
from mcp_gen.contracts.subsumption.shapes import Range

if TYPE_CHECKING:
    from mcp_gen.contracts.subsumption.members import Patterns
    from mcp_gen.contracts.subsumption.shapes import Shape

__all__ = ["plain_findings", "some_texts", "whole_range"]

MAX_TEXT = 4096
"""Longest text that is made as an example."""
_UNITS = {"string": "characters", "array": "items", "object": "members"}
_TEXTS = (
    "",
    "a",
    "0",
    " ",
    "-",
    "A",
    "é",
    "a b",
    "example",
    "-".join(("2020", "01", "01")),
    "!",
    "user@example.com",
    "https://example.com/a?b=c",
    "00000000-0000-0000-0000-000000000000",
)


def plain_findings(one: Shape, other: Shape, patterns: Patterns) -> list[SchemaFinding]:
    """Return where values of a shape do not have the bounds, values and patterns of another.

    Args:
        one: The narrow shape: it has more values than can be listed.
        other: The wide shape, of the same kind.
        patterns: Matches patterns.
    """
    if other.values is not None:
        return [
            SchemaFinding("values", True, f"only {_some(other.values)}", example=_beside(other))
        ]
    if one.kind == "number":
        return _of_numbers(one, other)
    found = _of_sizes(one, other)
    if one.kind == "string":
        found += _of_patterns(one, other, patterns)
    may_repeat = not one.is_unique and (one.size.high is None or one.size.high > 1)
    if one.kind == "array" and other.is_unique and may_repeat:
        is_tuple = any(rule.first for rule in one.items)
        found.append(SchemaFinding("unique", not is_tuple, "different items"))
    return found


def some_texts(size: Range) -> list[str]:
    """Return texts of lengths within bounds: some plain ones, and the shortest and longest."""
    low = int(size.low or 0)
    high = MAX_TEXT if size.high is None else int(size.high)
    if low > MAX_TEXT:
        return []
    lengths = dict.fromkeys((low, min(high, low + 1), min(high, MAX_TEXT)))
    made = [one for one in _TEXTS if low <= len(one) <= high]
    return made + [letter * length for length in lengths for letter in ("a", "0")]


def _of_numbers(one: Shape, other: Shape) -> list[SchemaFinding]:
    found: list[SchemaFinding] = []
    mine = whole_range(one)
    if not (other.range.has_low_of(mine) and other.range.has_high_of(mine)):
        # Its multiples may all be within bounds that are narrower.
        certain = one.multiples <= {1}
        found.append(SchemaFinding("range", certain, _shown_range(other.range)))
    for multiple in sorted(other.multiples):
        if multiple and not any(has and (has / multiple).denominator == 1 for has in one.multiples):
            only = mine.low if mine.low is not None and mine.low == mine.high else None
            if only is None or (only / multiple).denominator != 1:
                says = "integers" if multiple == 1 else f"multiples of {_shown_number(multiple)}"
                # Another of its multiples together may do.
                found.append(SchemaFinding("multiple", len(one.multiples) < 2, says))
    return found


def whole_range(one: Shape) -> Range:
    """Return the range of a number; from the first to the last integer if it is one."""
    found = one.range
    if 1 not in one.multiples:
        return found
    low, high = found.low, found.high
    if low is not None:
        low = Fraction(int(low // 1) + 1 if found.above or low.denominator != 1 else int(low))
    if high is not None:
        whole = int(high // 1)
        high = Fraction(whole - 1 if found.below and high.denominator == 1 else whole)
    return Range(low, high)


def _of_sizes(one: Shape, other: Shape) -> list[SchemaFinding]:
    mine = one.size
    if other.size.has_low_of(mine) and other.size.has_high_of(mine):
        return []
    says = f"{_shown_range(other.size)} {_UNITS[one.kind]}"
    # A pattern may bound it too.
    return [SchemaFinding("size", not one.patterns, says)]


def _of_patterns(one: Shape, other: Shape, patterns: Patterns) -> list[SchemaFinding]:
    found: list[SchemaFinding] = []
    for pattern in sorted(other.patterns - one.patterns):
        misses = [
            text
            for text in some_texts(one.size)
            if not patterns.matches(pattern, text)
            and all(patterns.matches(has, text) for has in one.patterns)
        ]
        says = f"texts that match {pattern!r}"
        found.append(SchemaFinding("pattern", bool(misses), says, example=tuple(misses[:1])))
    return found


def _some(values: dict[str, Any]) -> str:
    keys = list(values)
    shown = ", ".join(keys[:5])
    return f"{shown} and {len(keys) - 5} more" if len(keys) > 5 else shown


def _beside(other: Shape) -> tuple[Any, ...]:
    """Return values of a kind that are not among the only ones of a shape."""
    has = other.values or {}
    if other.kind == "string":
        return tuple(one for one in ("other", *_TEXTS) if key_of(one) not in has)[:3]
    if other.kind == "number":
        return tuple(one for one in range(len(has) + 1) if key_of(one) not in has)[:1]
    return ()


def _shown_range(found: Range) -> str:
    shown: list[str] = []
    if found.low is not None:
        shown.append(f"{'more than' if found.above else 'at least'} {_shown_number(found.low)}")
    if found.high is not None:
        shown.append(f"{'less than' if found.below else 'at most'} {_shown_number(found.high)}")
    return " and ".join(shown)


def _shown_number(number: Fraction) -> str:
    if number.denominator == 1:
        return f"{number.numerator}"
    return f"{float(number):g}"

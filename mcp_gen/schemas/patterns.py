"""Vets regular expressions of JSON Schemas: linear ones, and how much they expand to."""

from __future__ import annotations

__all__ = ["MAX_PATTERN_WEIGHT", "pattern_weight"]

MAX_PATTERN_WEIGHT = 10_000
"""Most states, by estimate, of a pattern that is matched in this process.

Nested repetition counts multiply: `(a{99}){99}` has 9,801 states.
"""
MIN_PATTERN_WEIGHT = 20
"""Least weight of a pattern: what compiling one costs in any case."""
MAX_PATTERN_CHARS = 5_000
"""Longest pattern that is matched in this process."""
MAX_GROUPS = 50
"""Most groups in each other."""

_LITERAL = 1
_WIDE = 5
"""States of a class of nearly all characters: UTF-8 has several lengths."""
_PROPERTY = 300
"""States of a Unicode property, such as `\\p{L}`: hundreds of ranges."""
_QUANTIFIERS = frozenset("*+?{")
_SIMPLE_GROUPS = ("?:", "?<", "?P<")
_LOOK_BEHIND = ("?<=", "?<!")


class _NotLinear(Exception):
    """The pattern is not linear, or too large, or cannot be read."""


def pattern_weight(pattern: str) -> int | None:
    """Return an estimate of the states of a linear pattern.

    A pattern is linear if a finite automaton matches it: it has no look-around and no
    back-reference. What cannot be read for certain counts as not linear.

    Args:
        pattern: The regular expression, as in `pattern` or `patternProperties`.

    Returns:
        From MIN_PATTERN_WEIGHT to MAX_PATTERN_WEIGHT; None if the pattern is not linear or larger.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        return None
    try:
        weight = _Reader(pattern).read()
    except _NotLinear:
        return None
    return max(weight, MIN_PATTERN_WEIGHT)


class _Reader:
    """Reads a pattern once, from left to right, and adds up the states of its atoms."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0

    def read(self) -> int:
        """Return the weight of the whole pattern.

        Raises:
            _NotLinear: See `pattern_weight`.
        """
        outer: list[int] = []
        """Weights of what stands before each open group."""
        weight = 0
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            self._at += 1
            if char == "(":
                self._open_group()
                outer.append(weight)
                weight = 0
                if len(outer) > MAX_GROUPS:
                    raise _NotLinear
                continue
            if char == ")":
                if not outer:
                    raise _NotLinear
                atom, weight = weight, outer.pop()
            else:
                atom = self._atom(char)
            weight += max(atom, _LITERAL) * self._count()
            if weight > MAX_PATTERN_WEIGHT:
                raise _NotLinear
        if outer:
            raise _NotLinear
        return weight

    def _open_group(self) -> None:
        """Skip what follows the bracket of a group; refuse look-around and flags."""
        text, at = self._text, self._at
        if not text.startswith("?", at):
            return
        if text.startswith(_LOOK_BEHIND, at) or not text.startswith(_SIMPLE_GROUPS, at):
            raise _NotLinear
        if text.startswith("?:", at):
            self._at = at + 2
            return
        end = text.find(">", at)
        if end < 0:
            raise _NotLinear
        self._at = end + 1

    def _atom(self, char: str) -> int:
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._class()
        if char in _QUANTIFIERS:
            raise _NotLinear  # nothing to repeat
        return _WIDE if char == "." or ord(char) > 0x7F else _LITERAL

    def _escape(self) -> int:
        """Return the weight of an escape; the backslash is read already."""
        text = self._text
        if self._at >= len(text):
            raise _NotLinear
        char = text[self._at]
        self._at += 1
        if char in "123456789kgQE":
            raise _NotLinear  # a back-reference, or a quotation of another dialect
        if char in "pP":
            self._skip_braces()
            return _PROPERTY
        if char in "xu":
            self._skip_braces()
        return _WIDE if char in "WDSwsXR" else _LITERAL

    def _skip_braces(self) -> None:
        if self._text.startswith("{", self._at):
            end = self._text.find("}", self._at)
            if end < 0:
                raise _NotLinear
            self._at = end + 1

    def _class(self) -> int:
        """Return the weight of a character class; its bracket is read already."""
        text, weight, start = self._text, _LITERAL, self._at
        if text.startswith("^", self._at):
            weight = _WIDE
            self._at += 1
            start += 1
        while self._at < len(text):
            char = text[self._at]
            self._at += 1
            if char == "]":
                if self._at - 1 == start:
                    raise _NotLinear  # `[]a]` means different things to different dialects
                return weight
            if char == "[":
                raise _NotLinear  # nested, or a literal: dialects differ
            if char == "\\":
                weight = max(weight, self._escape())
            elif ord(char) > 0x7F:
                weight = _WIDE
        raise _NotLinear

    def _count(self) -> int:
        """Return how often the atom before is repeated at most; 1 where that has no bound."""
        product = 1
        text = self._text
        while self._at < len(text) and text[self._at] in _QUANTIFIERS:
            if text[self._at] != "{":
                self._at += 1
                continue
            end = text.find("}", self._at)
            bounds = text[self._at + 1 : end].split(",") if end > 0 else [""]
            if not all(one.isdecimal() or not one for one in bounds) or not bounds[0]:
                raise _NotLinear  # a brace that is no repetition to some dialects
            self._at = end + 1
            product *= max(1, *(_bounded(one) for one in bounds))
        return product


def _bounded(digits: str) -> int:
    """Return a repetition count; one of many digits is more than any limit."""
    return int(digits or 0) if len(digits) < 6 else MAX_PATTERN_WEIGHT + 1

"""Texts of a peer, made visible: control characters neither move a cursor nor hide a word."""

from __future__ import annotations

import msgspec

__all__ = ["pretty", "visible", "visible_lines"]

MOST_GROWTH = 4
"""Maximum growth of a frame by indentation: deep nesting makes it very long."""


def visible(text: str) -> str:
    """Return a text on one line, in which what cannot be seen is escaped as in Python.

    These are control characters, line ends, characters that change the direction of writing,
    spaces other than the common one, and halves of surrogate pairs.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def visible_lines(text: str) -> str:
    """Return a text whose line ends and tabs stay, and all else is as in `visible`."""
    lines = (map(visible, line.split("\t")) for line in text.split("\n"))
    return "\n".join("\t".join(parts) for parts in lines)


def pretty(text: str) -> str:
    """Return a JSON text with line ends and indentation; what is no JSON as it is."""
    try:
        made = msgspec.json.format(text, indent=2)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    return made if len(made) <= max(MOST_GROWTH * len(text), 200) else text


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")

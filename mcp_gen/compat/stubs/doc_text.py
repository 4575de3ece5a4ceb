"""Texts of servers as documentation: nothing in them can end a docstring."""

from __future__ import annotations

import re

__all__ = ["doc_text"]

MAX_CHARS = 2000
"""Maximum length of a description."""
_SPACES = re.compile(r"\s+")
_PLAIN = str.maketrans(
    {
        "\\": "/",
        '"': "'",
        "\N{LEFT SINGLE QUOTATION MARK}": "'",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": "'",
        "\N{RIGHT DOUBLE QUOTATION MARK}": "'",
        "\N{EN DASH}": "-",
        "\N{EM DASH}": "-",
        "\N{MINUS SIGN}": "-",
        "\N{MULTIPLICATION SIGN}": "x",
    }
)
"""Characters with a meaning in a string, and those that look like others."""


def doc_text(text: str) -> str:
    """Return a text of a server on one line, without backslashes and double quotes.

    Characters that cannot be seen, also those that turn the direction of writing, become spaces.

    Args:
        text: The text.
    """
    plain = text[:MAX_CHARS].translate(_PLAIN)
    seen = "".join(one if one.isprintable() else " " for one in plain)
    made = _SPACES.sub(" ", seen).strip()
    return f"{made} ..." if len(text) > MAX_CHARS else made

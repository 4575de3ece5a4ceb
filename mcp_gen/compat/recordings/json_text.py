"""JSON in texts: replaces values by their names in text that may be broken off or malformed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from mcp_gen.compat.recordings.secret_names import PLACEHOLDER

__all__ = ["JsonText"]

MAX_LEVELS = 8

# Possessive: a hostile text takes no longer than another one.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\],:]|[^\s"{}\[\],:]++', re.S)
_COLON = re.compile(r"\s*+:")
_OPENING, _CLOSING = ("{", "["), ("}", "]")
_PLAIN = ("true", "false", "null")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class JsonText:
    """A text in which there may be JSON.

    Args:
        text: The text.
        is_secret: Returns True for the name of a secret.
        hide: Returns what stands for a secret.
        hide_number: Returns what stands for a number.
        levels: Maximum number of texts in each other that are looked into.
    """

    def __init__(
        self,
        text: str,
        is_secret: Callable[[str], bool],
        hide: Callable[[str], str],
        hide_number: Callable[[str], str],
        levels: int = MAX_LEVELS,
    ) -> None:
        self._text = text
        self._is_secret = is_secret
        self._hide = hide
        self._hide_number = hide_number
        self._levels = levels

    def replaced(self) -> str:
        """Return the text without the values of secrets, also inside of arrays and objects."""
        made: list[str] = []
        at = 0
        name: str | None = None
        """The last string; it is a name if a colon follows."""
        is_value = False
        """True between the name of a secret and its value."""
        depth = 0
        """Number of open brackets inside of the value of a secret."""
        for found in _TOKEN.finditer(self._text):
            token = found[0]
            made.append(self._text[at : found.start()])
            at = found.end()
            if token == ":":
                is_value = is_value or (name is not None and self._is_secret(name))
            elif token in _OPENING:
                depth += is_value
            elif token in _CLOSING:
                depth -= bool(depth)
                is_value = depth > 0
            elif token == ",":
                is_value = depth > 0
            elif is_value and not _COLON.match(self._text, at):
                token = self._hidden(token)
                is_value = depth > 0
            elif "\\" in token:
                token = self._inner(token)
            name = _unquoted(token) if token.startswith('"') else None
            made.append(token)
        made.append(self._text[at:])
        return "".join(made)

    def _hidden(self, token: str) -> str:
        if token.startswith('"'):
            value = _unquoted(token)
            return f'"{self._hide(value)}"' if value else token
        if _NUMBER.fullmatch(token):
            return self._hide_number(token)
        is_done = token in _PLAIN or PLACEHOLDER.fullmatch(token)
        return token if is_done else f'"{self._hide(token)}"'

    def _inner(self, token: str) -> str:
        """Return a string without the secrets of JSON in it, whose names may be escaped."""
        try:
            text: str = json.loads(token, strict=False)
        except ValueError:
            return token
        if '"' not in text or not self._levels:
            return token
        levels = self._levels - 1
        made = JsonText(text, self._is_secret, self._hide, self._hide_number, levels).replaced()
        return token if made == text else json.dumps(made, ensure_ascii=False)


def _unquoted(token: str) -> str:
    """Return the value of a string, also of one without its end."""
    try:
        value: str = json.loads(token, strict=False)
    except ValueError:
        return token.strip('"')
    return value

"""Validates extension identifiers."""

from __future__ import annotations

import re

from mcp_gen.core.errors import UsageError

__all__ = ["check_identifier"]

_LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_IDENTIFIER = rf"{_LABEL}(?:\.{_LABEL})*/[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"


def check_identifier(name: str) -> None:
    """Check the syntax of an extension identifier, such as `org.example/name`.

    Raises:
        UsageError: The syntax is wrong.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation
    """
    if re.fullmatch(_IDENTIFIER, name) is None:
        raise UsageError(f"extensions: expected a name like `org.example/name`, got {name!r}")

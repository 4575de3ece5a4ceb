"""Converts wire names to Python names, constants and module names."""

import keyword
import re

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


def snake(name: str) -> str:
    """Convert `mimeType` to `mime_type`, `_meta` to `meta`, `io.x/logLevel` to `log_level`."""
    last = name.rsplit("/", 1)[-1]
    words: list[str] = _WORD.findall(last)
    made = "_".join(word.lower() for word in words)
    return f"{made}_" if keyword.iskeyword(made) else made


def camel(name: str) -> str:
    """Convert `structured_content` to `structuredContent`, as the generated base does."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def constant(name: str) -> str:
    """Convert `tools/call` to `TOOLS_CALL`."""
    parts = re.split(r"[/_\-]", name)
    return "_".join("_".join(_WORD.findall(part)) for part in parts).upper()


def module(revision: str) -> str:
    """Convert `2025-11-25` to `v2025_11_25`."""
    return "v" + re.sub(r"\W", "_", revision)

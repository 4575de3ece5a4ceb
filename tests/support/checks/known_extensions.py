"""The extensions of this project, for checks that know neither side."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import mcp_wire.extensions
from mcp_gen.core.extensions.extensions import Extensions

__all__ = ["answers_otherwise", "known_extensions"]

SETTINGS: dict[str, Any] = {"io.modelcontextprotocol/ui": {"mimeTypes": []}}
"""Settings to declare for the extensions that require some."""


@cache
def known_extensions() -> Extensions:
    """Return every extension with a package."""
    home = mcp_wire.extensions
    names = [f"{home.__name__}.{module.name}" for module in iter_modules(home.__path__)]
    found = [import_module(name).EXTENSION for name in names]
    return Extensions((one, SETTINGS.get(one.identifier)) for one in found)


def answers_otherwise(result: Any, extensions: Extensions) -> str | None:
    """Return the extension of a result that the protocol's own schema does not define."""
    said = result.get("resultType") if isinstance(result, dict) else None
    tags = {arm.__struct_config__.tag: one.identifier for arm, one in extensions.arms.items()}
    return tags.get(said) if isinstance(said, str) else None

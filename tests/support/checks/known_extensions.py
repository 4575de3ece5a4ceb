"""The extensions of this project, for those who judge frames and know of neither side."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import mcp_wire.extensions
from mcp_gen.core.extensions.extensions import Extensions

__all__ = ["answers_otherwise", "known_extensions"]

SETTINGS: dict[str, Any] = {"io.modelcontextprotocol/ui": {"mimeTypes": []}}
"""What is declared of extensions of which something must be."""


@cache
def known_extensions() -> Extensions:
    """Every extension there is a package of."""
    home = mcp_wire.extensions
    names = [f"{home.__name__}.{module.name}" for module in iter_modules(home.__path__)]
    found = [import_module(name).EXTENSION for name in names]
    return Extensions((one, SETTINGS.get(one.identifier)) for one in found)


def answers_otherwise(result: Any, extensions: Extensions) -> str | None:
    """The extension that a result is of, which the protocol's own schema knows nothing of."""
    said = result.get("resultType") if isinstance(result, dict) else None
    tags = {arm.__struct_config__.tag: one.identifier for arm, one in extensions.arms.items()}
    return tags.get(said) if isinstance(said, str) else None

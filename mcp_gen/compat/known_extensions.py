"""Extensions with a package, for readers of conversations that know neither side's."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import mcp_wire
import mcp_wire.extensions
from mcp_gen.core.extensions.extensions import Extensions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_wire.extension import Extension

__all__ = ["every_extension", "known_extensions", "named_params", "tasks_extension"]

SETTINGS: dict[str, Any] = {"io.modelcontextprotocol/ui": {"mimeTypes": []}}
"""Settings to declare for the extensions that require some."""


@cache
def known_extensions() -> Extensions:
    """Return every extension with a package."""
    return Extensions((one, SETTINGS.get(one.identifier)) for one in every_extension())


def every_extension() -> tuple[Extension, ...]:
    """Return every extension with a package, in the order of their names."""
    return tuple(_packages().values())


@cache
def named_params(revision: str) -> Mapping[str, str]:
    """Return the JSON name of the parameter that the name header repeats, by method.

    Args:
        revision: A revision; methods of extensions count too.
    """
    found = known_extensions().name_params(mcp_wire.profile(revision))
    return {method: wire for method, (_, wire) in found.items()}


def tasks_extension() -> Extension:
    """Return the extension of tasks."""
    return _packages()["tasks"]


@cache
def _packages() -> dict[str, Extension]:
    home = mcp_wire.extensions
    return {
        module.name: import_module(f"{home.__name__}.{module.name}").EXTENSION
        for module in iter_modules(home.__path__)
    }

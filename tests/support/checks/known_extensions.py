"""The extensions of this project, for checks that know neither side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.known_extensions import known_extensions

if TYPE_CHECKING:
    from mcp_gen.core.extensions.extensions import Extensions

__all__ = ["answers_otherwise", "known_extensions"]


def answers_otherwise(result: Any, extensions: Extensions) -> str | None:
    """Return the extension of a result that the protocol's own schema does not define."""
    said = result.get("resultType") if isinstance(result, dict) else None
    tags = {arm.__struct_config__.tag: one.identifier for arm, one in extensions.arms.items()}
    return tags.get(said) if isinstance(said, str) else None

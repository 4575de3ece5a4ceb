"""Checks of peers against the revisions: closed frame check, recorded conversations, the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.compat.bridge.bridge import Bridge as Bridge
    from mcp_gen.compat.bridge.limits import BridgeLimits as BridgeLimits

__all__ = ["Bridge", "BridgeLimits"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Loaded when it is used: the checks and the plugin need no bridge.
    from mcp_gen.compat.bridge import bridge

    return getattr(bridge, name)

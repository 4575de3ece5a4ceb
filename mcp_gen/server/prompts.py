"""Prompts: messages made from arguments, for users to pick."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp_gen.server.listing import Listing
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.hints import CacheHints
    from mcp_gen.server.server import Server

__all__ = ["OffersPrompts", "PromptBox", "PromptHandlers"]


class PromptBox:
    """The prompts of a server."""

    def __init__(self, changed: Callable[[], None], hints: CacheHints) -> None:
        self._changed = changed
        self.listing: Listing[Any] = Listing(
            "prompt",
            result="ListPromptsResult",
            field="prompts",
            describe=lambda offered: offered.describe(),
            changed=changed,
            hints=hints,
        )


class PromptHandlers(ServerHandlers[Any]):
    """What a server answers where prompts are meant."""

    server: Server


class OffersPrompts:
    """The part of a server that takes prompts."""

    prompts: PromptBox

"""Completions: what could stand in a prompt's argument or a template's variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.server import Server

__all__ = ["CompletionHandlers", "Completions", "OffersCompletions"]


class Completions:
    """The completions of a server."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed


class CompletionHandlers(ServerHandlers[Any]):
    """What a server answers where completions are meant."""

    server: Server


class OffersCompletions:
    """The part of a server that takes completions."""

    completions: Completions

"""Resources and templates: what clients may read, and how a URI finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.hints import Hints
    from mcp_gen.server.server import Server

__all__ = ["OffersResources", "ResourceBox", "ResourceHandlers"]


class ResourceBox:
    """The resources of a server."""

    def __init__(self, changed: Callable[[], None], hints: Hints) -> None:
        self._changed = changed


class ResourceHandlers(ServerHandlers[Any]):
    """What a server answers where resources are meant."""

    server: Server


class OffersResources:
    """The part of a server that takes resources."""

    resources: ResourceBox

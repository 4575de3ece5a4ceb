"""MCP Apps: what tools and resources say of them in `_meta`, written and read.

Source: https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec

import mcp_wire
from mcp_wire import Wire
from mcp_wire.extensions.ui import (
    EXTENSION,
    McpUiClientCapabilities,
    McpUiResourceMeta,
    McpUiToolMeta,
    McpUiToolVisibility,
)

__all__ = [
    "APPS",
    "MIME_TYPE",
    "SCHEME",
    "resource_ui",
    "shows",
    "tool_ui",
    "visible_to",
    "with_resource_ui",
    "with_tool_ui",
]

T = TypeVar("T")

MIME_TYPE = "text/html;profile=mcp-app"
"""The media type of apps, on the list of resources and on what is read."""
SCHEME = "ui://"
"""What the URIs of apps begin with."""

APPS = (EXTENSION, McpUiClientCapabilities(mime_types=[MIME_TYPE]))
"""The extension with the settings of who shows apps: `Client("host", extensions=[APPS])`."""

_KEY = "ui"
_FLAT_KEY = "ui/resourceUri"
"""Deprecated, and what some hosts still look for."""


def with_tool_ui(meta: Mapping[str, Any] | None, ui: McpUiToolMeta) -> dict[str, Any]:
    """The `_meta` of a tool that has an app, or that an app calls."""
    made = {key: one for key, one in (meta or {}).items() if key != _FLAT_KEY}
    made[_KEY] = msgspec.to_builtins(ui)
    if ui.resource_uri is not None:
        made[_FLAT_KEY] = ui.resource_uri
    return made


def with_resource_ui(
    meta: Mapping[str, Any] | None, ui: McpUiResourceMeta
) -> dict[str, Any] | None:
    """The `_meta` of an app, on a list and on what is read; None if there is nothing to say."""
    plain = msgspec.to_builtins(ui)
    made = {_KEY: plain, **(meta or {})} if plain else dict(meta or {})
    return made or None


def tool_ui(tool: Wire) -> McpUiToolMeta | None:
    """What a tool of any revision says of its app; None if it has nothing to do with any.

    The deprecated key is read too, where the other says nothing.
    """
    meta = _meta(tool)
    ui = _read(meta, McpUiToolMeta)
    flat = meta.get(_FLAT_KEY)
    if isinstance(flat, str) and (ui is None or ui.resource_uri is None):
        return McpUiToolMeta(resource_uri=flat, visibility=ui.visibility if ui else None)
    return ui


def resource_ui(content: Wire, listed: Wire | None = None) -> McpUiResourceMeta:
    """How an app wants to be shown, by what was read of it, or else by its entry on the list."""
    told = _read(_meta(content), McpUiResourceMeta)
    if told is None and listed is not None:
        told = _read(_meta(listed), McpUiResourceMeta)
    return told or McpUiResourceMeta()


def visible_to(tool: Wire, who: McpUiToolVisibility) -> bool:
    """Whether a tool is for the model, or for apps of the same server, to be seen and called."""
    ui = tool_ui(tool)
    return ui is None or ui.visibility is None or who in ui.visibility


def shows(settings: Mapping[str, Any] | None, mime_type: str = MIME_TYPE) -> bool:
    """Whether who declared the extension with these settings shows apps of a media type."""
    kinds: Any = (settings or {}).get("mimeTypes")
    return isinstance(kinds, Collection) and mime_type in kinds


def _meta(described: Wire) -> dict[str, Any]:
    # Types of older revisions have none.
    return getattr(described, "meta", None) or {}


def _read(meta: Mapping[str, Any], kind: type[T]) -> T | None:
    found = meta.get(_KEY)
    if found is None:
        return None
    try:
        return mcp_wire.decode(kind, mcp_wire.encode(found))
    except msgspec.DecodeError:
        return None

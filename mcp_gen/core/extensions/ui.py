"""MCP Apps metadata in `_meta`: read and write.

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
    "accepts_mime_type",
    "resource_ui",
    "tool_ui",
    "visible_to",
    "with_resource_ui",
    "with_tool_ui",
]

T = TypeVar("T")

MIME_TYPE = "text/html;profile=mcp-app"
"""Media type of MCP Apps, in `resources/list` and `resources/read`."""
SCHEME = "ui://"
"""URI scheme of MCP Apps."""

APPS = (EXTENSION, McpUiClientCapabilities(mime_types=[MIME_TYPE]))
"""The MCP Apps extension with a host's settings: `Client("host", extensions=[APPS])`."""

_KEY = "ui"
_FLAT_KEY = "ui/resourceUri"
"""Deprecated key that some hosts still read."""


def with_tool_ui(meta: Mapping[str, Any] | None, ui: McpUiToolMeta) -> dict[str, Any]:
    """Return the `_meta` of a tool with its MCP Apps metadata.

    Args:
        meta: The tool's other `_meta`; None for none.
        ui: Metadata of a tool that has an app, or that an app calls.

    Returns:
        A new dict. It also has the deprecated key `ui/resourceUri` if the tool has an app.
    """
    merged = {key: one for key, one in (meta or {}).items() if key != _FLAT_KEY}
    merged[_KEY] = msgspec.to_builtins(ui)
    if ui.resource_uri is not None:
        merged[_FLAT_KEY] = ui.resource_uri
    return merged


def with_resource_ui(
    meta: Mapping[str, Any] | None, ui: McpUiResourceMeta
) -> dict[str, Any] | None:
    """Return the `_meta` of an app's resource, for `resources/list` and `resources/read`.

    Args:
        meta: The resource's other `_meta`; None for none. Its `ui` member wins over `ui`.
        ui: The app's metadata.

    Returns:
        A new dict; None if it would be empty.
    """
    plain = msgspec.to_builtins(ui)
    merged = {_KEY: plain, **(meta or {})} if plain else dict(meta or {})
    return merged or None


def tool_ui(tool: Wire) -> McpUiToolMeta | None:
    """Return the MCP Apps metadata of a tool of any revision; None if it has none.

    The deprecated key `ui/resourceUri` is used if the metadata names no resource.
    """
    meta = _meta(tool)
    ui = _read(meta, McpUiToolMeta)
    flat = meta.get(_FLAT_KEY)
    if isinstance(flat, str) and (ui is None or ui.resource_uri is None):
        return McpUiToolMeta(resource_uri=flat, visibility=ui.visibility if ui else None)
    return ui


def resource_ui(content: Wire, listed: Wire | None = None) -> McpUiResourceMeta:
    """Return the MCP Apps metadata of a resource.

    Args:
        content: The resource contents, from `resources/read`.
        listed: The entry in `resources/list`, used if the contents have no metadata.

    Returns:
        The metadata; empty if there is none.
    """
    metadata = _read(_meta(content), McpUiResourceMeta)
    if metadata is None and listed is not None:
        metadata = _read(_meta(listed), McpUiResourceMeta)
    return metadata or McpUiResourceMeta()


def visible_to(tool: Wire, who: McpUiToolVisibility) -> bool:
    """Return True if a tool is visible to the model, or to the apps of the same server.

    Args:
        tool: A tool of any revision.
        who: `model` or `app`.
    """
    ui = tool_ui(tool)
    return ui is None or ui.visibility is None or who in ui.visibility


def accepts_mime_type(settings: Mapping[str, Any] | None, mime_type: str = MIME_TYPE) -> bool:
    """Return True if the settings of a peer's MCP Apps extension list a media type.

    Args:
        settings: The settings that the peer declared; None if it did not declare the extension.
        mime_type: The media type.
    """
    kinds: Any = (settings or {}).get("mimeTypes")
    return isinstance(kinds, Collection) and mime_type in kinds


def _meta(described: Wire) -> dict[str, Any]:
    # Types of older revisions have no `meta` field.
    return getattr(described, "meta", None) or {}


def _read(meta: Mapping[str, Any], kind: type[T]) -> T | None:
    found = meta.get(_KEY)
    if found is None:
        return None
    try:
        return mcp_wire.decode(kind, mcp_wire.encode(found))
    except msgspec.DecodeError:
        return None

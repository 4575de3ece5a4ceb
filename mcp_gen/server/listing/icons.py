"""Check of the icons of servers and of items in lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from mcp_gen.core.errors import UsageError

__all__ = ["check_icons"]

_SOURCES = ("https:", "data:")
_ICON = 'write `icons=[Icon(src="https://...")]`, with `from mcp_gen.types import Icon`'


def check_icons(what: str, icons: Any) -> None:
    """Check that icons have `https:` or `data:` URIs, which clients can show safely.

    Args:
        what: Beginning of the error message.
        icons: The icons, if any.

    Raises:
        UsageError: It is no list of icons, or an icon has another scheme.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic#icons
    """
    if icons is not None and (isinstance(icons, str) or not isinstance(icons, Sequence)):
        raise UsageError(f"{what}: icons={icons!r}: {_ICON}")
    given: list[Any] = list(cast("Any", icons or ()))
    for icon in given:
        src: Any = getattr(icon, "src", None)
        if not isinstance(src, str):
            raise UsageError(f"{what}: icons: {icon!r} is no icon: {_ICON}")
        if not src.lower().startswith(_SOURCES):
            scheme = src.partition(":")[0][:20]
            raise UsageError(
                f"{what}: an icon's src starts with `https:` or `data:`, not `{scheme}`: "
                "clients show no others"
            )

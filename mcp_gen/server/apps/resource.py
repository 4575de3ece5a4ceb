"""Resources that are apps: HTML, with what it needs of its host beside it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import msgspec

from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.ui import MIME_TYPE, with_resource_ui
from mcp_gen.server.resources.contents import Contents
from mcp_gen.server.resources.resource import FixedResource, Source
from mcp_gen.server.tools.tool import check_app_uri
from mcp_wire import latest
from mcp_wire.extensions.ui import McpUiResourceCsp, McpUiResourceMeta, McpUiResourcePermissions

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context

__all__ = ["AppOptions", "AppResource", "AppSource", "Permission"]

AppSource: TypeAlias = "Source | Path"
"""A function, the HTML itself, or a file of it, which is read anew each time."""
Permission: TypeAlias = Literal["camera", "microphone", "geolocation", "clipboard_write"]

_ORIGIN = re.compile(r"(https?|wss?)://(\*\.)?[A-Za-z0-9._\-]+(:\d+)?")


class AppOptions(TypedDict, total=False):
    """What an app says of itself, and needs of its host."""

    name: str
    """Identifies it to programs; the default is the function's name."""
    title: str
    """What people see instead of the name."""
    description: str
    annotations: latest.Annotations
    icons: list[latest.Icon]
    meta: dict[str, Any]
    """The rest of its `_meta` on the list."""
    csp: McpUiResourceCsp
    """The origins that it may reach; without them, none."""
    permissions: Collection[Permission]
    """What it asks the browser for; it has to do without, if the host or the user refuses."""
    domain: str
    """The origin that it wants to run under, in the form that the host expects."""
    prefers_border: bool
    """Whether the host is to draw a border and a background; the default is the host's."""
    ttl_ms: int
    """For how long what was read is fresh; the default is the server's."""
    cache_scope: Literal["public", "private"]
    """Who may share what was read; the default is the server's."""


class AppResource(FixedResource):
    """An app under its URI.

    Raises:
        UsageError: another scheme, no HTML, or an origin that is none.
    """

    def __init__(self, uri: str, source: AppSource, **given: Any) -> None:
        check_app_uri(uri, f"app {uri!r}")
        unknown = given.keys() - AppOptions.__annotations__.keys()
        if unknown:
            raise UsageError(f"app {uri!r}: `{min(unknown)}` is not for apps to say: leave it out")
        ui = McpUiResourceMeta(
            csp=_checked(uri, given.pop("csp", None)),
            permissions=_permissions(uri, given.pop("permissions", None)),
            domain=given.pop("domain", None),
            prefers_border=given.pop("prefers_border", None),
        )
        self._meta = with_resource_ui(None, ui)
        given["meta"] = with_resource_ui(given.get("meta"), ui)
        if isinstance(source, Path):
            given.setdefault("name", source.stem)
            source = _reading(uri, source)
        super().__init__(uri, source, mime_type=MIME_TYPE, **given)

    async def read(self, ctx: Context, values: Any) -> Any:
        """The HTML, and what it needs."""
        made = await super().read(ctx, values)
        if isinstance(made, str | bytes):
            return Contents(made, MIME_TYPE, meta=self._meta)
        if isinstance(made, Contents):
            # What is said of this reading goes before what is said of the app.
            meta = {**(self._meta or {}), **(made.meta or {})}
            return Contents(made.data, MIME_TYPE, made.uri, meta or None)
        if made is None or isinstance(made, msgspec.Struct):
            return made
        raise UsageError(
            f"app {self.uri!r}: expected HTML as str or bytes, got {type(made).__name__}"
        )


def _reading(uri: str, path: Path) -> Callable[[], str]:
    if not path.is_file():
        raise UsageError(f"app {uri!r}: there is no file {path}")

    def read() -> str:
        return path.read_text("utf-8")

    return read


def _checked(uri: str, csp: McpUiResourceCsp | None) -> McpUiResourceCsp | None:
    for origin in _origins(csp):
        # Hosts write them into a header: nothing may end the directive, or add to it.
        if not _ORIGIN.fullmatch(origin):
            raise UsageError(
                f"app {uri!r}: csp: expected an origin such as `https://api.example.com` or "
                f"`https://*.example.com`, got {origin[:100]!r}"
            )
    return csp


def _origins(csp: McpUiResourceCsp | None) -> Iterator[str]:
    if csp is not None:
        for origins in msgspec.structs.astuple(csp):
            yield from origins or ()


def _permissions(uri: str, names: Collection[str] | None) -> McpUiResourcePermissions | None:
    if not names:
        return None
    known = McpUiResourcePermissions.__struct_fields__
    for name in names:
        if name not in known:
            raise UsageError(
                f"app {uri!r}: permission {name!r}: expected one of {', '.join(known)}"
            )
    return McpUiResourcePermissions(**{name: dict[str, Any]() for name in names})

"""UI resources (`ui://`): HTML with its security policy and permissions."""

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
"""A function, the HTML itself, or the path of an HTML file, which is read on each request."""
Permission: TypeAlias = Literal["camera", "microphone", "geolocation", "clipboard_write"]

_ORIGIN = re.compile(r"(https?|wss?)://(\*\.)?[A-Za-z0-9._\-]+(:\d+)?")


class AppOptions(TypedDict, total=False):
    """Options of `Server.ui_resource`: description, and what the app needs of its host."""

    name: str
    """Name for programs; the default is that of the function or file, or the URI."""
    title: str
    """Name for people."""
    description: str
    annotations: latest.Annotations
    icons: list[latest.Icon]
    meta: dict[str, Any]
    """Further keys of its `_meta` in `resources/list`."""
    csp: McpUiResourceCsp
    """Origins that it may reach; the default is none."""
    permissions: Collection[Permission]
    """Browser permissions that it requests; the host or the user may refuse them."""
    domain: str
    """Origin that it wants to run under, in the form that the host expects."""
    prefers_border: bool
    """True asks the host for a border and a background; the default is the host's."""
    ttl_ms: int
    """Milliseconds that a read is fresh for clients; the default is the server's."""
    cache_scope: Literal["public", "private"]
    """Scope in which caches may share a read; the default is the server's."""


class AppResource(FixedResource):
    """UI resource of an app.

    Args:
        uri: Its URI, with the scheme `ui`.
        source: A function that returns HTML, the HTML itself, or the path of a file.
        given: See AppOptions.

    Raises:
        UsageError: another scheme, an unknown option or permission, a missing file, or an invalid
            origin.
    """

    def __init__(self, uri: str, source: AppSource, **given: Any) -> None:
        check_app_uri(uri, f"app {uri!r}")
        unknown = given.keys() - AppOptions.__annotations__.keys()
        if unknown:
            raise UsageError(f"app {uri!r}: `{min(unknown)}` is not for apps to say: leave it out")
        ui = McpUiResourceMeta(
            csp=_checked_csp(uri, given.pop("csp", None)),
            permissions=_permissions(uri, given.pop("permissions", None)),
            domain=given.pop("domain", None),
            prefers_border=given.pop("prefers_border", None),
        )
        self._meta = with_resource_ui(None, ui)
        given["meta"] = with_resource_ui(given.get("meta"), ui)
        if isinstance(source, Path):
            given.setdefault("name", source.stem)
            source = _file_reader(uri, source)
        super().__init__(uri, source, mime_type=MIME_TYPE, **given)

    async def read(self, ctx: Context, values: Any) -> Any:
        """Return the HTML with the UI metadata of the app.

        Raises:
            UsageError: the function returned something else than `str` or `bytes`.
        """
        made = await super().read(ctx, values)
        if isinstance(made, str | bytes):
            return Contents(made, MIME_TYPE, meta=self._meta)
        if isinstance(made, Contents):
            # `_meta` of this read takes precedence over that of the app.
            meta = {**(self._meta or {}), **(made.meta or {})}
            return Contents(made.data, MIME_TYPE, made.uri, meta or None)
        if made is None or isinstance(made, msgspec.Struct):
            return made
        raise UsageError(
            f"app {self.uri!r}: expected HTML as str or bytes, got {type(made).__name__}"
        )


def _file_reader(uri: str, path: Path) -> Callable[[], str]:
    if not path.is_file():
        raise UsageError(f"app {uri!r}: there is no file {path}")

    def read() -> str:
        return path.read_text("utf-8")

    return read


def _checked_csp(uri: str, csp: McpUiResourceCsp | None) -> McpUiResourceCsp | None:
    for origin in _origins(csp):
        # Hosts write origins into a CSP header: prevent injection of directives.
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

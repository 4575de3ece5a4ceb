"""Files under a folder as resources: found by their path, read in a thread, nothing outside."""

from __future__ import annotations

import asyncio
import logging
import mimetypes
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_gen.core.errors import McpError, ProtocolError, ResourceNotFound, UsageError
from mcp_gen.server.context.context import Context
from mcp_gen.server.resources.contents import BINARY, TEXT, Contents
from mcp_gen.server.resources.paths import fits, is_inside, is_name, opened
from mcp_gen.server.resources.resource import DescriptionOptions, ListedResource
from mcp_gen.server.resources.uri_templates import UriTemplate
from mcp_gen.server.resources.uris import check_uri
from mcp_wire import latest

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["FileResources"]

_log = logging.getLogger("mcp_gen.server")

_SCANNED = 100_000
"""How many entries of folders one list looks at, whatever the pattern leaves of them."""
_LONGEST = 4096
"""How many characters a path may have."""

_TYPES = {
    ".jsonl": "application/jsonl",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
"""What some releases of Python lack."""
_COMPRESSED = {"bzip2": "application/x-bzip2", "gzip": "application/gzip", "xz": "application/x-xz"}
_TEXTUAL = frozenset(
    (
        *("javascript", "json", "jsonl", "sql", "toml", "x-csh", "x-latex", "x-ndjson", "x-sh"),
        *("x-tcl", "x-tex", "xml", "yaml"),
    )
)
"""Subtypes of `application` that are text."""


class FileResources:
    """The files under a folder: `server.add_resources(FileResources("docs"))`.

    A file is listed, and read, under the prefix and its path: as `docs://guide/intro.md` with
    `prefix="docs://"`. Without a prefix it is the `file:` URI that the file has on this machine.

    `pattern` says which files are served, with `*` and `?` within a name and `**` for any folders;
    hidden ones, whose names or folders begin with a dot, only if `hidden`. A file of more than
    `max_bytes` is not read. A list without pages shows `max_listed` files; the others can be read
    all the same. `mime_types` are media types by suffix, where these should not be the usual ones.
    `within_client_roots` serves only what is inside of a folder that the client works in; such
    files are read but not listed, because a client can be asked for its folders only while it
    reads. Other keywords describe the template: see `Server.resource`.

    Nothing outside of the folder is read, whatever a path says and wherever a link points. What is
    text is sent as text if it is UTF-8, anything else in base64.

    Raises:
        UsageError: no such folder, or a prefix that is no URI.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/resources#security-considerations
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        prefix: str | None = None,
        pattern: str = "**/*",
        hidden: bool = False,
        max_bytes: int = 4 * 2**20,
        max_listed: int = 1000,
        mime_types: Mapping[str, str] | None = None,
        within_client_roots: bool = False,
        **described: Unpack[DescriptionOptions],
    ) -> None:
        try:
            self.root = Path(root).resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise UsageError(f"{os.fspath(root)!r} cannot be served: {error}") from None
        if not self.root.is_dir():
            raise UsageError(
                f"{os.fspath(root)!r} is no folder: give the one that the files are in"
            )
        if prefix is None:
            prefix = self.root.joinpath("_").as_uri()[:-1]
        check_uri(prefix, f"prefix={prefix!r}")
        self.uri_template = f"{prefix}{{path*}}"
        self.described: DescriptionOptions = {"name": self.root.name or "files", **described}
        self._template = UriTemplate(self.uri_template)
        self._pattern = pattern.split("/")
        self._hidden = hidden
        self._max_bytes = max_bytes
        self._max_listed = max_listed
        self._within_client_roots = within_client_roots
        self._given_types = {**_TYPES, **(mime_types or {})}

    # --- what a server asks for ---

    async def page(self, ctx: Context, after: str, limit: int | None) -> Sequence[ListedResource]:
        """The files whose paths come after one, in order."""
        if self._within_client_roots:
            return []
        return await asyncio.to_thread(self._page, after, limit)

    async def find(self, ctx: Context, path: str) -> latest.Resource | None:
        """What there is under a path."""
        return await asyncio.to_thread(self._find, path)

    async def read(self, path: str, ctx: Context) -> Contents:
        """One of the files below the folder."""
        roots: list[str] | None = None
        if self._within_client_roots:
            roots = [root.uri for root in await ctx.list_roots()]
        return await asyncio.to_thread(self._read, path, roots)

    # --- in a thread ---

    def _page(self, after: str, limit: int | None) -> Sequence[ListedResource]:
        most = self._max_listed if limit is None else limit
        found = [*islice(self._walk(tuple(after.split("/")) if after else ()), most + 1)]
        if len(found) > most and limit is None:
            _log.warning("%s has more than %d files: not all are listed", self.root, most)
        return [ListedResource(path, self._resource(path, size)) for path, size in found[:most]]

    def _find(self, path: str) -> latest.Resource | None:
        real = self._locate(path)
        if real is None:
            return None
        try:
            return self._resource(path, real.stat().st_size)
        except OSError:
            return None

    def _resource(self, path: str, size: int) -> latest.Resource:
        return latest.Resource(
            name=path,
            uri=self._template.expand({"path": path}),
            mime_type=self._mime_type(path),
            size=size,
        )

    def _walk(self, after: tuple[str, ...]) -> Iterator[tuple[str, int]]:
        """The paths and sizes of what is served, in the order of their parts, behind `after`."""
        scanned = 0
        open_folders = [self._entries(str(self.root), (), after)]
        while open_folders:
            for parts, entry, behind in open_folders[-1]:
                scanned += 1
                if scanned > _SCANNED:
                    _log.warning("%s: stopped looking after %d entries", self.root, _SCANNED)
                    return
                if entry.is_dir(follow_symlinks=False):
                    open_folders.append(self._entries(entry.path, parts, behind))
                    break
                if parts > after and (size := self._size(parts, entry)) is not None:
                    yield "/".join(parts), size
            else:
                open_folders.pop()

    def _entries(
        self, folder: str, inside: tuple[str, ...], after: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], os.DirEntry[str], tuple[str, ...]]]:
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            return  # gone by now, or not for us
        first = after[:1]
        for entry in entries:
            if (entry.name,) >= first and (self._hidden or not entry.name.startswith(".")):
                behind = after[1:] if (entry.name,) == first else ()
                yield (*inside, entry.name), entry, behind

    def _size(self, parts: tuple[str, ...], entry: os.DirEntry[str]) -> int | None:
        if not self._serves(parts):
            return None
        try:
            if entry.is_symlink() and self._locate("/".join(parts)) is None:
                return None
            found = entry.stat()
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def _read(self, path: str, roots: list[str] | None) -> Contents:
        real = self._locate(path)
        if real is None or (roots is not None and not is_inside(real, roots)):
            raise ResourceNotFound
        try:
            data = self._load(real)
        except OSError:
            raise ResourceNotFound from None
        mime_type = self._mime_type(path)
        if mime_type is None or _is_text(mime_type):
            try:
                text = data.decode()
            except UnicodeDecodeError:
                pass
            else:
                if mime_type or "\0" not in text:
                    return Contents(text, mime_type or TEXT)
        return Contents(data, mime_type or BINARY)

    def _load(self, real: Path) -> bytes:
        with open(opened(self.root, real.relative_to(self.root).parts), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ResourceNotFound
            # Read, not asked for: a file may grow meanwhile.
            data = file.read(self._max_bytes + 1)
        if len(data) > self._max_bytes:
            raise _too_large(max(found.st_size, len(data)), self._max_bytes)
        return data

    # --- what is served ---

    def _serves(self, parts: Sequence[str]) -> bool:
        """Whether a path may be served at all, whatever is there."""
        if not all(is_name(part) for part in parts):
            return False
        return self._shows(parts) and fits(parts, self._pattern)

    def _shows(self, parts: Sequence[str]) -> bool:
        return self._hidden or not any(part.startswith(".") for part in parts)

    def _locate(self, path: str) -> Path | None:
        """The file that a path leads to, links followed; None if it is not to be served."""
        if len(path) > _LONGEST or not self._serves(path.split("/")):
            return None
        try:
            real = (self.root / path).resolve(strict=True)
            inside = real.relative_to(self.root).parts
        except (OSError, RuntimeError, ValueError):
            return None  # there is none, links lead in circles, or out of the folder
        return real if real.is_file() and self._shows(inside) else None

    @cached_property
    def _types(self) -> mimetypes.MimeTypes:
        types = mimetypes.MimeTypes()
        for suffix, mime_type in self._given_types.items():
            types.add_type(mime_type, suffix)
        return types

    def _mime_type(self, path: str) -> str | None:
        mime_type, compressed = self._types.guess_type(path.rpartition("/")[2], strict=False)
        return _COMPRESSED.get(compressed, BINARY) if compressed else mime_type


def _is_text(mime_type: str) -> bool:
    kind, _, subtype = mime_type.partition("/")
    return kind == "text" or subtype.endswith(("+json", "+xml")) or subtype in _TEXTUAL


def _too_large(size: int, limit: int) -> McpError:
    what = f"the file has {size} bytes, and at most {limit} are served"
    return McpError(ProtocolError.code, what, {"size": size, "limit": limit})

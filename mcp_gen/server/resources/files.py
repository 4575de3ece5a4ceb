"""`FileResources`: serves the files of a folder as resources."""

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
from mcp_gen.server.resources.paths import (
    is_inside,
    is_safe_name,
    matches_pattern,
    open_without_links,
)
from mcp_gen.server.resources.resource import DescriptionOptions, ListedResource
from mcp_gen.server.resources.uri_templates import UriTemplate
from mcp_gen.server.resources.uris import check_uri
from mcp_wire import latest

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["FileResources"]

_log = logging.getLogger("mcp_gen.server")

_SCANNED = 100_000
"""Maximum number of directory entries that one list scans, whether they match or not."""
_MAX_PATH_LENGTH = 4096
"""Maximum number of characters of a path."""

_TYPES = {
    ".jsonl": "application/jsonl",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
"""Media types that some Python versions do not know."""
_COMPRESSED = {"bzip2": "application/x-bzip2", "gzip": "application/gzip", "xz": "application/x-xz"}
_TEXT_SUBTYPES = frozenset(
    (
        *("javascript", "json", "jsonl", "sql", "toml", "x-csh", "x-latex", "x-ndjson", "x-sh"),
        *("x-tcl", "x-tex", "xml", "yaml"),
    )
)
"""Subtypes of `application` that are text."""


class FileResources:
    """Files of a folder as resources: `server.add_resources(FileResources("docs"))`.

    A file is listed and read under the URI that joins the prefix and its path, for example
    `docs://guide/intro.md` with `prefix="docs://"`.

    Files outside of the folder are never read: path traversal and symbolic links out of the folder
    are rejected. Text files in UTF-8 are sent as text, all others in base64. Files are read in a
    thread.

    Args:
        root: The folder.
        prefix: Beginning of each URI. None: the `file:` URI of the folder on this machine.
        pattern: Files to serve: `*` and `?` match within a name, `**` matches any folders.
        hidden: Serve hidden files too: those whose name, or a folder of theirs, begins with a dot.
        max_bytes: Maximum size of a file in bytes. Reading a larger file is an error.
        max_listed: Maximum number of files in a list without pagination. The others can still be
            read.
        mime_types: Media types by suffix, such as `{".md": "text/plain"}`, in place of the usual
            ones.
        within_client_roots: Serve only files inside the roots of the client (`roots/list`). Such
            files are read but not listed, because roots can be requested only during a read.
        **described: Description of the template and defaults of the reads; see `Server.resource`.

    Raises:
        UsageError: The folder does not exist, or the prefix is not a URI.

    Source:
        https://modelcontextprotocol.io/specification/2026-07-28/server/resources#security-considerations
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
        """URI template of the files."""
        self.described: DescriptionOptions = {"name": self.root.name or "files", **described}
        """Description of the template."""
        self._template = UriTemplate(self.uri_template)
        self._pattern = pattern.split("/")
        self._hidden = hidden
        self._max_bytes = max_bytes
        self._max_listed = max_listed
        self._within_client_roots = within_client_roots
        self._mime_types = {**_TYPES, **(mime_types or {})}

    # --- resource source ---

    async def page(self, ctx: Context, after: str, limit: int | None) -> Sequence[ListedResource]:
        """Return files in the order of their paths.

        Args:
            ctx: Context of the request.
            after: Path after which the page begins; empty for the first page.
            limit: Maximum number of files. None: `max_listed`; a log warning says if there are
                more.
        """
        if self._within_client_roots:
            return []
        return await asyncio.to_thread(self._page, after, limit)

    async def find(self, ctx: Context, path: str) -> latest.Resource | None:
        """Return the description of the file at a path, or None if it is not served.

        Args:
            ctx: Context of the request.
            path: Path below the folder, with `/` as separator.
        """
        return await asyncio.to_thread(self._find, path)

    async def read(self, path: str, ctx: Context) -> Contents:
        """Read a file.

        Args:
            path: Path below the folder, with `/` as separator.
            ctx: Context of the request.

        Raises:
            ResourceNotFound: The file does not exist or is not served.
            McpError: The file is larger than `max_bytes`.
        """
        roots: list[str] | None = None
        if self._within_client_roots:
            roots = [root.uri for root in await ctx.list_roots()]
        return await asyncio.to_thread(self._read, path, roots)

    # --- in a thread ---

    def _page(self, after: str, limit: int | None) -> Sequence[ListedResource]:
        max_files = self._max_listed if limit is None else limit
        found = [*islice(self._walk(tuple(after.split("/")) if after else ()), max_files + 1)]
        if len(found) > max_files and limit is None:
            _log.warning("%s has more than %d files: not all are listed", self.root, max_files)
        return [
            ListedResource(path, self._resource(path, size)) for path, size in found[:max_files]
        ]

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
        """Yield the path and size of each served file after `after`, ordered by path segments."""
        scanned = 0
        open_folders = [self._entries(str(self.root), (), after)]
        while open_folders:
            for parts, entry, inner_after in open_folders[-1]:
                scanned += 1
                if scanned > _SCANNED:
                    _log.warning("%s: stopped looking after %d entries", self.root, _SCANNED)
                    return
                if entry.is_dir(follow_symlinks=False):
                    open_folders.append(self._entries(entry.path, parts, inner_after))
                    break
                if parts > after and (size := self._size(parts, entry)) is not None:
                    yield "/".join(parts), size
            else:
                open_folders.pop()

    def _entries(
        self, folder: str, segments: tuple[str, ...], after: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], os.DirEntry[str], tuple[str, ...]]]:
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            return  # removed by now, or not readable
        first = after[:1]
        for entry in entries:
            if (entry.name,) >= first and (self._hidden or not entry.name.startswith(".")):
                inner_after = after[1:] if (entry.name,) == first else ()
                yield (*segments, entry.name), entry, inner_after

    def _size(self, parts: tuple[str, ...], entry: os.DirEntry[str]) -> int | None:
        if not self._is_served(parts):
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
        with open(open_without_links(self.root, real.relative_to(self.root).parts), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise ResourceNotFound
            # Read instead of trusting the size: a file may grow meanwhile.
            data = file.read(self._max_bytes + 1)
        if len(data) > self._max_bytes:
            raise _too_large(max(found.st_size, len(data)), self._max_bytes)
        return data

    # --- checks ---

    def _is_served(self, parts: Sequence[str]) -> bool:
        """Return True if a path may be served, whether a file exists or not."""
        if not all(is_safe_name(part) for part in parts):
            return False
        return self._is_visible(parts) and matches_pattern(parts, self._pattern)

    def _is_visible(self, parts: Sequence[str]) -> bool:
        return self._hidden or not any(part.startswith(".") for part in parts)

    def _locate(self, path: str) -> Path | None:
        """Return the file at a path, with links resolved; None if it is not served."""
        if len(path) > _MAX_PATH_LENGTH or not self._is_served(path.split("/")):
            return None
        try:
            real = (self.root / path).resolve(strict=True)
            segments = real.relative_to(self.root).parts
        except (OSError, RuntimeError, ValueError):
            return None  # missing, a link loop, or a link out of the folder
        return real if real.is_file() and self._is_visible(segments) else None

    @cached_property
    def _types(self) -> mimetypes.MimeTypes:
        types = mimetypes.MimeTypes()
        for suffix, mime_type in self._mime_types.items():
            types.add_type(mime_type, suffix)
        return types

    def _mime_type(self, path: str) -> str | None:
        mime_type, compressed = self._types.guess_type(path.rpartition("/")[2], strict=False)
        return _COMPRESSED.get(compressed, BINARY) if compressed else mime_type


def _is_text(mime_type: str) -> bool:
    kind, _, subtype = mime_type.partition("/")
    return kind == "text" or subtype.endswith(("+json", "+xml")) or subtype in _TEXT_SUBTYPES


def _too_large(size: int, limit: int) -> McpError:
    what = f"the file has {size} bytes, and at most {limit} are served"
    return McpError(ProtocolError.code, what, {"size": size, "limit": limit})

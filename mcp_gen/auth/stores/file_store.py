"""Token store in one file of this user, shared by processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec

from mcp_gen.auth.stores.file_locks import FileLocks
from mcp_gen.auth.stores.private_files import (
    default_path,
    make_private_folder,
    read_private,
    replace_private,
)
from mcp_gen.auth.stores.token_store import StoredCredentials
from mcp_gen.core.errors import AuthError

__all__ = ["FileTokenStore"]

FORMAT = 1
"""Version of the file's format."""
MAX_FILE_BYTES = 4 * 1024 * 1024
"""Maximum size of a token file, in bytes."""
WRITE_TIMEOUT_S = 10.0
"""Seconds to wait for another process that writes the file."""
_WRITING = ""
"""Key of the lock that a process holds while it writes; no credentials have it."""


class _TokenFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: int = msgspec.field(name="version")
    credentials: dict[str, msgspec.Raw] = {}


_read = msgspec.json.Decoder(_TokenFile)
_read_one = msgspec.json.Decoder(StoredCredentials)


class FileTokenStore:
    """Token store in a file that only its owner may read. Several processes can share it.

    The file has mode 0600, is replaced in one step, and is refused if others may read it or if it
    is a symbolic link. Locks are files in a folder beside it. The tokens in it are not encrypted.

    Args:
        path: The file; `~` is expanded. None: `mcp-gen/tokens.json` in the folder of this user's
            data (`~/.local/share` or `$XDG_DATA_HOME`; `~/Library/Application Support`;
            `%LOCALAPPDATA%`).
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = default_path("tokens.json") if path is None else Path(path).expanduser()
        self._locks = FileLocks(self._path.with_name(f"{self._path.name}.locks"))
        self._seen: tuple[object, dict[str, msgspec.Raw]] | None = None

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    async def load(self, key: str) -> StoredCredentials | None:
        """Return the credentials of a key, as any process wrote them last.

        Args:
            key: The key.

        Raises:
            AuthError: The file is not private, or it is no token file.
        """
        held = self._unchanged()
        if held is None:
            held = await asyncio.to_thread(self._entries)
        found = held.get(key)
        if found is None:
            return None
        try:
            return _read_one.decode(found)
        except msgspec.MsgspecError:
            # Of another version of this package: the user logs in again.
            return None

    async def save(self, key: str, credentials: StoredCredentials) -> None:
        """Replace the credentials of a key; they are on disk when this returns.

        Args:
            key: The key.
            credentials: What to keep.

        Raises:
            AuthError: The file cannot be written, is not private, or is no token file.
        """
        encoded = msgspec.Raw(msgspec.json.encode(credentials))
        await _whole(self._change, key, encoded)

    async def delete(self, key: str) -> None:
        """Forget the credentials of a key.

        Args:
            key: The key.

        Raises:
            AuthError: See `save`.
        """
        if await self._has(key):
            await _whole(self._change, key, None)

    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """Return a context in which no other process, and nobody else here, has this lock.

        Args:
            key: The key.
        """
        return self._locks.lock(f"credentials {key}")

    async def _has(self, key: str) -> bool:
        return key in await asyncio.to_thread(self._entries)

    def _unchanged(self) -> dict[str, msgspec.Raw] | None:
        """Return what was read last if the file is still the same one; it is never rewritten."""
        if self._seen is None:
            return None
        try:
            state = os.lstat(self._path)
        except OSError:
            return None
        return self._seen[1] if _sign(state) == self._seen[0] else None

    def _entries(self) -> dict[str, msgspec.Raw]:
        found = read_private(self._path, MAX_FILE_BYTES)
        if found is None:
            self._seen = None
            return {}
        content, state = found
        entries = _decode(content, self._path)
        self._seen = _sign(state), entries
        return entries

    def _change(self, key: str, entry: msgspec.Raw | None) -> None:
        """Read the file and replace it by one with this entry, or without; no other does so."""
        make_private_folder(self._path.parent)
        with self._locks.lock_briefly(_WRITING, WRITE_TIMEOUT_S):
            entries = dict(self._entries())
            if entry is None:
                entries.pop(key, None)
            else:
                entries[key] = entry
            replace_private(self._path, msgspec.json.encode(_TokenFile(FORMAT, entries)))

    def __repr__(self) -> str:
        return f"FileTokenStore({os.fspath(self._path)!r})"


async def _whole(act: Callable[..., None], *given: object) -> None:
    """Run an act in a thread to its end, also if the one who waits is cancelled."""
    running = asyncio.ensure_future(asyncio.to_thread(act, *given))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        # A rotated token that is not written is lost.
        await asyncio.wait([running])
        raise


def _sign(state: os.stat_result) -> object:
    """Return what differs between two files that replaced each other."""
    return state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_mode


def _decode(content: bytes, path: Path) -> dict[str, msgspec.Raw]:
    try:
        found = _read.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise AuthError(
            f"{path}: is no token file of mcp-gen; delete it, or name another one"
        ) from None
    if found.format != FORMAT:
        raise AuthError(
            f"{path}: is of version {found.format}, this program reads {FORMAT}; name another file"
        )
    return {key: msgspec.Raw(bytes(one)) for key, one in found.credentials.items()}

"""Locks that processes share: one empty file per key, locked by the operating system."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep

from mcp_gen.auth.stores.private_files import make_private_folder, open_private
from mcp_gen.core.errors import AuthError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["FileLocks"]

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.2
"""Pauses between two attempts to get a lock, the first and the longest; they double."""


class FileLocks:
    """Locks by key, in files of one folder. A lock ends with its process at the latest.

    Args:
        folder: The folder; made with mode 0700 when the first lock is taken.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[None, None]:
        """Hold the lock of a key, after waiting for it without a limit.

        Raises:
            AuthError: The lock file cannot be made, or others may write it.
        """
        descriptor, pause_s = self._open(key), FIRST_PAUSE_S
        try:
            while not _try_lock(descriptor):
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            yield
        finally:
            # This also unlocks.
            os.close(descriptor)

    @contextmanager
    def lock_briefly(self, key: str, timeout_s: float) -> Generator[None, None, None]:
        """Hold the lock of a key in a thread, for an act that needs no waiting.

        Args:
            key: The key.
            timeout_s: Seconds to wait.

        Raises:
            AuthError: Another process holds it for longer.
        """
        descriptor, until = self._open(key), monotonic() + timeout_s
        try:
            while not _try_lock(descriptor):
                if monotonic() > until:
                    raise AuthError(
                        f"{self._folder}: another process holds the lock for more than "
                        f"{timeout_s:g} s; end it, and try again"
                    )
                sleep(FIRST_PAUSE_S)
            yield
        finally:
            os.close(descriptor)

    def _open(self, key: str) -> int:
        make_private_folder(self._folder)
        # A key is made of a URL, which is no file name.
        name = sha256(key.encode()).hexdigest()[:32]
        return open_private(self._folder / f"{name}.lock", os.O_RDWR | os.O_CREAT)


def _try_lock(descriptor: int) -> bool:
    """Lock a file that may be locked by another descriptor, of this process or another."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True

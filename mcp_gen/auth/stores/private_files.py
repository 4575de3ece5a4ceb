"""Files and folders that only their owner may read, and where they are by default."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from pathlib import Path

from mcp_gen.core.errors import AuthError

__all__ = ["default_path", "make_private_folder", "open_private", "read_private", "replace_private"]

FOLDER = "mcp-gen"
FILE_MODE, FOLDER_MODE = 0o600, 0o700
_OTHERS = 0o077
_OTHERS_WRITE = 0o022
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


def default_path(name: str) -> Path:
    """Return the path of a file in the folder of this user's data, by the platform's custom.

    Source: https://specifications.freedesktop.org/basedir/latest/
    """
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        given = os.environ.get("XDG_DATA_HOME", "")
        base = given if os.path.isabs(given) else Path.home() / ".local" / "share"
    return Path(base) / FOLDER / name


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its owner may enter, if it is not there.

    Raises:
        AuthError: It cannot be made, or others may write to it.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, FOLDER_MODE)
        found = os.stat(folder)
    except OSError as error:
        raise _failed(folder, error) from None
    if not stat.S_ISDIR(found.st_mode):
        raise AuthError(f"{folder}: expected a folder; name another path for the token file")
    # In a folder with the sticky bit, others cannot replace files of this user.
    open_to_all = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
    if sys.platform != "win32" and open_to_all:
        raise AuthError(f"{folder}: others may replace its files; run `chmod 700 {folder}`")


def open_private(path: Path, flags: int) -> int:
    """Open a file that is made with mode 0600, and return its descriptor.

    Raises:
        FileNotFoundError: It is not there, and the flags do not make it.
        AuthError: It cannot be opened, is a symbolic link or no file, belongs to another user, or
            others may read or write it.
    """
    try:
        descriptor = os.open(path, flags | _NO_LINK, FILE_MODE)
    except FileNotFoundError:
        raise
    except OSError as error:
        if os.path.islink(path):
            raise AuthError(f"{path}: is a symbolic link; name the file itself") from None
        raise _failed(path, error) from None
    try:
        _check(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_private(path: Path, limit_bytes: int) -> tuple[bytes, os.stat_result] | None:
    """Read a private file, and return its content and state; None if it is not there.

    Raises:
        AuthError: See `open_private`; or it is larger than `limit_bytes`.
    """
    try:
        # A pipe would be waited for.
        descriptor = open_private(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        state = os.fstat(file.fileno())
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise AuthError(f"{path}: expected at most {limit_bytes} bytes; is it a token file?")
    return content, state


def replace_private(path: Path, content: bytes) -> None:
    """Write a private file in one step: a reader sees the file before or after, and no mixture.

    Raises:
        AuthError: It cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with contextlib.suppress(FileNotFoundError):
            # Of a process that had this number and was killed.
            os.unlink(beside)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, FILE_MODE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
    except OSError as error:
        raise _failed(path, error) from None


def _check(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise AuthError(f"{path}: expected a file; name another one")
    if sys.platform == "win32":
        return
    if found.st_uid != os.geteuid():
        raise AuthError(f"{path}: belongs to another user; name a file of your own")
    if found.st_mode & _OTHERS:
        raise AuthError(f"{path}: others may read it; run `chmod 600 {path}`, and log in again")


def _failed(path: Path, error: OSError) -> AuthError:
    return AuthError(f"{path}: {error.strerror or type(error).__name__}; name another path")

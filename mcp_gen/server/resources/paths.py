"""Paths that clients name: which ones are safe, which fit a pattern, and how they are opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

__all__ = ["fits", "is_inside", "is_name", "opened"]


def is_name(part: str) -> bool:
    """Whether a part of a path names something below, on any system."""
    if part in ("", ".", "..") or "\\" in part or "\0" in part:
        return False
    return not (os.name == "nt" and ":" in part)


def fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path is one of a pattern; the time grows with the length of both."""
    reached = {0}
    for part in parts:
        reached = _across(reached, pattern)
        reached = {
            at if pattern[at] == "**" else at + 1
            for at in reached
            if at < len(pattern) and (pattern[at] == "**" or fnmatchcase(part, pattern[at]))
        }
    return len(pattern) in _across(reached, pattern)


def _across(reached: set[int], pattern: Sequence[str]) -> set[int]:
    """The same places, and those behind a `**` that stands for no folder."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            found.add(at)
    return found


def opened(root: Path, parts: Sequence[str]) -> int:
    """Open a file step by step, following no link: whoever swaps a folder for one gains nothing."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
        return os.open(root.joinpath(*parts), flags)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], flags | os.O_NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)


def is_inside(real: Path, roots: Sequence[str]) -> bool:
    """Whether a file is below one of the client's folders."""
    return any(real.is_relative_to(folder) for folder in map(_folder, roots) if folder is not None)


def _folder(uri: str) -> Path | None:
    """The folder on this machine that a `file:` URI names."""
    from urllib.parse import unquote, urlsplit

    try:
        found = urlsplit(uri)
        if found.scheme != "file" or found.netloc not in ("", "localhost"):
            return None
        path = unquote(found.path, errors="strict")
        return Path(path.lstrip("/") if os.name == "nt" else path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None

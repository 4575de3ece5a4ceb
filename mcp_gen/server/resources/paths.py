"""Client-supplied paths: traversal checks, glob patterns, and opening without following links."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

__all__ = ["is_inside", "is_safe_name", "matches_pattern", "open_without_links"]


def is_safe_name(part: str) -> bool:
    """Return True if a path segment names an entry of its folder, on any operating system."""
    if part in ("", ".", "..") or "\\" in part or "\0" in part:
        return False
    return not (os.name == "nt" and ":" in part)


def matches_pattern(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return True if a path matches a pattern, in time bounded by the product of their lengths."""
    reached = {0}
    for part in parts:
        reached = _skip_double_stars(reached, pattern)
        reached = {
            at if pattern[at] == "**" else at + 1
            for at in reached
            if at < len(pattern) and (pattern[at] == "**" or fnmatchcase(part, pattern[at]))
        }
    return len(pattern) in _skip_double_stars(reached, pattern)


def _skip_double_stars(reached: set[int], pattern: Sequence[str]) -> set[int]:
    """Return the positions, and those after each `**` that matches no folder."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            found.add(at)
    return found


def open_without_links(root: Path, parts: Sequence[str]) -> int:
    """Open a file without following links, so that swapping a folder for a link gains nothing.

    Platforms without `dir_fd` or `O_NOFOLLOW` open it in one step.
    """
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
    """Return True if a file is inside one of the client's roots."""
    return any(real.is_relative_to(folder) for folder in map(_folder, roots) if folder is not None)


def _folder(uri: str) -> Path | None:
    """Return the local folder of a `file:` URI, or None."""
    # Loaded when used: few URIs need it.
    from urllib.parse import unquote, urlsplit

    try:
        found = urlsplit(uri)
        if found.scheme != "file" or found.netloc not in ("", "localhost"):
            return None
        path = unquote(found.path, errors="strict")
        return Path(path.lstrip("/") if os.name == "nt" else path).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None

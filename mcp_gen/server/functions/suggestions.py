"""Suggestions for unknown names: "did you mean"."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["suggest"]

MAX_NAMES = 8
"""Maximum number of known names in a message."""


def suggest(name: str, known: Collection[str]) -> str:
    """Return the end of an error message: similar names, else the known names.

    Args:
        name: The unknown name.
        known: All known names.
    """
    # Imported here: only needed for an unknown name.
    import difflib

    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return f": did you mean {' or '.join(map(repr, near))}?"
    if not known:
        return ": there are none"
    shown = ", ".join(map(repr, list(known)[:MAX_NAMES]))
    return f": there {'is' if len(known) == 1 else 'are'} {shown}" + (
        f" and {len(known) - MAX_NAMES} more" if len(known) > MAX_NAMES else ""
    )

"""Suggestions for unknown names: "did you mean"."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["describe_unknown", "suggest"]

MAX_NAMES = 8
"""Maximum number of known names in a message."""
MAX_UNKNOWN = 3
"""Maximum number of unknown names in a message: a peer chooses how many there are."""
MAX_CHARACTERS = 64
"""Maximum characters of an unknown name that are shown, and compared with the known names."""


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


def describe_unknown(given: Collection[str], known: Collection[str]) -> str | None:
    """Return the error text for unknown arguments, each with similar names; None if all are known.

    Args:
        given: Names of the arguments of a call.
        known: Names of the arguments that there are.
    """
    unknown = [name for name in given if name not in known]
    if not unknown:
        return None
    shown = [
        f"unknown argument {name!r}{suggest(name, known)}"
        for name in (one[:MAX_CHARACTERS] for one in unknown[:MAX_UNKNOWN])
    ]
    more = len(unknown) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])

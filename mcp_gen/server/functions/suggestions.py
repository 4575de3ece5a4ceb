"""What to say of a name that is not there: which one was meant."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["suggest"]

MAX_NAMES = 8


def suggest(name: str, known: Collection[str]) -> str:
    """The end of a message: the names that are close, or else what there is."""
    # Imported here: what is looked for is there, as a rule.
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

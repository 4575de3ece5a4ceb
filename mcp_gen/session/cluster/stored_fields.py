"""Merges the changes that several nodes make to a session at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw

if TYPE_CHECKING:
    from mcp_gen.core.stores.sessions import StoredSession

__all__ = ["changed_fields"]


def changed_fields(
    base: StoredSession, mine: StoredSession, stored: StoredSession
) -> dict[str, Any]:
    """Return the fields to replace in the stored session.

    Of a field that two nodes have changed, the last writer's value counts; of the subscriptions and
    of `session.state` each entry by itself.

    Args:
        base: The session as this node has read it.
        mine: The session as it is at this node.
        stored: The session as it is stored now.
    """
    fields: dict[str, Any] = {}
    if mine.ready and not stored.ready:
        fields["ready"] = True
    if mine.log_level != base.log_level:
        fields["log_level"] = mine.log_level
    before, now = set(base.subscribed), set(mine.subscribed)
    if before != now:
        both = (set(stored.subscribed) | (now - before)) - (before - now)
        fields["subscribed"] = tuple(sorted(both))
    state = _merged(base.state, mine.state, stored.state)
    if state is not None:
        fields["state"] = state
    return fields


def _merged(
    base: dict[str, Raw], mine: dict[str, Raw], stored: dict[str, Raw]
) -> dict[str, Raw] | None:
    """Return the stored values with this node's changes; None if it has changed none."""
    changed = {k: v for k, v in mine.items() if k not in base or bytes(base[k]) != bytes(v)}
    gone = base.keys() - mine.keys()
    if not changed and not gone:
        return None
    return {k: v for k, v in {**stored, **changed}.items() if k not in gone}

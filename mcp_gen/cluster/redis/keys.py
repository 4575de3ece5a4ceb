"""Names of the keys in Redis: prefix, hash tags, and names that nobody can forge."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from typing import NamedTuple

from mcp_gen.core.errors import UsageError

__all__ = ["Keys", "OnceKeys", "SessionKeys", "TaskIndexKeys", "plain"]

_PREFIX = re.compile(r"[^{}]+")
_SAFE = re.compile(r"[A-Za-z0-9_.~-]{1,128}")


class SessionKeys(NamedTuple):
    """Keys of one session, all in one slot."""

    session: str
    """Hash: fields of the session, nodes by move number."""
    streams: str
    """Hash: state of each stream."""
    events: str
    """Hash: messages by number and stream. There is none before the first message."""
    order: str
    """List: numbers, sizes and streams of the messages, the oldest first."""


class OnceKeys(NamedTuple):
    """Keys of the values of `once` of one principal, all in one slot."""

    values: str
    """Hash: values by name."""
    ends: str
    """Sorted set: names by when their values expire."""


class TaskIndexKeys(NamedTuple):
    """Keys of the index of all tasks, all in one slot."""

    all: str
    """Sorted set: every task by its time of expiry."""
    pages: str
    """Sorted set: every task by owner, creation and id."""
    final: str
    """Sorted set: tasks that have ended, by owner, creation and id."""
    owners: str
    """Sorted set: number of tasks of each owner."""


class Keys:
    """Names of the keys of a cluster.

    Keys that one script uses share a hash tag, the part in braces. Parts that come from a client or
    from a program stand in a key as they are if they are short and plain; otherwise a digest does.
    So no text can name the key of something else.

    Args:
        prefix: Begins every key. Clusters with different prefixes share nothing.

    Raises:
        UsageError: The prefix is empty, or has a brace.
    """

    def __init__(self, prefix: str = "mcp") -> None:
        if not _PREFIX.fullmatch(prefix):
            raise UsageError(f"prefix={prefix!r}: expected a name without braces")
        self.prefix = prefix
        self.heard = f"{{{prefix}:heard}}"
        """Sorted set: ids of all sessions by when they were last heard of."""
        tag = f"{{{prefix}:tasks}}"
        self.tasks = TaskIndexKeys(*(f"{tag}:{name}" for name in TaskIndexKeys._fields))

    def session(self, id: str) -> SessionKeys:
        """Return the keys of a session."""
        tag = f"{{{self.prefix}:session:{plain(id)}}}"
        return SessionKeys(f"{tag}:session", f"{tag}:streams", f"{tag}:events", f"{tag}:order")

    def task(self, id: str) -> str:
        """Return the key of a task: a hash."""
        return f"{{{self.prefix}:task:{plain(id)}}}"

    def once(self, principal: str | None) -> OnceKeys:
        """Return the keys of the values of `once` of a principal."""
        tag = f"{{{self.prefix}:once:{digest(principal)}}}"
        return OnceKeys(f"{tag}:values", f"{tag}:ends")

    def state(self, owner: str) -> str:
        """Return the key of the state of a client: a hash."""
        return f"{{{self.prefix}:state:{digest(owner)}}}"


def digest(*texts: str | None) -> str:
    """Return a digest of texts: equal for equal ones alone."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:40]


def sortable(number: float) -> str:
    """Return a text for a number of 0 or more; texts sort like their numbers."""
    return struct.pack(">d", number).hex()


def plain(text: str) -> str:
    """Return a text as it is if it is short and plain; otherwise its digest."""
    # No plain text begins with `=`.
    return text if _SAFE.fullmatch(text) else f"={digest(text)}"

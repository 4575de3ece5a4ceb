"""What a server offers of one kind, by name, in the order in which it was added."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["Entry", "Numbered", "Registry", "next_number"]

T = TypeVar("T")

_numbers = count(1)


def next_number() -> int:
    """A number that is greater than those of all items so far, of whatever registry."""
    return next(_numbers)


class Numbered(Protocol):
    """What has a place in a list."""

    number: int
    name: str


class Entry(Struct, Generic[T], eq=False):
    """One item under its name. `number` grows over all registries of the process."""

    number: int
    name: str
    item: T
    forms: dict[str, Any] = {}
    """The item as its clients see it, by revision: made when first needed."""


class Registry(Generic[T]):
    """Items by name. `changed` is called after each addition and removal.

    Because numbers only grow, a page can begin behind an item that is gone by now. Any thread may
    add and remove.
    """

    def __init__(self, kind: str, changed: Callable[[], None]) -> None:
        self.kind = kind
        self._changed = changed
        self.entries: dict[str, Entry[T]] = {}
        """What there is, for looking things up; only the methods here change it."""
        self._in_order: list[Entry[T]] | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[T]:
        return (entry.item for entry in self._ordered())

    def add(self, name: str, item: T) -> None:
        """Add an item.

        Raises:
            UsageError: there is one of that name.
        """
        with self._lock:
            if name in self.entries:
                raise UsageError(
                    f"{self.kind} {name!r} is there already; give one of them another name, "
                    "or remove the first"
                )
            self.entries[name] = Entry(next(_numbers), name, item)
            self._in_order = None
        self._changed()

    def remove(self, name: str) -> T:
        """Take an item away; whoever is using it goes on.

        Raises:
            UsageError: there is none of that name.
        """
        with self._lock:
            if name not in self.entries:
                raise UsageError(f"there is no {self.kind} {name!r} to remove")
            entry = self.entries.pop(name)
            self._in_order = None
        self._changed()
        return entry.item

    def replace(self, old: str, name: str, item: T) -> None:
        """Put an item, under a name of its own, where another was; it is the last in the order.

        Raises:
            UsageError: there is none under the old name, or one under the new name.
        """
        with self._lock:
            if old not in self.entries:
                raise UsageError(f"there is no {self.kind} {old!r} to replace")
            if name != old and name in self.entries:
                raise UsageError(f"{self.kind} {name!r} is there already")
            del self.entries[old]
            self.entries[name] = Entry(next(_numbers), name, item)
            self._in_order = None
        self._changed()

    def get(self, name: str) -> T | None:
        """The item of that name."""
        found = self.entries.get(name)
        return found.item if found else None

    def entry(self, name: str) -> Entry[T] | None:
        """The item of that name, with what else is known of it."""
        return self.entries.get(name)

    def after(self, number: int) -> Sequence[Entry[T]]:
        """The entries whose number is greater, in order."""
        entries = self._ordered()
        if not number:
            return entries
        return entries[bisect_right(entries, number, key=_number_of) :]

    def _ordered(self) -> list[Entry[T]]:
        entries = self._in_order
        if entries is None:
            with self._lock:
                entries = self._in_order = list(self.entries.values())
        return entries


def _number_of(entry: Entry[Any]) -> int:
    return entry.number

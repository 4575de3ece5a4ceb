"""Ordered, thread-safe registry of named items."""

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
    """Return a number greater than those of all existing items, in any registry."""
    return next(_numbers)


class Numbered(Protocol):
    """Item with a position in a list."""

    number: int
    name: str


class Entry(Struct, Generic[T], eq=False):
    """One registered item. Numbers grow over all registries of the process."""

    number: int
    name: str
    item: T
    forms: dict[str, Any] = {}
    """The item in its wire types, by revision; built at first use."""


class Registry(Generic[T]):
    """Items by name, in insertion order; safe to change from any thread.

    Numbers only grow. A page can therefore begin after an item that is removed by now.

    Args:
        kind: Name of the kind of items, for error messages.
        changed: Called after each addition, removal and replacement.
    """

    def __init__(self, kind: str, changed: Callable[[], None]) -> None:
        self.kind = kind
        self._changed = changed
        self.entries: dict[str, Entry[T]] = {}
        """Entries by name, for lookups. Only the methods of this class may change it."""
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
            UsageError: The name is taken.
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
        """Remove and return an item. Calls in progress are not affected.

        Raises:
            UsageError: No item has that name.
        """
        with self._lock:
            if name not in self.entries:
                raise UsageError(f"there is no {self.kind} {name!r} to remove")
            entry = self.entries.pop(name)
            self._in_order = None
        self._changed()
        return entry.item

    def replace(self, old: str, name: str, item: T) -> None:
        """Replace an item by one that may have another name. The new item is last in the order.

        Args:
            old: Name of the item to replace.
            name: Name of the new item.
            item: The new item.

        Raises:
            UsageError: No item has the old name, or the new name is taken.
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
        """Return the item of that name, or None."""
        found = self.entries.get(name)
        return found.item if found else None

    def entry(self, name: str) -> Entry[T] | None:
        """Return the entry of that name, or None."""
        return self.entries.get(name)

    def after(self, number: int) -> Sequence[Entry[T]]:
        """Return the entries with greater numbers, in order."""
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

"""Ordered, thread-safe registry of named items."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.listing.tags import Visibility, tags_of

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

    Items that are disabled, by name or by tag, keep their place and their name. Clients do not see
    them: they are neither in `entries` nor in iterations.

    Args:
        kind: Name of the kind of items, for error messages.
        changed: Called after each addition, removal and replacement.
        visibility: Tags whose items clients see; None: all.
    """

    def __init__(
        self, kind: str, changed: Callable[[], None], visibility: Visibility | None = None
    ) -> None:
        self.kind = kind
        self._changed = changed
        self.entries: dict[str, Entry[T]] = {}
        """Entries by name, for lookups. Only the methods of this class may change it."""
        self._hidden: dict[str, Entry[T]] = {}
        """Entries of items that clients do not see, by name."""
        self._disabled: set[str] = set()
        """Names of items that are disabled one by one."""
        self.visibility = visibility
        if visibility is not None:
            visibility.watch(self)
        self.has_scopes = False
        """True if any item ever needed scopes."""
        self._in_order: list[Entry[T]] | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        """Return True if there is an item of that name, disabled or not."""
        return name in self.entries or name in self._hidden

    def __iter__(self) -> Iterator[T]:
        return (entry.item for entry in self._ordered())

    def add(self, name: str, item: T) -> None:
        """Add an item.

        Raises:
            UsageError: The name is taken.
        """
        with self._lock:
            if name in self:
                raise UsageError(
                    f"{self.kind} {name!r} is there already; give one of them another name, "
                    "or remove the first"
                )
            self._place(Entry(next(_numbers), name, item))
        self._changed()

    def remove(self, name: str) -> T:
        """Remove and return an item. Calls in progress are not affected.

        Raises:
            UsageError: No item has that name.
        """
        with self._lock:
            self._check_name(name, "remove")
            entry = self._take(name)
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
            if old not in self:
                raise UsageError(f"there is no {self.kind} {old!r} to replace")
            if name != old and name in self:
                raise UsageError(f"{self.kind} {name!r} is there already")
            self._take(old)
            self._place(Entry(next(_numbers), name, item))
        self._changed()

    def _take(self, name: str) -> Entry[T]:
        self._disabled.discard(name)
        self._in_order = None
        return self.entries.pop(name) if name in self.entries else self._hidden.pop(name)

    def _place(self, entry: Entry[T]) -> None:
        self._in_order = None
        if getattr(entry.item, "scopes", None):
            self.has_scopes = True
        (self.entries if self._is_shown(entry) else self._hidden)[entry.name] = entry

    def _is_shown(self, entry: Entry[T]) -> bool:
        if self._disabled and entry.name in self._disabled:
            return False
        return self.visibility is None or self.visibility.shows(tags_of(entry.item))

    # --- enabling and disabling ---

    def disable(self, name: str) -> None:
        """Hide an item from clients, until `enable`. Calls in progress are not affected.

        Raises:
            UsageError: No item has that name.
        """
        self._check_name(name, "disable")
        self._disabled.add(name)
        self.refresh()

    def enable(self, name: str) -> None:
        """Show an item that `disable` has hidden, unless its tags hide it.

        Raises:
            UsageError: No item has that name.
        """
        self._check_name(name, "enable")
        self._disabled.discard(name)
        self.refresh()

    def _check_name(self, name: str, what: str) -> None:
        if name not in self:
            known = ", ".join(repr(one) for one in sorted({*self.entries, *self._hidden})[:20])
            raise UsageError(
                f"there is no {self.kind} {name!r} to {what}; there are: {known or 'none'}"
            )

    def refresh(self) -> None:
        """Show and hide items anew, after names or tags were enabled or disabled."""
        with self._lock:
            every = [*self.entries.values(), *self._hidden.values()]
            moved = [one for one in every if self._is_shown(one) != (one.name in self.entries)]
            for entry in moved:
                (self.entries if entry.name in self.entries else self._hidden).pop(entry.name)
                self._place(entry)
        if moved:
            self._changed()

    def get(self, name: str) -> T | None:
        """Return the item of that name, disabled or not, or None."""
        found = self.entry(name)
        return found.item if found else None

    def entry(self, name: str) -> Entry[T] | None:
        """Return the entry of that name, disabled or not, or None."""
        return self.entries.get(name) or self._hidden.get(name)

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
                # Items that were enabled again stand at the end of the dict.
                entries = self._in_order = sorted(self.entries.values(), key=_number_of)
        return entries


def _number_of(entry: Entry[Any]) -> int:
    return entry.number

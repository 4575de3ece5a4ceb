"""What a server offers of one kind, by name, in the order in which it was added."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Generic, TypeVar

from mcp_gen.core.errors import UsageError

__all__ = ["Registry"]

T = TypeVar("T")

_numbers = count(1)


class Registry(Generic[T]):
    """Items by name. `changed` is called after each addition and removal.

    Every item gets a number that grows over all registries of the process, so that a page can begin
    behind an item that is gone by now.
    """

    def __init__(self, kind: str, changed: Callable[[], None]) -> None:
        self.kind = kind
        self._changed = changed
        self._items: dict[str, tuple[int, T]] = {}
        self._in_order: list[tuple[int, T]] | None = None

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[T]:
        return (item for _, item in self._items.values())

    def add(self, name: str, item: T) -> None:
        """Add an item.

        Raises:
            UsageError: there is one of that name.
        """
        if name in self._items:
            raise UsageError(
                f"{self.kind} {name!r} is there already; give one of them another name, "
                "or remove the first"
            )
        self._items[name] = (next(_numbers), item)
        self._in_order = None
        self._changed()

    def remove(self, name: str) -> T:
        """Take an item away; whoever is using it goes on.

        Raises:
            UsageError: there is none of that name.
        """
        if name not in self._items:
            raise UsageError(f"there is no {self.kind} {name!r} to remove")
        _, item = self._items.pop(name)
        self._in_order = None
        self._changed()
        return item

    def get(self, name: str) -> T | None:
        """The item of that name."""
        found = self._items.get(name)
        return found[1] if found else None

    def after(self, number: int) -> Sequence[tuple[int, T]]:
        """The items whose number is greater, with their numbers."""
        if self._in_order is None:
            self._in_order = list(self._items.values())
        if not number:
            return self._in_order
        return self._in_order[bisect_right(self._in_order, number, key=lambda one: one[0]) :]

"""Tags of tools, resources and prompts: which items clients see, and tags in `_meta`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol, cast
from weakref import WeakSet

from msgspec.structs import replace

from mcp_gen.core.errors import UsageError

__all__ = ["NO_TAGS", "TAGS_KEY", "Visibility", "check_tags", "tags_of", "with_tags"]

NO_TAGS: frozenset[str] = frozenset()
TAGS_KEY = "mcp-gen/tags"
"""Key of the tags in the `_meta` of a list entry, with `Server(tags_in_meta=True)`."""


class Refreshed(Protocol):
    """Registry whose items a change of tags may show or hide."""

    def refresh(self) -> None:
        """Show and hide items anew."""
        ...


def check_tags(tags: Any, what: str) -> frozenset[str]:
    """Return the given tags.

    Args:
        tags: Collection of texts; None for none.
        what: Beginning of the error message.

    Raises:
        UsageError: A text instead of a collection of texts, or a tag that is empty or no text.
    """
    if tags is None:
        return NO_TAGS
    if isinstance(tags, str) or not isinstance(tags, Collection):
        raise UsageError(
            f"{what}={tags!r}: expected several texts: write [{tags!r}]"
            if isinstance(tags, str)
            else f'{what}={tags!r}: expected texts, such as ["admin"]'
        )
    given: list[Any] = list(cast("Any", tags))
    for tag in given:
        if not isinstance(tag, str) or not tag:
            raise UsageError(f"{what}: {tag!r} is no tag: expected a text that is not empty")
    return frozenset(given)


def tags_of(item: object) -> frozenset[str]:
    """Return the tags of a registered item."""
    tags: frozenset[str] = getattr(item, "tags", NO_TAGS)
    return tags


def with_tags(describe: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that describes items as `describe` does, with their tags in `_meta`."""

    def described(item: Any) -> Any:
        made, tags = describe(item), tags_of(item)
        return replace(made, meta={**(made.meta or {}), TAGS_KEY: sorted(tags)}) if tags else made

    return described


class Visibility:
    """Tags whose items clients see.

    Args:
        include: Tags of which an item needs one; None if it needs none.
        exclude: Tags of which an item must have none.
    """

    def __init__(self, include: frozenset[str] | None, exclude: frozenset[str]) -> None:
        self._include = include
        self._exclude = exclude
        self._registries: WeakSet[Refreshed] = WeakSet()

    @classmethod
    def of(cls, include: Any, exclude: Any) -> Visibility:
        """Return the visibility for the options `include_tags` and `exclude_tags`.

        Raises:
            UsageError: One of them is no collection of tags.
        """
        included = None if include is None else check_tags(include, "include_tags")
        return cls(included, check_tags(exclude, "exclude_tags"))

    @property
    def shows_all(self) -> bool:
        """True if no tag matters."""
        return self._include is None and not self._exclude

    def watch(self, registry: Refreshed) -> None:
        """Refresh a registry after each change."""
        self._registries.add(registry)

    def shows(self, tags: frozenset[str]) -> bool:
        """Return True if clients see items with these tags."""
        if self._exclude and not self._exclude.isdisjoint(tags):
            return False
        return self._include is None or not self._include.isdisjoint(tags)

    def enable(self, tags: frozenset[str]) -> None:
        """Show items with one of these tags."""
        self._exclude -= tags
        if self._include is not None:
            self._include |= tags
        self._refresh()

    def disable(self, tags: frozenset[str]) -> None:
        """Hide items with one of these tags."""
        self._exclude |= tags
        self._refresh()

    def _refresh(self) -> None:
        for registry in list(self._registries):
            registry.refresh()

"""Lists of what a server offers: pages, filters, and bytes that are made once per revision."""

from __future__ import annotations

import copy
import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Raw

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.projection.project import project
from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.server.listing.cursors import cursor_to, place_of
from mcp_gen.server.listing.registry import Entry, Numbered, Registry
from mcp_gen.session.kernel.results import EncodedResult
from mcp_wire import Wire, encode

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.session.peer.session import Session

__all__ = ["Filter", "Listing", "as_encoded", "in_session", "listings"]

T = TypeVar("T")
B = TypeVar("B")
N = TypeVar("N", bound="Numbered")

Filter: TypeAlias = "Callable[[Context, Any], bool]"
"""`filter(ctx, item)`: whether the client of this request may see, and use, what is described."""


class Listing(Generic[T]):
    """One kind of thing that a server offers, as its clients get to see it.

    `result` and `field` are the list's type and the field in it; `describe` gives the newest wire
    type of an item, and `finish(item, described, revision)` adds what only that revision has a
    place for. Where neither filters nor sessions make a difference, a page is encoded once
    per revision.
    """

    def __init__(
        self,
        kind: str,
        *,
        result: str,
        field: str,
        describe: Callable[[T], Wire],
        changed: Callable[[], None],
        hints: Hints,
        finish: Callable[[T, Any, str], Any] | None = None,
    ) -> None:
        self.kind = kind
        self.items: Registry[T] = Registry(kind, self._on_change)
        self.filters: list[Filter] = []
        self._page_size: int | None = None
        self.hints = hints
        self._result = result
        self.field = field
        self._method = _snake(result.removesuffix("Result"))
        self.describe = describe
        """The newest wire type of an item."""
        self._own = object()
        """Under what a session keeps its own items of this list: another server has others."""
        self.finish = finish
        self._changed = changed
        self.pages: dict[tuple[str, int], EncodedResult] = {}
        """Pages as they are sent, by revision and by how many items are before them."""

    @property
    def page_size(self) -> int | None:
        """How many items a page has at most; None: there is one page.

        Raises:
            UsageError: set to less than 1.
        """
        return self._page_size

    @page_size.setter
    def page_size(self, size: int | None) -> None:
        if size is not None and size < 1:
            raise UsageError(f"page_size={size}: a page has at least 1 item")
        self._page_size = size
        self.forget()

    def _on_change(self) -> None:
        self.forget()
        self._changed()

    def forget(self) -> None:
        """The pages are no longer true."""
        # Not cleared: a page that another thread outdates while it is made goes to the old ones.
        self.pages = {}

    # --- one item ---

    def find(self, ctx: Context, name: str) -> T | None:
        """The item of that name, if the client of this request may use it.

        What a session has of its own stands before what the server has under the same name.
        """
        session = origin_of(ctx).session
        entry: Entry[T] | None = None
        if session is not None and "local" in session.__dict__:
            local = self._local(session)
            entry = local.entry(name) if local else None
        if entry is None:
            entry = self.items.entries.get(name)
            if entry is None:
                return None
        if not self.filters or self._passes(ctx, entry.item):
            return entry.item
        return None

    def visible(self, ctx: Context) -> Sequence[T]:
        """Every item that the client of this request may use, in order."""
        return [entry.item for entry in self._shown(ctx, self.items.after(0), 0)]

    def _passes(self, ctx: Context, item: T) -> bool:
        described = self.describe(item)
        return all(one(ctx, described) for one in self.filters)

    # --- the items of one session ---

    def _local(self, session: Session | None) -> Registry[T] | None:
        if session is None or "local" not in session.__dict__:
            return None
        found: Registry[T] | None = session.local.get(self._own)
        return found

    def in_session(self, session: Session, changed: Callable[[], None]) -> Listing[T]:
        """The same list, whose items are those of one session alone."""
        mine = copy.copy(self)
        mine.items = session.local.setdefault(self._own, Registry(self.kind, changed))
        return mine

    # --- lists ---

    def page(self, ctx: Context, cursor: str | None, *, as_bytes: bool) -> Any:
        """The page behind a cursor: a result of the request's revision, or that encoded.

        Raises:
            InvalidParams: a cursor that was not made here.
        """
        pages = self.pages
        every = entries = self.items.after(0)
        behind = 0
        if cursor is not None:
            behind = place_of(cursor, self.field, self.items)
            entries = self.items.after(behind)
        # Pages that begin anywhere else are rare, and there could be one for each item.
        first = len(every) - len(entries)
        regular = first % (self._page_size or len(every) or 1) == 0
        if not (as_bytes and regular) or self.filters or self._local(origin_of(ctx).session):
            return self._page(ctx, entries, behind)
        key = (ctx.revision, first)
        found = pages.get(key)
        if found is None:
            found = pages[key] = as_encoded(ctx, self._page(ctx, entries, behind))
        return found

    def _page(self, ctx: Context, entries: Iterable[Entry[T]], behind: int) -> Any:
        shown = self._shown(ctx, entries, behind)
        return self.result(ctx, shown, self.at, private=bool(self.filters))

    def result(
        self,
        ctx: Context,
        shown: Iterable[N],
        at: Callable[[str, N], Any],
        *,
        private: bool,
    ) -> Any:
        """A page of what is shown, from its first on; `at` gives the wire type of a revision.

        `private` says that others may see other items.
        """
        size = self._page_size
        # One more than fits tells whether there is a next page.
        page = list(shown if size is None else islice(shown, size + 1))
        fields: dict[str, Any] = {self.field: [at(ctx.revision, entry) for entry in page[:size]]}
        if size is not None and len(page) > size:
            last = page[size - 1]
            fields["next_cursor"] = cursor_to(self.field, last.number, last.name)
        if ctx.profile.cache_hints:
            fields |= self.hints.of(self._method).fields()
            if private:
                fields["cache_scope"] = "private"
        return getattr(mcp_wire.types(ctx.revision), self._result)(**fields)

    def shown(self, ctx: Context) -> Iterator[Entry[T]]:
        """Every item that the client of this request may use, in order, with its number."""
        return self._shown(ctx, self.items.after(0), 0)

    def differs(self, ctx: Context) -> bool:
        """Whether the client of this request may see something else than others."""
        return bool(self.filters or self._local(origin_of(ctx).session))

    def _shown(self, ctx: Context, entries: Iterable[Entry[T]], behind: int) -> Iterator[Entry[T]]:
        """Of the entries behind a number, and the session's own, those that the client may use."""
        local = self._local(origin_of(ctx).session)
        if local:
            own = local.after(behind)
            others = (entry for entry in entries if entry.name not in local)
            entries = heapq.merge(others, own, key=lambda entry: entry.number)
        if not self.filters:
            return iter(entries)
        return (entry for entry in entries if self._passes(ctx, entry.item))

    def at(self, revision: str, entry: Entry[T]) -> Any:
        made = entry.forms.get(revision)
        if made is None:
            made = project(self.describe(entry.item), revision).value
            if self.finish is not None:
                made = self.finish(entry.item, made, revision)
            entry.forms[revision] = made
        return made


def as_encoded(ctx: Context, page: Any) -> EncodedResult:
    """A page as it is sent, to be kept for others."""
    binding = runtime_of(ctx).kernel.binding(ctx.revision)
    return EncodedResult(Raw(encode(binding.whole(page) if binding.identity else page)))


def listings(box: object) -> Iterator[tuple[str, Listing[Any]]]:
    """The listings of a feature, with the names of the attributes that hold them."""
    for name, value in vars(box).items():
        if isinstance(value, Listing):
            yield name, value


def in_session(box: B, session: Session, changed: Callable[[], None]) -> B:
    """The same feature, to which is added, and from which is taken, for one session alone."""
    mine = copy.copy(box)
    for name, listing in listings(box):
        setattr(mine, name, listing.in_session(session, changed))
    return mine


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()

"""Paginated and filtered lists of a server, encoded once per revision."""

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
from mcp_gen.core.projection.project import restate
from mcp_gen.core.text_encoding import LARGE_BYTES, expect_large_blocks
from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.server.listing.cursors import cursor_after, position_of
from mcp_gen.server.listing.registry import Entry, Numbered, Registry
from mcp_gen.server.listing.scopes import hides_unauthorized, missing_scopes, scopes_of
from mcp_gen.session.kernel.results import EncodedResult
from mcp_wire import Wire, encode

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.server.listing.tags import Visibility
    from mcp_gen.session.peer.session import Session

__all__ = ["Filter", "Listing", "encode_page", "in_session", "listings"]

T = TypeVar("T")
B = TypeVar("B")
N = TypeVar("N", bound="Numbered")

Filter: TypeAlias = "Callable[[Context, Any], bool]"
"""`filter(ctx, item)` returns True if the client of the request may see and use the item."""


class Listing(Generic[T]):
    """Paginated list of one kind of item, such as the tools of a server.

    A page is encoded once per revision, unless filters or items of a session are involved.

    Args:
        kind: Name of the kind, for messages.
        result: Name of the list's result type.
        field: Name of the items' field in the result.
        describe: Returns the newest wire type of an item.
        changed: Called after each change of the items.
        hints: Cache hints of the server.
        finish: `finish(item, described, revision)` adds fields that only that revision has.
        visibility: Tags whose items clients see; None: all.
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
        visibility: Visibility | None = None,
    ) -> None:
        self.kind = kind
        self.items: Registry[T] = Registry(kind, self._on_change, visibility)
        self.filters: list[Filter] = []
        self._page_size: int | None = None
        self.hints = hints
        self._result = result
        self.field = field
        self._method = _snake(result.removesuffix("Result"))
        self.describe = describe
        """Returns the newest wire type of an item."""
        self._session_key = object()
        """Key of this list's items in a session: another server has another key."""
        self.has_session_items = False
        """True once any session has items of its own."""
        self.finish = finish
        self._changed = changed
        self.pages: dict[tuple[str, int], EncodedResult] = {}
        """Encoded pages by revision and number of preceding items."""

    @property
    def page_size(self) -> int | None:
        """Maximum number of items per page; None: all items are on one page.

        Raises:
            UsageError: Set to less than 1.
        """
        return self._page_size

    @page_size.setter
    def page_size(self, size: int | None) -> None:
        if size is not None and size < 1:
            raise UsageError(
                f"page_size={size}: a page has at least 1 item; None sends each list as one page"
            )
        self._page_size = size
        self.invalidate()

    def _on_change(self) -> None:
        self.invalidate()
        self._changed()

    def invalidate(self) -> None:
        """Discard the encoded pages."""
        # Replaced, not cleared: a page that another thread is building goes to the old dict.
        self.pages = {}

    # --- one item ---

    def find(self, ctx: Context, name: str) -> T | None:
        """Return the item of that name, or None if the client of the request may not use it.

        An item of the session takes precedence over the server's item of the same name.
        """
        session = origin_of(ctx).session
        entry: Entry[T] | None = None
        if session is not None and "local" in session.__dict__:
            session_items = self._session_items(session)
            entry = session_items.entry(name) if session_items else None
        if entry is None:
            entry = self.items.entries.get(name)
            if entry is None:
                return None
        if not self.filters or self._is_allowed(ctx, entry.item):
            return entry.item
        return None

    def visible(self, ctx: Context) -> Sequence[T]:
        """Return all items that the client of the request may use, in order.

        Items whose scopes its token lacks are among them: it can get a token that has them.
        """
        return [entry.item for entry in self._visible_entries(ctx, self.items.after(0), 0)]

    def _hides(self, ctx: Context) -> bool:
        """Return True if the list leaves out items whose scopes the token may lack."""
        session_items = self._session_items(origin_of(ctx).session)
        has_scopes = self.items.has_scopes or (session_items and session_items.has_scopes)
        return bool(has_scopes) and hides_unauthorized(ctx)

    def is_listed(self, ctx: Context, item: T) -> bool:
        """Return True if an item is not left out of lists for lack of scopes."""
        scopes = scopes_of(item)
        return not scopes or not hides_unauthorized(ctx) or not missing_scopes(ctx, scopes)

    def _is_allowed(self, ctx: Context, item: T) -> bool:
        described = self.describe(item)
        return all(one(ctx, described) for one in self.filters)

    # --- the items of one session ---

    def _session_items(self, session: Session | None) -> Registry[T] | None:
        if session is None or "local" not in session.__dict__:
            return None
        found: Registry[T] | None = session.local.get(self._session_key)
        return found

    def in_session(self, session: Session, changed: Callable[[], None]) -> Listing[T]:
        """Return a copy of this list whose items belong to one session.

        Args:
            session: The session that holds the items.
            changed: Called after each change of these items.
        """
        self.has_session_items = True
        copied = copy.copy(self)
        own = Registry[T](self.kind, changed, self.items.visibility)
        copied.items = session.local.setdefault(self._session_key, own)
        return copied

    # --- lists ---

    def page(self, ctx: Context, cursor: str | None, *, as_bytes: bool) -> Any:
        """Return the page at a cursor.

        Args:
            ctx: Context of the request.
            cursor: Pagination cursor; None for the first page.
            as_bytes: Return a cached encoded page where possible.

        Returns:
            An `EncodedResult`, or a result of the request's revision.

        Raises:
            InvalidParams: The cursor was not made for this list.
        """
        pages = self.pages
        every = entries = self.items.after(0)
        after = 0
        if cursor is not None:
            after = position_of(cursor, self.field, self.items)
            entries = self.items.after(after)
        # Other starts are rare, and caching them could need one page per item.
        first = len(every) - len(entries)
        is_cacheable = first % (self._page_size or len(every) or 1) == 0
        if (
            not (as_bytes and is_cacheable)
            or self.filters
            or self._session_items(origin_of(ctx).session)
            or (self.items.has_scopes and hides_unauthorized(ctx))
        ):
            return self._page(ctx, entries, after)
        key = (ctx.revision, first)
        found = pages.get(key)
        if found is None:
            found = pages[key] = encode_page(ctx, self._page(ctx, entries, after))
        return found

    def _page(self, ctx: Context, entries: Iterable[Entry[T]], after: int) -> Any:
        hides = self._hides(ctx)
        shown = self._listed_entries(ctx, entries, after, hides=hides)
        return self.result(ctx, shown, self.at, private=hides or bool(self.filters))

    def _listed_entries(
        self, ctx: Context, entries: Iterable[Entry[T]], after: int, *, hides: bool
    ) -> Iterator[Entry[T]]:
        shown = self._visible_entries(ctx, entries, after)
        if not hides:
            return shown
        return (entry for entry in shown if self.is_listed(ctx, entry.item))

    def result(
        self,
        ctx: Context,
        shown: Iterable[N],
        at: Callable[[str, N], Any],
        *,
        private: bool,
    ) -> Any:
        """Return a result with the first page of the given entries.

        Args:
            ctx: Context of the request.
            shown: Entries from the first of the page on.
            at: `at(revision, entry)` returns the wire type of an entry.
            private: Other clients may see other items: the cache scope is `private`.
        """
        size = self._page_size
        # Fetch one more than fits to detect a next page.
        page = list(shown if size is None else islice(shown, size + 1))
        fields: dict[str, Any] = {self.field: [at(ctx.revision, entry) for entry in page[:size]]}
        if size is not None and len(page) > size:
            last = page[size - 1]
            fields["next_cursor"] = cursor_after(self.field, last.number, last.name)
        if ctx.profile.cache_hints:
            fields |= self.hints.for_method(self._method).fields()
            if private:
                fields["cache_scope"] = "private"
        return getattr(mcp_wire.types(ctx.revision), self._result)(**fields)

    def shown(self, ctx: Context) -> Iterator[Entry[T]]:
        """Yield the entries of all items that the client of the request sees, in order."""
        return self._listed_entries(ctx, self.items.after(0), 0, hides=self._hides(ctx))

    def differs(self, ctx: Context) -> bool:
        """Return True if the client of the request may see other items than other clients."""
        differs = self.filters or self._session_items(origin_of(ctx).session)
        return bool(differs) or self._hides(ctx)

    def _visible_entries(
        self, ctx: Context, entries: Iterable[Entry[T]], after: int
    ) -> Iterator[Entry[T]]:
        """Return the allowed entries after a number, including those of the session."""
        session_items = self._session_items(origin_of(ctx).session)
        if session_items:
            own = session_items.after(after)
            others = (entry for entry in entries if entry.name not in session_items)
            entries = heapq.merge(others, own, key=lambda entry: entry.number)
        if not self.filters:
            return iter(entries)
        return (entry for entry in entries if self._is_allowed(ctx, entry.item))

    def at(self, revision: str, entry: Entry[T]) -> Any:
        """Return an item in the wire type of a revision, cached in its entry."""
        made = entry.forms.get(revision)
        if made is None:
            made = restate(self.describe(entry.item), revision).value
            if self.finish is not None:
                made = self.finish(entry.item, made, revision)
            entry.forms[revision] = made
        return made


def encode_page(ctx: Context, page: Any) -> EncodedResult:
    """Encode a page for the revision of the request."""
    binding = runtime_of(ctx).kernel.bindings[ctx.revision]
    json = encode(binding.with_identity(page) if binding.identity else page)
    if len(json) >= LARGE_BYTES:
        expect_large_blocks()
    return EncodedResult(Raw(json))


def listings(registry: object) -> Iterator[tuple[str, Listing[Any]]]:
    """Yield the listings of a registry, with the names of their attributes."""
    for name, value in vars(registry).items():
        if isinstance(value, Listing):
            yield name, value


def in_session(registry: B, session: Session, changed: Callable[[], None]) -> B:
    """Return a copy of a registry whose items belong to one session.

    Args:
        registry: Registry with listings as attributes.
        session: The session that holds the items.
        changed: Called after each change of these items.
    """
    copied = copy.copy(registry)
    for name, listing in listings(registry):
        setattr(copied, name, listing.in_session(session, changed))
    return copied


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()

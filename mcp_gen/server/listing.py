"""Lists of what a server offers: pages, filters, and bytes that are made once per revision."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Raw

import mcp_wire
from mcp_gen.core.errors import InvalidParams
from mcp_gen.core.project import project
from mcp_gen.server.registry import Registry
from mcp_wire import Wire, encode

if TYPE_CHECKING:
    from mcp_gen.server.context import Context
    from mcp_gen.server.hints import CacheHints

__all__ = ["Filter", "Listing"]

T = TypeVar("T")

Filter: TypeAlias = "Callable[[Context, Any], bool]"
"""`filter(ctx, item)`: whether the client of this request may see, and use, what is described."""


class Listing(Generic[T]):
    """One kind of thing that a server offers, as its clients get to see it.

    `result` and `field` are the list's type and the field in it; `describe` gives the newest wire
    type of an item. Where neither filters nor sessions make a difference, a page is encoded once
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
        hints: CacheHints,
    ) -> None:
        self.kind = kind
        self.items: Registry[T] = Registry(kind, self._on_change)
        self.filters: list[Filter] = []
        self.page_size: int | None = None
        self.hints = hints
        self._result = result
        self._field = field
        self._describe = describe
        self._changed = changed
        self._described: dict[tuple[str, int], Any] = {}
        self._pages: dict[tuple[str, int], Raw] = {}

    def _on_change(self) -> None:
        self.forget()
        self._changed()

    def forget(self) -> None:
        """What was made from the items is no longer true."""
        self._pages.clear()
        self._described.clear()

    # --- one item ---

    def find(self, ctx: Context, name: str) -> T | None:
        """The item of that name, if the client of this request may use it."""
        item = self.items.get(name)
        session = ctx.caller.session
        if session is not None and item is None and "local" in session.__dict__:
            local = self._local(ctx)
            item = local.get(name) if local is not None else None
        if item is None or not self.filters:
            return item
        return item if self._passes(ctx, item) else None

    def visible(self, ctx: Context) -> Sequence[T]:
        """Every item that the client of this request may use, in order."""
        return [item for _, item in self._after(ctx, 0)]

    def _passes(self, ctx: Context, item: T) -> bool:
        described = self._describe(item)
        return all(one(ctx, described) for one in self.filters)

    # --- the items of one session ---

    def _local(self, ctx: Context) -> Registry[T] | None:
        session = ctx.caller.session
        found: Registry[T] | None = session.local.get(self.kind) if session is not None else None
        return found

    # --- lists ---

    def page(self, ctx: Context, cursor: str | None, *, as_bytes: bool) -> Any:
        """The page behind a cursor: a result of the request's revision, or that encoded.

        Raises:
            InvalidParams: a cursor that was not made here.
        """
        start = self._number(cursor)
        session = ctx.caller.session
        shared = not self.filters and not (session is not None and "local" in session.__dict__)
        if not (shared and as_bytes):
            return self._page(ctx, start)
        key = (ctx.revision, start)
        found = self._pages.get(key)
        if found is None:
            found = self._pages[key] = Raw(encode(self._page(ctx, start)))
        return found

    def _page(self, ctx: Context, start: int) -> Any:
        items = self._after(ctx, start)
        size = self.page_size
        more = size is not None and len(items) > size
        shown = items[:size] if more else items
        fields: dict[str, Any] = {
            self._field: [self._at(ctx.revision, number, item) for number, item in shown]
        }
        if more:
            fields["next_cursor"] = self._cursor(shown[-1][0])
        if ctx.profile.cache_hints:
            fields |= self.hints.fields()
        return getattr(mcp_wire.types(ctx.revision), self._result)(**fields)

    def _after(self, ctx: Context, start: int) -> Sequence[tuple[int, T]]:
        found = self.items.after(start)
        local = self._local(ctx)
        if local:
            found = sorted([*found, *local.after(start)], key=lambda one: one[0])
        if self.filters:
            found = [one for one in found if self._passes(ctx, one[1])]
        return found

    def _at(self, revision: str, number: int, item: T) -> Any:
        key = (revision, number)
        made = self._described.get(key)
        if made is None:
            made = self._described[key] = project(self._describe(item), revision).value
        return made

    # --- cursors: the number of the last item before, so that a removal moves nothing ---

    def _cursor(self, number: int) -> str:
        return base64.urlsafe_b64encode(f"{self._field}:{number}".encode()).decode()

    def _number(self, cursor: str | None) -> int:
        if cursor is None:
            return 0
        try:
            text = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
            field, _, number = text.partition(":")
            if field == self._field and int(number) > 0:
                return int(number)
        except (binascii.Error, ValueError):
            pass
        raise InvalidParams(f"{self.kind}: a cursor that this server has not made - at `$.cursor`")

"""The resources of a server: how a URI finds one, how it is read, what the list shows.

A URI is looked for among the resources first, exactly as it was sent. Then the templates are tried
in the order in which they were added: the first that it matches, with values that its function
takes, is the one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import asdict, astuple, replace

from mcp_gen.core.errors import InvalidParams, McpError, ResourceNotFound, UsageError
from mcp_gen.core.projection.project import project
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.listing.cursors import decode, encode
from mcp_gen.server.listing.listing import Listing
from mcp_gen.server.resources.contents import read_result
from mcp_gen.server.resources.resource import FixedResource, TemplatedResource
from mcp_gen.server.resources.uris import is_uri
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.functions.text_types import Choices
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.server.resources.resource import ResourceSource
    from mcp_wire import common

__all__ = ["ResourceRegistry", "not_found"]


class _Found(NamedTuple):
    """A resource, and the arguments of its function."""

    item: FixedResource | TemplatedResource
    values: Any


class _Place(msgspec.Struct, array_like=True, tag="source", forbid_unknown_fields=True):
    """Behind which resource of which source a page begins; without names, before the first."""

    template: str = ""
    key: str = ""


class ResourceRegistry:
    """The resources of a server."""

    def __init__(self, changed: Callable[[], None], hints: Hints) -> None:
        self.listing: Listing[FixedResource] = Listing(
            "resource",
            result="ListResourcesResult",
            field="resources",
            describe=lambda item: item.described,
            changed=changed,
            hints=hints,
        )
        self.templates: Listing[TemplatedResource] = Listing(
            "resource template",
            result="ListResourceTemplatesResult",
            field="resource_templates",
            describe=lambda item: item.described,
            changed=changed,
            hints=hints,
        )
        self._hints = hints
        self.completable: Callable[[Choices], None] | None = None
        """Called with the values that each variable of a new template can have."""
        self._sourced: set[str] = set()
        """Every template that has ever had a source: without one, lists are made ahead."""

    def add(self, item: FixedResource) -> None:
        """Add a resource.

        Raises:
            UsageError: there is one under that URI.
        """
        self.listing.items.add(item.uri, item)

    def add_template(self, item: TemplatedResource) -> None:
        """Add a template.

        Raises:
            UsageError: it is there already.
        """
        if item.source is not None:
            self._sourced.add(item.uri_template)
        self.templates.items.add(item.uri_template, item)
        if self.completable is not None:
            self.completable(item.choices)

    @property
    def has_sources(self) -> bool:
        """Whether there are resources that come and go by themselves, or have been."""
        return bool(self._sourced)

    # --- finding and reading ---

    def find(self, ctx: Context, uri: str) -> _Found | None:
        """What the client of this request may read under a URI."""
        fixed = self.listing.find(ctx, uri)
        if fixed is not None:
            return _Found(fixed, None)
        if uri in self.listing.items:
            return None  # it is filtered out, whatever a template would make of it
        if not is_uri(uri):
            return None  # what is read is given back under its URI
        session = origin_of(ctx).session
        shared = session is None or "local" not in session.__dict__
        every = shared and not self.templates.filters
        return _matched(self.templates.items if every else self.templates.visible(ctx), uri)

    async def knows(self, ctx: Context, uri: str) -> bool:
        """Whether there is something that the client of this request may read under a URI."""
        found = self.find(ctx, uri)
        return found is not None and await self._passes(ctx, found, exists=False)

    async def read(
        self, ctx: Context, uri: str, revision: str
    ) -> common.ReadResourceResult | common.InputRequiredResult:
        """Read what a URI names, as a result of a revision.

        Raises:
            McpError: there is no such resource; or raised by its function.
        """
        try:
            found = self.find(ctx, uri)
            if found is None or not await self._passes(ctx, found, exists=True):
                raise ResourceNotFound
            item = found.item
            value = ctx.allow(await item.read(ctx, found.values))
            hints = {**self._hints_of_reads(), **item.hints}
            made: common.ReadResourceResult | common.InputRequiredResult = read_result(
                value, revision, uri=uri, mime_type=item.mime_type, hints=hints
            )
            return made
        except ResourceNotFound as error:
            raise not_found(ctx, error.uri or uri) from None

    def _hints_of_reads(self) -> dict[str, Any]:
        """For how long, and for whom, what says nothing of it itself is fresh."""
        fields = self._hints.of("read_resource").fields()
        if self.listing.filters or self.templates.filters:
            fields["cache_scope"] = "private"  # others may not be allowed to read it
        return fields

    async def _passes(self, ctx: Context, found: _Found, *, exists: bool) -> bool:
        """Whether what is found has nothing against it: filters, or that its source lacks it.

        `exists` says that reading will tell whether it is there.
        """
        item, filters = found.item, self.listing.filters
        source = item.source if isinstance(item, TemplatedResource) else None
        if source is None or (exists and not filters):
            return True
        (path,) = astuple(found.values)
        described = await source.find(ctx, path)
        return described is not None and all(one(ctx, described) for one in filters)

    def link(self, uri: str) -> latest.ResourceLink:
        """A link to what there is under a URI.

        Raises:
            UsageError: there is nothing.
        """
        fixed = self.listing.items.get(uri)
        if fixed is not None:
            return latest.ResourceLink(**asdict(fixed.described))
        found = _matched(self.templates.items, uri)
        if found is None:
            raise UsageError(f"there is no resource {uri!r} to link to: add it, or a template")
        fields = asdict(found.item.described)
        del fields["uri_template"]
        return latest.ResourceLink(uri=uri, **fields)

    # --- lists: what was added, then what the sources have ---

    async def page(self, ctx: Context, cursor: str | None, *, as_bytes: bool) -> Any:
        """A page of the resources; see `Listing.page`."""
        sources = self._sources(ctx) if self._sourced else []
        if not sources:
            return self.listing.page(ctx, cursor, as_bytes=as_bytes)
        place = decode(cursor, _Place) if cursor else None
        page = self.listing.page(ctx, None if place else cursor, as_bytes=False)
        if place is None and page.next_cursor is not None:
            return page
        shown: list[Any] = [] if place else list(page.resources)
        behind = await self._fill(ctx, sources, place or _Place(), shown)
        return replace(page, resources=shown, next_cursor=behind and encode(behind))

    async def _fill(
        self, ctx: Context, sources: Sequence[ResourceSource], begin: _Place, shown: list[Any]
    ) -> _Place | None:
        """Add what the sources have behind a place; returns where the next page begins, if any."""
        names = [source.uri_template for source in sources]
        if begin.template and begin.template not in names:
            raise InvalidParams("resource: what this cursor was made for is gone - at `$.cursor`")
        first = names.index(begin.template) if begin.template else 0
        last, after, size = begin, begin.key, self.listing.page_size
        for source in sources[first:]:
            room = None if size is None else size - len(shown)
            # One more than there is room for tells whether there is another page.
            more = await source.page(ctx, after, None if room is None else room + 1)
            for one in more[:room]:
                last = _Place(source.uri_template, one.key)
                if all(each(ctx, one.resource) for each in self.listing.filters):
                    shown.append(project(one.resource, ctx.revision).value)
            if room is not None and len(more) > room:
                return last
            after = ""
        return None

    def _sources(self, ctx: Context) -> list[ResourceSource]:
        return [one.source for one in self.templates.visible(ctx) if one.source is not None]


def not_found(ctx: Context, uri: str) -> McpError:
    """The error where nothing can be read under a URI, as the request's revision has it.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling
    """
    if not is_uri(uri):
        code = ctx.profile.errors.invalid_params
        return McpError(code, f"expected a URI, got {uri[:100]!r} - at `$.uri`", {"uri": uri})
    code = ctx.profile.resource_not_found_code
    return McpError(code, f"resource not found: {uri[:100]}", {"uri": uri})


def _matched(templates: Iterable[TemplatedResource], uri: str) -> _Found | None:
    for template in templates:
        # Most are told apart by how they begin.
        if uri.startswith(template.prefix) and (values := template.match(uri)) is not None:
            return _Found(template, values)
    return None

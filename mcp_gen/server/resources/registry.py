"""Registry of a server's resources and templates: finds, reads and lists them.

A URI is looked up among the resources first, unchanged. Then the templates are tried in insertion
order; the first one whose pattern and parameter types match the URI is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, astuple, replace

from mcp_gen.core.errors import InvalidParams, McpError, ResourceNotFound, UsageError
from mcp_gen.core.projection.project import restate
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.listing.cursors import decode, encode
from mcp_gen.server.listing.listing import Listing
from mcp_gen.server.listing.scopes import NO_SCOPES, require_scopes
from mcp_gen.server.resources.contents import read_result
from mcp_gen.server.resources.resource import FixedResource, TemplatedResource
from mcp_gen.server.resources.uris import escaped, is_uri
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.functions.text_types import Choices
    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.server.listing.tags import Visibility
    from mcp_gen.server.resources.resource import ResourceSource
    from mcp_wire import common

__all__ = ["ResourceRegistry", "not_found"]


class _Match(Struct, frozen=True):
    """Resource or template that matches a URI, with the arguments of its function."""

    item: FixedResource | TemplatedResource
    values: Any


class _SourcePosition(msgspec.Struct, array_like=True, tag="source", forbid_unknown_fields=True):
    """Position after a resource of a source; without names, before the first one."""

    template: str = ""
    key: str = ""


class ResourceRegistry:
    """Registry of a server's resources and templates.

    Args:
        changed: Called after each change of a list.
        hints: Cache hints of the server.
        visibility: Tags whose items clients see; None: all.
    """

    def __init__(
        self, changed: Callable[[], None], hints: Hints, visibility: Visibility | None = None
    ) -> None:
        self.listing: Listing[FixedResource] = Listing(
            "resource",
            result="ListResourcesResult",
            field="resources",
            describe=lambda item: item.described,
            changed=changed,
            hints=hints,
            visibility=visibility,
        )
        self.templates: Listing[TemplatedResource] = Listing(
            "resource template",
            result="ListResourceTemplatesResult",
            field="resource_templates",
            describe=lambda item: item.described,
            changed=changed,
            hints=hints,
            visibility=visibility,
        )
        self._hints = hints
        self.completable: Callable[[Choices], None] | None = None
        """Called with the possible values of the variables of each new template."""
        self._source_templates: set[str] = set()
        """Templates that ever had a source. While it is empty, encoded pages can be cached."""

    def add(self, item: FixedResource) -> None:
        """Add a resource.

        Raises:
            UsageError: The URI is taken.
        """
        self.listing.items.add(item.uri, item)

    def add_template(self, item: TemplatedResource) -> None:
        """Add a template.

        Raises:
            UsageError: The template is registered already.
        """
        if item.source is not None:
            self._source_templates.add(item.uri_template)
        self.templates.items.add(item.uri_template, item)
        if self.completable is not None:
            self.completable(item.choices)

    @property
    def has_sources(self) -> bool:
        """True if the registry has, or had, resource sources."""
        return bool(self._source_templates)

    # --- finding and reading ---

    def find(self, ctx: Context, uri: str) -> _Match | None:
        """Return the resource or template that the client may read under a URI, or None."""
        fixed = self.listing.find(ctx, uri)
        if fixed is not None:
            return _Match(fixed, None)
        if uri in self.listing.items:
            return None  # filtered out: a matching template must not expose it
        if not is_uri(uri):
            return None  # results repeat the URI, which must be valid
        session = origin_of(ctx).session
        shared = session is None or "local" not in session.__dict__
        all_templates = shared and not self.templates.filters
        return _match_templates(
            self.templates.items if all_templates else self.templates.visible(ctx), uri
        )

    async def knows(self, ctx: Context, uri: str) -> bool:
        """Return True if a resource exists that the client of the request may read under a URI.

        Raises:
            InsufficientScope: The token of the request lacks scopes of the resource.
        """
        found = self.find(ctx, uri)
        if found is None:
            return False
        if found.item.scopes:
            require_scopes(ctx, found.item.scopes)
        return await self._is_readable(ctx, found, exists=False)

    @property
    def has_scopes(self) -> bool:
        """True if any resource or template ever needed scopes."""
        return self.listing.items.has_scopes or self.templates.items.has_scopes

    def scopes_of_uri(self, ctx: Context, uri: str) -> frozenset[str]:
        """Return the scopes that reading a URI needs."""
        found = self.find(ctx, uri)
        return NO_SCOPES if found is None else found.item.scopes

    async def read(
        self, ctx: Context, uri: str, revision: str, *, as_bytes: bool
    ) -> common.ReadResourceResult | common.InputRequiredResult:
        """Read the resource at a URI.

        Args:
            ctx: Context of the request.
            uri: The URI.
            revision: Protocol revision of the result.
            as_bytes: Return blobs as bytes, which the encoder of the response takes as well.

        Raises:
            InsufficientScope: The token of the request lacks scopes of the resource.
            McpError: The resource does not exist, or raised by its function.
        """
        try:
            found = self.find(ctx, uri)
            if found is not None and found.item.scopes:
                require_scopes(ctx, found.item.scopes)
            if found is None or not await self._is_readable(ctx, found, exists=True):
                raise ResourceNotFound
            item = found.item
            value = ctx.allow(await item.read(ctx, found.values))
            hints = {**self._hints_of_reads(), **item.hints}
            if item.scopes:
                hints["cache_scope"] = "private"
            made: common.ReadResourceResult | common.InputRequiredResult = read_result(
                value,
                revision,
                uri=uri if uri.isascii() else escaped(uri),
                mime_type=item.mime_type,
                hints=hints,
                as_bytes=as_bytes,
            )
            return made
        except ResourceNotFound as error:
            raise not_found(ctx, error.uri or uri) from None

    def _hints_of_reads(self) -> dict[str, Any]:
        """Return the default cache hints of `resources/read`."""
        fields = self._hints.for_method("read_resource").fields()
        if self.listing.filters or self.templates.filters:
            fields["cache_scope"] = "private"  # other clients may not be allowed to read it
        return fields

    async def _is_readable(self, ctx: Context, found: _Match, *, exists: bool) -> bool:
        """Return True if filters allow the resource and its source has it.

        With `exists`, reading will detect a resource that its source lacks.
        """
        item, filters = found.item, self.listing.filters
        source = item.source if isinstance(item, TemplatedResource) else None
        if source is None or (exists and not filters):
            return True
        (path,) = astuple(found.values)
        described = await source.find(ctx, path)
        return described is not None and all(one(ctx, described) for one in filters)

    def link(self, uri: str) -> latest.ResourceLink:
        """Return a link to the resource at a URI.

        Raises:
            UsageError: No resource or template matches the URI.
        """
        fixed = self.listing.items.get(uri)
        if fixed is not None:
            return latest.ResourceLink(**asdict(fixed.described))
        found = _match_templates(self.templates.items, uri)
        if found is None:
            raise UsageError(f"there is no resource {uri!r} to link to: add it, or a template")
        fields = asdict(found.item.described)
        del fields["uri_template"]
        return latest.ResourceLink(uri=uri, **fields)

    # --- lists: registered resources, then those of sources ---

    async def page(self, ctx: Context, cursor: str | None, *, as_bytes: bool) -> Any:
        """Return a page of the resources: first registered ones, then those of sources.

        Args:
            ctx: Context of the request.
            cursor: Pagination cursor; None for the first page.
            as_bytes: Return a cached encoded page where possible.

        Returns:
            An `EncodedResult`, or a result of the request's revision.

        Raises:
            InvalidParams: The cursor was not made for this list.
        """
        sources = self._sources(ctx) if self._source_templates else []
        if not sources:
            return self.listing.page(ctx, cursor, as_bytes=as_bytes)
        position = decode(cursor, _SourcePosition) if cursor else None
        page = self.listing.page(ctx, None if position else cursor, as_bytes=False)
        if position is None and page.next_cursor is not None:
            return page
        shown: list[Any] = [] if position else list(page.resources)
        next_position = await self._append_from_sources(
            ctx, sources, position or _SourcePosition(), shown
        )
        return replace(page, resources=shown, next_cursor=next_position and encode(next_position))

    async def _append_from_sources(
        self,
        ctx: Context,
        sources: Sequence[ResourceSource],
        start: _SourcePosition,
        shown: list[Any],
    ) -> _SourcePosition | None:
        """Append resources of the sources after a position; return the start of the next page."""
        names = [source.uri_template for source in sources]
        if start.template and start.template not in names:
            raise InvalidParams("resource: what this cursor was made for is gone - at `$.cursor`")
        first = names.index(start.template) if start.template else 0
        last, after, size = start, start.key, self.listing.page_size
        for source in sources[first:]:
            remaining = None if size is None else size - len(shown)
            # Fetch one more than fits to detect a next page.
            more = await source.page(ctx, after, None if remaining is None else remaining + 1)
            for one in more[:remaining]:
                last = _SourcePosition(source.uri_template, one.key)
                if all(each(ctx, one.resource) for each in self.listing.filters):
                    shown.append(restate(one.resource, ctx.revision).value)
            if remaining is not None and len(more) > remaining:
                return last
            after = ""
        return None

    def _sources(self, ctx: Context) -> list[ResourceSource]:
        return [
            one.source
            for one in self.templates.visible(ctx)
            if one.source is not None and self.templates.is_listed(ctx, one)
        ]


def not_found(ctx: Context, uri: str) -> McpError:
    """Return the error for a URI without resource, or for a text that is not a URI.

    The error code depends on the revision of the request.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling
    """
    if not is_uri(uri):
        code = ctx.profile.errors.invalid_params
        return McpError(code, f"expected a URI, got {uri[:100]!r} - at `$.uri`", {"uri": uri})
    code = ctx.profile.resource_not_found_code
    return McpError(code, f"resource not found: {uri[:100]}", {"uri": uri})


def _match_templates(templates: Iterable[TemplatedResource], uri: str) -> _Match | None:
    for template in templates:
        # The prefix rules out most templates cheaply.
        if uri.startswith(template.prefix) and (values := template.match(uri)) is not None:
            return _Match(template, values)
    return None

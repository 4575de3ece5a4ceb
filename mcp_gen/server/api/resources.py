"""Resources and templates: how a server gets them, and what it answers where they are meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_wire
from mcp_gen.core.errors import InvalidRequest, UsageError
from mcp_gen.server.input_requests.run import in_rounds
from mcp_gen.server.resources.registry import ResourceBox, not_found
from mcp_gen.server.resources.resource import FixedResource, TemplatedResource
from mcp_wire import latest
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from typing import Unpack

    from mcp_gen.server.context.context import Context
    from mcp_gen.server.resources.resource import (
        Described,
        DescribedResource,
        ResourceSource,
        Source,
    )
    from mcp_gen.server.server import Server
    from mcp_gen.session.peer.session import Session
    from mcp_wire import common

__all__ = ["OffersResources", "ResourceBox", "ResourceHandlers"]

F = TypeVar("F", bound=Callable[..., Any])

MAX_SUBSCRIPTIONS = 10_000
"""How many resources one session may subscribe to: each is kept as long as the session is."""


class ResourceHandlers(ServerHandlers["Context"]):
    """What a server answers where resources are meant."""

    server: Server

    async def list_resources(
        self, ctx: Context, params: common.PaginatedRequestParams
    ) -> common.ListResourcesResult:
        """resources/list"""
        kernel = self.server.kernel
        as_bytes = not (kernel.hooks.list_resources or kernel.middleware)
        page: common.ListResourcesResult = await self.server.resources.page(
            ctx, params.cursor, as_bytes=as_bytes
        )
        return page

    async def list_resource_templates(
        self, ctx: Context, params: common.PaginatedRequestParams
    ) -> common.ListResourceTemplatesResult:
        """resources/templates/list"""
        kernel = self.server.kernel
        as_bytes = not (kernel.hooks.list_resource_templates or kernel.middleware)
        page: common.ListResourceTemplatesResult = self.server.resources.templates.page(
            ctx, params.cursor, as_bytes=as_bytes
        )
        return page

    async def read_resource(
        self, ctx: Context, params: common.ReadResourceRequestParams
    ) -> common.ReadResourceResult | common.InputRequiredResult:
        """resources/read"""
        return await in_rounds(ctx, params, self._read)

    async def _read(
        self, ctx: Context, params: common.ReadResourceRequestParams
    ) -> common.ReadResourceResult | common.InputRequiredResult:
        # Hooks see results of the newest types, at every revision.
        revision = mcp_wire.LATEST if self.server.hooks.read_resource else ctx.revision
        return await self.server.resources.read(ctx, params.uri, revision)

    async def subscribe(
        self, ctx: Context, params: common.SubscribeRequestParams
    ) -> common.EmptyResult:
        """resources/subscribe"""
        subscribed = _session(ctx).subscribed
        if not await self.server.resources.knows(ctx, params.uri):
            raise not_found(ctx, params.uri)
        if len(subscribed) >= MAX_SUBSCRIPTIONS and params.uri not in subscribed:
            raise InvalidRequest(
                f"a session may subscribe to {MAX_SUBSCRIPTIONS} resources: unsubscribe from some"
            )
        subscribed.add(params.uri)
        _session(ctx).unsaved = True
        return latest.EmptyResult()

    async def unsubscribe(
        self, ctx: Context, params: common.UnsubscribeRequestParams
    ) -> common.EmptyResult:
        """resources/unsubscribe"""
        # What is gone by now, or was never subscribed to, is not subscribed to afterwards either.
        session = _session(ctx)
        session.subscribed.discard(params.uri)
        session.unsaved = True
        return latest.EmptyResult()


def _session(ctx: Context) -> Session:
    if ctx.session is None:
        raise InvalidRequest("a subscription needs a session, and this request has none")
    return ctx.session


class OffersResources:
    """The part of a server that takes resources."""

    resources: ResourceBox

    def resource(self, uri: str, /, **described: Unpack[DescribedResource]) -> Callable[[F], F]:
        """Offer what a function returns under a URI, or under all URIs of a template.

        A URI with variables is a template: `@server.resource("users://{id}/profile")` calls its
        function with `id`, made from the text in the URI as its hint says. See
        `mcp_gen.server.resources.uri_templates` for what can be written.

        Text is sent as text, bytes in base64, and whatever else can be written as JSON as that;
        `Contents` says the media type with it. None, or raising `ResourceNotFound`, means that
        there is no such resource.

        Raises:
            UsageError: no URI or a bad template, one that is there already, or a function whose
                parameters are not its variables.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/resources
        """
        if callable(uri):  # the function, where the decorator stands without its URI
            raise UsageError('a resource needs its URI: write `@server.resource("config://app")`')

        def add(function: F) -> F:
            if "{" in uri or "}" in uri:
                self.add_resource_template(uri, function, **_without_size(uri, described))
            else:
                self.add_resource(uri, function, **described)
            return function

        return add

    def add_resource(
        self, uri: str, source: Source, /, **described: Unpack[DescribedResource]
    ) -> None:
        """Offer a function's value, a text or bytes under one URI; see `resource`."""
        self.resources.add(FixedResource(uri, source, **described))

    def add_resource_template(
        self, uri_template: str, function: Callable[..., Any], /, **described: Unpack[Described]
    ) -> None:
        """Offer a function of a template's variables; see `resource`."""
        self.resources.add_template(TemplatedResource(uri_template, function, **described))

    def add_resources(self, source: ResourceSource) -> None:
        """Offer resources that come and go by themselves, such as `FileResources("docs")`.

        Raises:
            UsageError: there is a template like theirs already.
        """
        self.resources.add_template(
            TemplatedResource(source.uri_template, source.read, source=source, **source.described)
        )

    def remove_resource(self, uri: str) -> None:
        """Offer a resource no longer; reads that are under way go on.

        Raises:
            UsageError: there is none under that URI.
        """
        self.resources.listing.items.remove(uri)

    def remove_resource_template(self, uri_template: str) -> None:
        """Offer a template no longer, nor the source that came with it.

        Raises:
            UsageError: there is no such template.
        """
        self.resources.templates.items.remove(uri_template)

    def resource_link(self, uri: str) -> latest.ResourceLink:
        """A link to a resource, for tools and prompts to return; described as the list has it.

        Raises:
            UsageError: there is no such resource, and no template that it matches.
        """
        return self.resources.link(uri)


def _without_size(uri: str, described: DescribedResource) -> Any:
    if "size" in described:
        raise UsageError(f"URI template {uri!r}: `size` is that of one resource; leave it out")
    return described

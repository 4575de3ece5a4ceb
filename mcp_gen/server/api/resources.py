"""Decorators and methods that add and remove resources and templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.server.resources.registry import ResourceRegistry
from mcp_gen.server.resources.resource import FixedResource, TemplatedResource
from mcp_wire import latest

if TYPE_CHECKING:
    from typing import Unpack

    from mcp_gen.server.resources.resource import (
        DescribedResource,
        DescriptionOptions,
        ResourceSource,
        Source,
    )

__all__ = ["ResourcesApi"]

F = TypeVar("F", bound=Callable[..., Any])


class ResourcesApi:
    """Methods that add and remove resources and templates."""

    resources: ResourceRegistry

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
        self,
        uri_template: str,
        function: Callable[..., Any],
        /,
        **described: Unpack[DescriptionOptions],
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

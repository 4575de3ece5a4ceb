"""Methods that register and remove resources and resource templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import explains_calls
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
    """Methods that register and remove resources and resource templates."""

    resources: ResourceRegistry

    @explains_calls("server.resource", '@server.resource("config://app")')
    def resource(self, uri: str, /, **described: Unpack[DescribedResource]) -> Callable[[F], F]:
        """Return a decorator that registers a function as a resource or a resource template.

            @server.resource("config://app", mime_type="application/json")
            def config() -> dict[str, str]: ...

            @server.resource("users://{id}/profile")
            def profile(id: int) -> Profile: ...

        A URI with variables is a template. The function receives each variable, decoded from the
        text in the URI into the type of its parameter. See `mcp_gen.server.resources.uri_templates`
        for the syntax of templates. The value of `{id}` may hold slashes, which clients encode, and
        begin with one; a value with `.` or `..` as a segment, a backslash or NUL does not match.
        `{+path}` takes every value, so its function must check what it opens; `FileResources`
        serves a folder safely.

        Text is sent as text, bytes are sent in base64, and any other serializable value is sent as
        JSON. `Contents` sets the media type too. None, or raising `ResourceNotFound`, means that
        there is no such resource.

        Args:
            uri: URI, or URI template.
            described: Options of the list entry: `name`, the default is the name of the function;
                `title`; `description`, the default is the first paragraph of the docstring;
                `mime_type`, the default follows from the content; `annotations`; `icons`; `meta`;
                `tags`, to enable, disable and mount resources by; `scopes` that the access token
                of a reader needs, as in `tool`; the cache hints `ttl_ms` and `cache_scope` of
                resources/read, the default is the server's, and private with `scopes`; and for a
                resource, not for a template, its `size` in bytes.

        Raises:
            UsageError: an invalid URI or template, one that is taken, or a function whose
                parameters are not the variables of the template.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/resources
        """
        if callable(uri):  # `@server.resource` without its URI
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
        """Register a function, a text or bytes as a resource.

        Args:
            uri: URI of the resource.
            source: Function that returns the content, or the content itself.
            described: Options of the list entry; see `resource`.

        Raises:
            UsageError: see `resource`.
        """
        self.resources.add(FixedResource(uri, source, **described))

    def add_resource_template(
        self,
        uri_template: str,
        function: Callable[..., Any],
        /,
        **described: Unpack[DescriptionOptions],
    ) -> None:
        """Register a function of the variables of a URI template.

        Args:
            uri_template: URI template.
            function: Function that returns the content; its parameters are the variables.
            described: Options of the list entry; see `resource`. A template has no `size`.

        Raises:
            UsageError: see `resource`.
        """
        self.resources.add_template(TemplatedResource(uri_template, function, **described))

    def add_resources(self, source: ResourceSource) -> None:
        """Register a dynamic source of resources, such as `FileResources("docs")`.

        Raises:
            UsageError: there is a template like that of the source.
        """
        self.resources.add_template(
            TemplatedResource(source.uri_template, source.read, source=source, **source.described)
        )

    def remove_resource(self, uri: str) -> None:
        """Remove a resource. Reads in progress go on.

        Raises:
            UsageError: there is no resource under that URI.
        """
        self.resources.listing.items.remove(uri)

    def remove_resource_template(self, uri_template: str) -> None:
        """Remove a resource template, together with its source if it has one.

        Raises:
            UsageError: there is no such template.
        """
        self.resources.templates.items.remove(uri_template)

    def disable_resource(self, uri: str) -> None:
        """Hide a resource from clients, until `enable_resource`; see `disable_tool`.

        Raises:
            UsageError: there is no resource under that URI.
        """
        self.resources.listing.items.disable(uri)

    def enable_resource(self, uri: str) -> None:
        """Show a resource that was disabled.

        Raises:
            UsageError: there is no resource under that URI.
        """
        self.resources.listing.items.enable(uri)

    def disable_resource_template(self, uri_template: str) -> None:
        """Hide a template, and what its source lists, until `enable_resource_template`.

        Raises:
            UsageError: there is no such template.
        """
        self.resources.templates.items.disable(uri_template)

    def enable_resource_template(self, uri_template: str) -> None:
        """Show a template that was disabled.

        Raises:
            UsageError: there is no such template.
        """
        self.resources.templates.items.enable(uri_template)

    def resource_link(self, uri: str) -> latest.ResourceLink:
        """Return a link to a resource, for results of tools and prompts.

        The link has the name, title and description of the list entry.

        Raises:
            UsageError: there is no such resource, and no template matches the URI.
        """
        return self.resources.link(uri)


def _without_size(uri: str, described: DescribedResource) -> Any:
    if "size" in described:
        raise UsageError(f"URI template {uri!r}: `size` is that of one resource; leave it out")
    return described

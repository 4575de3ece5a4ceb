"""Filters, cache hints and session features: what all lists of a server share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import check_callable, missing_attribute, name_of
from mcp_gen.server.api.prompts import PromptsApi
from mcp_gen.server.api.resources import ResourcesApi
from mcp_gen.server.api.tools import ToolsApi
from mcp_gen.server.listing.listing import Listing, in_session, listings
from mcp_gen.server.listing.tags import check_tags, with_tags
from mcp_gen.server.notifications.topics import PROMPTS, RESOURCES, TOOLS

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.listing.cache_hints import CacheHints
    from mcp_gen.server.listing.tags import Visibility
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.server.prompts.registry import PromptRegistry
    from mcp_gen.server.resources.registry import ResourceRegistry
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_gen.session.peer.session import Session
    from mcp_wire import latest

__all__ = ["ListsApi", "SessionFeatures"]

F = TypeVar("F", bound="Callable[[Context, Any], bool]")
ToolFilter: TypeAlias = "Callable[[Context, latest.Tool], bool]"
PromptFilter: TypeAlias = "Callable[[Context, latest.Prompt], bool]"
ResourceFilter: TypeAlias = "Callable[[Context, latest.Resource | latest.ResourceTemplate], bool]"

_TOPICS = {"tools": TOOLS, "resources": RESOURCES, "prompts": PROMPTS}


class SessionFeatures(ToolsApi, ResourcesApi, PromptsApi):
    """Features of one session alone: `server.for_session(ctx.session)`.

    It has the decorators and the add and remove methods of the server. Items that are added here
    are listed and used in that session only, in front of items of the server with the same name.
    Only that session receives `list_changed`. The items are gone when the session ends.

    Args:
        server: The server of the session.
        session: The session.
    """

    def __init__(self, server: ListsApi, session: Session) -> None:
        self._server = server
        self._session = session

    def __getattr__(self, name: str) -> Any:
        topic = _TOPICS.get(name)
        if topic is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if topic.capability not in self._session.declared:
            # A client never lists tools when the server declared none at the handshake.
            raise UsageError(
                f"this session was told at its beginning that there are no {name}: "
                f'declare them with Server(declare=["{name}"])'
            )
        changed = partial(self._server.notify.changed_in, self._session, topic)
        registry = in_session(getattr(self._server, name), self._session, changed)
        setattr(self, name, registry)
        return registry

    def _to_transform(self, name: str) -> ServerTool:
        return self.tools.get(name) or self._server.tools[name]


class ListsApi:
    """Methods that concern all lists of a server."""

    tools: ToolRegistry
    resources: ResourceRegistry
    prompts: PromptRegistry
    notify: Notifier
    visibility: Visibility

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, name, dir(type(self)))

    def for_session(self, session: Session | None) -> SessionFeatures:
        """Return the features of one session alone; takes `ctx.session`.

            @server.for_session(ctx.session).tool
            def undo() -> str: ...

        Raises:
            UsageError: there is no session. Revisions without sessions have the same lists for all
                connections; use a filter there.
        """
        if session is None or session.profile is None:
            raise UsageError(
                "there is no session here: each request stands for itself. Add to the server, and "
                "say with filter_tools, filter_resources or filter_prompts who sees it"
            )
        return SessionFeatures(self, session)

    # --- filters ---

    def filter_tools(self, keep: ToolFilter) -> ToolFilter:
        """Add a filter of tools: `keep(ctx, tool)` returns True for tools of this request.

            @server.filter_tools
            def visible(ctx: Context, tool: Tool) -> bool:
                return "admin" not in tool.name or is_admin(ctx)

        A tool that is filtered out is neither listed nor called: it is unknown. Pages of a filtered
        list are made for each request, and their cache scope is private. To remove a filter, remove
        the function from `server.tools.listing.filters`.

        Returns:
            The function itself.

        Raises:
            UsageError: the function is async.
        """
        return self._filter(self.tools, keep)

    def filter_resources(self, keep: ResourceFilter) -> ResourceFilter:
        """Add a filter of resources and templates; see `filter_tools`."""
        return self._filter(self.resources, keep)

    def filter_prompts(self, keep: PromptFilter) -> PromptFilter:
        """Add a filter of prompts; see `filter_tools`."""
        return self._filter(self.prompts, keep)

    def _filter(self, registry: object, keep: F) -> F:
        check_callable("filter", keep, ("ctx", "item"))
        if inspect.iscoroutinefunction(keep) or inspect.iscoroutinefunction(type(keep).__call__):
            # The coroutine object would count as True.
            raise UsageError(f"filter {name_of(keep)}: expected a function that is not async")
        for _, listing in listings(registry):
            listing.filters.append(keep)
        return keep

    # --- tags ---

    def disable_tags(self, *tags: str) -> None:
        """Hide tools, resources and prompts that have one of these tags, present and future ones.

            server.disable_tags("admin", "beta")

        They are neither listed nor used, until `enable_tags`. Clients receive `list_changed`.

        Args:
            tags: The tags.

        Raises:
            UsageError: a tag that is empty or no text.
        """
        self.visibility.disable(_each_tag("disable_tags", tags))

    def enable_tags(self, *tags: str) -> None:
        """Show tools, resources and prompts that `disable_tags` or options of the server hide.

        Items that were disabled by name, or that have another disabled tag, stay hidden.

        Args:
            tags: The tags.

        Raises:
            UsageError: a tag that is empty or no text.
        """
        self.visibility.enable(_each_tag("enable_tags", tags))

    # --- pages and hints ---

    def _listings(self) -> list[Listing[Any]]:
        registries = (self.tools, self.resources, self.prompts)
        return [listing for registry in registries for _, listing in listings(registry)]

    def _set_page_size(self, size: int | None) -> None:
        for listing in self._listings():
            listing.page_size = size

    def _send_tags(self) -> None:
        for listing in self._listings():
            listing.describe = with_tags(listing.describe)

    def cache_hints(
        self,
        *,
        discover: CacheHints | None = None,
        list_prompts: CacheHints | None = None,
        list_resource_templates: CacheHints | None = None,
        list_resources: CacheHints | None = None,
        list_tools: CacheHints | None = None,
        read_resource: CacheHints | None = None,
    ) -> None:
        """Set the cache hints of results, by method.

        A method that is left out keeps its hints. At first all have those of
        `Server(cache_hints=...)`.

        Args:
            discover: Hints of server/discover.
            list_prompts: Hints of prompts/list.
            list_resource_templates: Hints of resources/templates/list.
            list_resources: Hints of resources/list.
            list_tools: Hints of tools/list.
            read_resource: Hints of resources/read; those of a resource take precedence.
        """
        given = {
            "discover": discover,
            "list_prompts": list_prompts,
            "list_resource_templates": list_resource_templates,
            "list_resources": list_resources,
            "list_tools": list_tools,
            "read_resource": read_resource,
        }
        for method, hints in given.items():
            if hints is not None:
                setattr(self.tools.listing.hints, method, hints)
        for listing in self._listings():
            listing.invalidate()


def _each_tag(what: str, tags: tuple[str, ...]) -> frozenset[str]:
    """Check the tags that are given one by one, and return them."""
    first: Any = tags[0] if tags else ""
    if isinstance(first, list | tuple | set | frozenset):
        each = ", ".join(map(repr, cast("Collection[str]", first)))
        raise UsageError(f"{what}({first!r}): write `{what}({each})`")
    return check_tags(tags, what)

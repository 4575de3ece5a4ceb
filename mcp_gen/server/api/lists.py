"""What goes for all lists of a server: filters, cache hints, and what one session has alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.server.api.prompts import PromptsApi
from mcp_gen.server.api.resources import ResourcesApi
from mcp_gen.server.api.tools import ToolsApi
from mcp_gen.server.listing.listing import Listing, in_session, listings
from mcp_gen.server.notifications.topics import PROMPTS, RESOURCES, TOOLS

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.listing.cache_hints import CacheHints, Hints
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
    """What a server offers in one session alone: `server.for_session(ctx.session)`.

    Its decorators and its methods that add and remove are the server's own. What is added here is
    seen and used in that session only, in front of what the server has under the same name; only
    that session is told, and what it has is gone when it ends.
    """

    def __init__(self, server: ListsApi, session: Session) -> None:
        self._server = server
        self._session = session

    def __getattr__(self, name: str) -> Any:
        topic = _TOPICS.get(name)
        if topic is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        if topic.capability not in self._session.declared:
            # A client that was told of no tools never asks for them.
            raise UsageError(
                f"this session was told at its beginning that there are no {name}: "
                f'declare them with Server(declare=["{name}"])'
            )
        changed = partial(self._server.notify.changed_in, self._session, topic)
        box = in_session(getattr(self._server, name), self._session, changed)
        setattr(self, name, box)
        return box

    def _to_transform(self, name: str) -> ServerTool:
        return self.tools.get(name) or self._server.tools[name]


class ListsApi:
    """The part of a server that says what its lists have in common."""

    tools: ToolRegistry
    resources: ResourceRegistry
    prompts: PromptRegistry
    notify: Notifier
    hints: Hints

    def for_session(self, session: Session | None) -> SessionFeatures:
        """What is offered in one session alone; takes `ctx.session`.

            @server.for_session(ctx.session).tool
            def undo() -> str: ...

        Raises:
            UsageError: there is no session, as at revisions whose requests stand for themselves,
                where lists are the same for all connections: say in a filter who sees what.
        """
        if session is None or session.profile is None:
            raise UsageError(
                "there is no session here: each request stands for itself. Add to the server, and "
                "say with filter_tools, filter_resources or filter_prompts who sees it"
            )
        return SessionFeatures(self, session)

    # --- filters ---

    def filter_tools(self, keep: ToolFilter) -> ToolFilter:
        """Decide by request which tools there are: `keep(ctx, tool)` gives whether this is one.

        What it keeps back is neither listed nor called: it is unknown. Results of a list are then
        made for each request, and are private to it. To stop, remove the function from
        `server.tools.listing.filters`.

        Raises:
            UsageError: it is async.
        """
        return self._filter(self.tools, keep)

    def filter_resources(self, keep: ResourceFilter) -> ResourceFilter:
        """Decide by request which resources and templates there are; see `filter_tools`."""
        return self._filter(self.resources, keep)

    def filter_prompts(self, keep: PromptFilter) -> PromptFilter:
        """Decide by request which prompts there are; see `filter_tools`."""
        return self._filter(self.prompts, keep)

    def _filter(self, box: object, keep: F) -> F:
        if inspect.iscoroutinefunction(keep) or inspect.iscoroutinefunction(type(keep).__call__):
            # Its coroutine would be as good as True.
            raise UsageError(f"filter {keep!r}: expected a function that is not async")
        for _, listing in listings(box):
            listing.filters.append(keep)
        return keep

    # --- pages and hints ---

    def _listings(self) -> list[Listing[Any]]:
        boxes = (self.tools, self.resources, self.prompts)
        return [listing for box in boxes for _, listing in listings(box)]

    def _set_page_size(self, size: int | None) -> None:
        for listing in self._listings():
            listing.page_size = size

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
        """Tell clients how long they may keep the results of a method, and for whom.

        What is not given here stays as it is; at first, all are what `Server(cache_hints=...)`
        says.
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
                setattr(self.hints, method, hints)
        for listing in self._listings():
            listing.forget()

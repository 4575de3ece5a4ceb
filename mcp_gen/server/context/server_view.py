"""Protocols of `ctx.server`: the public methods of a server that handlers use.

Generic in the context type, so that `Context` can name them without a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from typing import Unpack

    from mcp_gen.server.context.options import (
        AnyArgument,
        AnyTool,
        DescribedResource,
        DescriptionOptions,
        Source,
        SourceOf,
        ToolCallOptions,
        ToolOptions,
        UnknownArguments,
    )
    from mcp_gen.session.peer.session import Session
    from mcp_wire import common, latest
    from mcp_wire.extensions.ui import McpUiToolMeta
    from mcp_wire.hooks import ServerHooks
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = [
    "ListenersView",
    "Notifications",
    "ServerView",
    "SessionView",
    "ToolsView",
]

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])
P = TypeVar("P")


class ListenersView(Protocol):
    """Clients that listen to a topic of an extension; for `ToClient` of its package."""

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification to the listeners and wait until it is sent.

        Args:
            method: Notification of the extension.
            params: Params of the notification.
        """
        ...

    def publish(self, method: Method[P, None], params: P) -> None:
        """Send a notification to the listeners from any thread, without waiting.

        Args:
            method: Notification of the extension.
            params: Params of the notification.
        """
        ...


class Notifications(Protocol):
    """Notifications to clients: `server.notify`. Any thread may call the sync methods."""

    def tool_list_changed(self) -> None:
        """Send notifications/tools/list_changed. Adding and removing tools does so itself."""
        ...

    def prompt_list_changed(self) -> None:
        """Send notifications/prompts/list_changed. Adding and removing prompts does so itself."""
        ...

    def resource_list_changed(self) -> None:
        """Send notifications/resources/list_changed. Adding and removing does so itself."""
        ...

    def resource_updated(self, uri: str) -> None:
        """Send notifications/resources/updated to the subscribers of this URI."""
        ...

    def end_listening(self) -> None:
        """End every open subscriptions/listen request with its result; new ones may come."""
        ...

    def extension_listeners(self, **of: Any) -> ListenersView:
        """Return the clients that listen to a topic of an extension.

        Args:
            of: Exactly one field of the filter of subscriptions/listen, with its value.

        Raises:
            ValueError: not exactly one field.
        """
        ...

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """Send notifications/elicitation/complete to the session of the elicitation."""
        ...


class ToolsView(Protocol):
    """Tools of a server: `len`, `in`, iteration and `[name]`."""

    run_in_threads: bool
    """True if sync tools without the option `run_in_thread` run in threads."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[AnyTool]: ...

    def __contains__(self, name: object) -> bool: ...

    def __getitem__(self, name: str) -> AnyTool:
        """Return the tool of that name.

        Raises:
            UsageError: there is none.
        """
        ...

    @property
    def names(self) -> list[str]:
        """Names of the tools."""
        ...

    def get(self, name: str) -> AnyTool | None:
        """Return the tool of that name; None if there is none."""
        ...


class SessionView(Protocol[C_co]):
    """Features of one session alone: `ctx.server.for_session(ctx.session)`."""

    @overload
    def tool(self, function: F, /) -> F:
        """Register a function as a tool; see `Server.tool`."""
        ...

    @overload
    def tool(
        self,
        /,
        **options: Unpack[ToolOptions],
    ) -> Callable[[F], F]: ...

    @overload
    def tool(
        self,
        name: str,
        /,
        **options: Unpack[ToolOptions],
    ) -> Callable[[F], F]: ...

    @overload
    def add_tool(
        self,
        tool: latest.Tool,
        handler: Callable[[C_co, dict[str, Any]], Any],
        /,
        **options: Unpack[ToolCallOptions],
    ) -> None:
        """Register a tool: a function, a Tool with its handler, or a tool of another server."""
        ...

    @overload
    def add_tool(
        self,
        function: Callable[..., Any],
        /,
        **options: Unpack[ToolOptions],
    ) -> None: ...

    @overload
    def add_tool(self, tool: AnyTool, /) -> None: ...

    def remove_tool(self, name: str) -> None:
        """Remove a tool. Raises UsageError if there is none of that name."""
        ...

    def transform_tool(
        self,
        tool: str,
        /,
        *,
        keep: bool = False,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        annotations: latest.ToolAnnotations | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        arguments: Mapping[str, AnyArgument] | None = None,
        result: Callable[[Any], Any] | None = None,
        ui: McpUiToolMeta | str | None = None,
        scopes: Collection[str] = (),
    ) -> None:
        """Offer a tool under another name, description or arguments; as `transformed` does."""
        ...

    async def find_tool(self, name: str) -> AnyTool:
        """Return the tool that clients know by a name, mounted or not."""
        ...

    def resource(self, uri: str, /, **described: Unpack[DescribedResource]) -> Callable[[F], F]:
        """Register a function as a resource or template; see `Server.resource`."""
        ...

    def add_resource(
        self, uri: str, source: Source, /, **described: Unpack[DescribedResource]
    ) -> None:
        """Register a function, a text or bytes as a resource; see `Server.add_resource`."""
        ...

    def add_resource_template(
        self,
        uri_template: str,
        function: Callable[..., Any],
        /,
        **described: Unpack[DescriptionOptions],
    ) -> None:
        """Register a function of the variables of a template."""
        ...

    def add_resources(self, source: SourceOf[C_co]) -> None:
        """Register a source of resources, such as `FileResources("docs")`."""
        ...

    def remove_resource(self, uri: str) -> None:
        """Remove a resource. Raises UsageError if there is none under that URI."""
        ...

    def remove_resource_template(self, uri_template: str) -> None:
        """Remove a template. Raises UsageError if there is no such template."""
        ...

    def resource_link(self, uri: str) -> latest.ResourceLink:
        """Return a link to a resource, described as the list has it."""
        ...

    @overload
    def prompt(self, function: F, /) -> F:
        """Register a function as a prompt; see `Server.prompt`."""
        ...

    @overload
    def prompt(
        self,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        unknown_arguments: UnknownArguments | None = None,
        tags: Collection[str] = (),
        scopes: Collection[str] = (),
    ) -> Callable[[F], F]: ...

    @overload
    def prompt(
        self,
        name: str,
        /,
        *,
        title: str | None = None,
        description: str | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        unknown_arguments: UnknownArguments | None = None,
        tags: Collection[str] = (),
        scopes: Collection[str] = (),
    ) -> Callable[[F], F]: ...

    @overload
    def add_prompt(
        self,
        function: Callable[..., Any],
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[latest.Icon] | None = None,
        meta: dict[str, Any] | None = None,
        unknown_arguments: UnknownArguments | None = None,
        tags: Collection[str] = (),
        scopes: Collection[str] = (),
    ) -> None:
        """Register a prompt: a function, or a Prompt with its handler."""
        ...

    @overload
    def add_prompt(
        self,
        prompt: common.Prompt,
        handler: Callable[[C_co, dict[str, str]], Any],
        /,
        *,
        unknown_arguments: UnknownArguments | None = None,
        scopes: Collection[str] = (),
    ) -> None: ...

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt. Raises UsageError if there is none of that name."""
        ...

    def disable_tool(self, name: str) -> None:
        """Hide a tool from clients, until `enable_tool`; see `Server.disable_tool`."""
        ...

    def enable_tool(self, name: str) -> None:
        """Show a tool that was disabled."""
        ...

    def disable_resource(self, uri: str) -> None:
        """Hide a resource from clients, until `enable_resource`."""
        ...

    def enable_resource(self, uri: str) -> None:
        """Show a resource that was disabled."""
        ...

    def disable_resource_template(self, uri_template: str) -> None:
        """Hide a template, and what its source lists, until `enable_resource_template`."""
        ...

    def enable_resource_template(self, uri_template: str) -> None:
        """Show a template that was disabled."""
        ...

    def disable_prompt(self, name: str) -> None:
        """Hide a prompt from clients, until `enable_prompt`."""
        ...

    def enable_prompt(self, name: str) -> None:
        """Show a prompt that was disabled."""
        ...


class ServerView(SessionView[C], Protocol[C]):
    """Server of a request: `ctx.server`."""

    name: str
    info: latest.Implementation
    instructions: str | None

    @property
    def tools(self) -> ToolsView:
        """The tools of the server."""
        ...

    @property
    def notify(self) -> Notifications:
        """Notifications about lists and resources."""
        ...

    @property
    def hooks(self) -> ServerHooks:
        """Decorators that add hooks."""
        ...

    def completion(self, name: str, argument: str, /) -> Callable[[F], F]:
        """Register a function that completes an argument; see `Server.completion`."""
        ...

    def add_completion(self, name: str, argument: str, function: Callable[..., Any]) -> None:
        """Register a function that completes an argument."""
        ...

    def remove_completion(self, name: str, argument: str) -> None:
        """Remove the function that completes an argument."""
        ...

    def for_session(self, session: Session | None) -> SessionView[C]:
        """Return the features of one session alone; takes `ctx.session`."""
        ...

    def filter_tools(
        self, keep: Callable[[C, latest.Tool], bool]
    ) -> Callable[[C, latest.Tool], bool]:
        """Add a filter: `keep(ctx, tool)` returns True for tools of this request."""
        ...

    def filter_resources(
        self, keep: Callable[[C, latest.Resource | latest.ResourceTemplate], bool]
    ) -> Callable[[C, latest.Resource | latest.ResourceTemplate], bool]:
        """Add a filter of resources and templates; see `filter_tools`."""
        ...

    def filter_prompts(
        self, keep: Callable[[C, latest.Prompt], bool]
    ) -> Callable[[C, latest.Prompt], bool]:
        """Add a filter of prompts; see `filter_tools`."""
        ...

    def disable_tags(self, *tags: str) -> None:
        """Hide items that have one of these tags; see `Server.disable_tags`."""
        ...

    def enable_tags(self, *tags: str) -> None:
        """Show items that were disabled by these tags."""
        ...

    def sessions(self) -> list[Session]:
        """Return the open sessions."""
        ...

    def capabilities(self, profile: Profile | None = None) -> latest.ServerCapabilities:
        """Return the declared capabilities; with a `profile`, those of extensions too."""
        ...

    def features(self) -> frozenset[str]:
        """Return the names of the declared features, those of mounts included."""
        ...

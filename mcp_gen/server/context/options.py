"""Options of tools, arguments and resources, for signatures of `Server` and `ServerView`."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar, get_args

import msgspec

from mcp_gen.core.errors import UsageError
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_wire.extensions.ui import McpUiToolMeta

__all__ = [
    "AnyArgument",
    "AnyTool",
    "DescribedResource",
    "DescriptionOptions",
    "ListedResource",
    "Source",
    "SourceOf",
    "ToolCallOptions",
    "ToolOptions",
    "UnknownArguments",
    "check_unknown_arguments",
]

UnknownArguments: TypeAlias = Literal["refuse", "ignore"]
"""Handling of arguments that a tool or a prompt does not have: an error, or nothing."""

C_contra = TypeVar("C_contra", contravariant=True)


def check_unknown_arguments(what: str, given: object) -> None:
    """Check the option `unknown_arguments`; None is the server's default.

    Raises:
        UsageError: It is something else.
    """
    if given is not None and given not in get_args(UnknownArguments):
        raise UsageError(
            f'{what}: unknown_arguments={given!r}: expected "refuse", "ignore" or None'
        )


class AnyTool(ABC):
    """Base class of every tool, for signatures of rooms below the tools."""

    name: str
    tags: frozenset[str] = frozenset()
    """Tags of the tool; see `Server(include_tags=, exclude_tags=)`."""
    scopes: frozenset[str] = frozenset()
    """Scopes that the access token of a call needs."""


class AnyArgument(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of `Argument`, for signatures of rooms below the transforms."""


class ToolCallOptions(TypedDict, total=False):
    """Options of how a tool is called: the ones of a tool that is described by a `Tool`."""

    timeout_s: float | None
    """Seconds after which a call fails; None: no limit."""
    run_in_thread: bool | None
    """True runs code that is not async in a thread; None: the server's default."""
    immediate_message: str | None
    """First status message of a task, and `model-immediate-response`; only with `task`."""
    task: Literal["optional", "required"] | None
    """Task support; None: the tool never runs as a task."""
    retry: bool
    """True if a task whose worker was lost may be run again; see `Tasks(engine=...)`."""
    ui: McpUiToolMeta | str | None
    """URI of the app that shows the results, or UI metadata."""
    tags: Collection[str]
    """Tags, to enable, disable and mount tools by."""
    scopes: Collection[str]
    """Scopes that the access token of a call needs, all of them; over HTTP alone."""


class ToolOptions(ToolCallOptions, total=False):
    """Options of a tool that is made of a function."""

    name: str | None
    """1 to 128 letters, digits, `_`, `-` and `.`; the default is the function's name."""
    title: str | None
    """Display name."""
    description: str | None
    """Description; the default is the docstring without its parameter section."""
    annotations: latest.ToolAnnotations | None
    """Behaviour hints for clients."""
    icons: list[latest.Icon] | None
    """Icons with `https:` or `data:` URIs."""
    meta: dict[str, Any] | None
    """The `_meta` of the tool."""
    input_schema: dict[str, Any] | None
    """JSON Schema that replaces the one from the annotations."""
    output_schema: dict[str, Any] | None
    """JSON Schema that replaces the one from the return annotation."""
    unknown_arguments: UnknownArguments | None
    """`refuse` or `ignore` arguments that the function does not have; None: as the server does."""


Source: TypeAlias = "Callable[..., Any] | str | bytes"
"""Function that returns the content, or the content itself."""


class DescriptionOptions(TypedDict, total=False):
    """Options of the list entry of a resource or template."""

    name: str
    """Name for programs; the default is the name of the function."""
    title: str
    """Name for people."""
    description: str
    """Description for the model; the default is the first paragraph of the docstring."""
    mime_type: str
    """Media type, such as `text/markdown`; the default follows from the type of the content."""
    annotations: latest.Annotations
    """Audience, priority and time of the last change."""
    icons: list[latest.Icon]
    meta: dict[str, Any]
    """`_meta` of the list entry."""
    ttl_ms: int
    """Milliseconds for which the content is fresh; the default is the server's."""
    tags: Collection[str]
    """Tags, to enable, disable and mount resources by."""
    scopes: Collection[str]
    """Scopes that the access token of a reader needs, all of them; over HTTP alone."""
    cache_scope: Literal["public", "private"]
    """Scope in which the content may be cached; the default is the server's."""


class DescribedResource(DescriptionOptions, total=False):
    """Options of the list entry of a resource."""

    size: int
    """Size in bytes, before base64; computed for fixed content."""


class SourceOf(Protocol[C_contra]):
    """Dynamic source of resources, all of one URI template with one variable."""

    uri_template: str
    described: DescriptionOptions

    async def page(self, ctx: C_contra, after: str, limit: int | None) -> Sequence[ListedResource]:
        """Return resources in the order of their keys.

        Args:
            ctx: Context of the request.
            after: Key of the last resource of the page before; empty for the first page.
            limit: Most resources to return; None for all.
        """
        ...

    async def find(self, ctx: C_contra, path: str) -> latest.Resource | None:
        """Return the resource for a value of the variable; None if there is none."""
        ...

    async def read(self, path: str, ctx: C_contra) -> Any:
        """Return the content of a resource, as the function of a resource does."""
        ...


class ListedResource(msgspec.Struct, frozen=True):
    """Resource of a dynamic source.

    Args:
        key: Place of the resource in the order of the source.
        resource: List entry of the resource.
    """

    key: str
    resource: latest.Resource

"""Tools, arguments and resources as the methods of a server and of its view take them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

import msgspec

from mcp_wire import latest

__all__ = [
    "AnyArgument",
    "AnyTool",
    "DescribedResource",
    "DescriptionOptions",
    "ListedResource",
    "Source",
    "SourceOf",
]

C_contra = TypeVar("C_contra", contravariant=True)


class AnyTool(ABC):
    """Base of every tool, for signatures below the room of tools."""

    name: str


class AnyArgument(msgspec.Struct, frozen=True, kw_only=True):
    """Base of `Argument`, for signatures below the room of transforms."""


Source: TypeAlias = "Callable[..., Any] | str | bytes"
"""A function, or the content itself."""


class DescriptionOptions(TypedDict, total=False):
    """What resources and templates say of themselves."""

    name: str
    """Identifies it to programs; the default is the function's name."""
    title: str
    """What people see instead of the name."""
    description: str
    """What it holds, to help a model decide; the default is the docstring's first paragraph."""
    mime_type: str
    """Media type, such as `text/markdown`; the default follows from the type of what is read."""
    annotations: latest.Annotations
    """Whom it is for, and how much it matters."""
    icons: list[latest.Icon]
    meta: dict[str, Any]
    """The `_meta` of its entry in the list."""
    ttl_ms: int
    """For how long what was read is fresh; the default is the server's."""
    cache_scope: Literal["public", "private"]
    """Who may share what was read; the default is the server's."""


class DescribedResource(DescriptionOptions, total=False):
    """What a resource says of itself."""

    size: int
    """Length in bytes, before any base64; known by itself where the content is fixed."""


class SourceOf(Protocol[C_contra]):
    """Resources that come and go by themselves, all under one template with one variable."""

    uri_template: str
    described: DescriptionOptions

    async def page(self, ctx: C_contra, after: str, limit: int | None) -> Sequence[ListedResource]:
        """The resources whose keys come after `after`, in the order of their keys: the first
        `limit`, or all."""
        ...

    async def find(self, ctx: C_contra, path: str) -> latest.Resource | None:
        """What there is under a value of the template's variable."""
        ...

    async def read(self, path: str, ctx: C_contra) -> Any:
        """What a resource's function would return."""
        ...


class ListedResource(msgspec.Struct, frozen=True):
    """A resource of a source, and its place in the source's order."""

    key: str
    resource: latest.Resource

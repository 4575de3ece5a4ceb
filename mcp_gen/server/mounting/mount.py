"""What every mount has: a prefix, lists of what is mounted under it, and a way to what is there."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from mcp_gen.core.errors import UsageError
from mcp_gen.core.projection.project import project
from mcp_gen.server.mounting.kinds import TEMPLATES, TOOLS, FeatureKind, Registries
from mcp_gen.server.resources.uri_templates import UriTemplate
from mcp_gen.server.tools.tool import is_tool_name

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.dispatch.declarations import Declarations
    from mcp_gen.server.dispatch.on_demand import TasksOnDemand
    from mcp_gen.server.mounting.kinds import What
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire import Wire
    from mcp_wire.hooks import ServerHooks

__all__ = ["Mount", "MountableServer", "Mounted", "Mounting", "template_matches"]

_log = logging.getLogger("mcp_gen.server")


class LifespanHolder(Protocol):
    """Acquires the lifespan and the mounts of a server; `ServerRunner` implements it."""

    async def acquire(self) -> None:
        """Acquire the lifespan and the mounts; pair with `release`.

        Raises:
            LifespanError: the lifespan could not be entered.
        """
        ...

    async def release(self) -> None:
        """Release the lifespan and the mounts."""
        ...


class MountingParts(Protocol):
    """Internal parts of a server that mounts use."""

    kernel: Kernel[Context]
    declarations: Declarations
    tasks: TasksOnDemand

    @property
    def runner(self) -> LifespanHolder:
        """Holder of the lifespan."""
        ...


class Mounting(Registries, Protocol):
    """A server that others are mounted in: what a mount needs of it."""

    name: str
    notify: Notifier

    @property
    def mounts(self) -> Sequence[Mount]:
        """What is mounted, in order."""
        ...

    @property
    def runtime(self) -> MountingParts:
        """Internal parts of the server."""
        ...


class MountableServer(Mounting, Protocol):
    """A server of this process that can be mounted in another one."""

    @property
    def hooks(self) -> ServerHooks:
        """Its hooks: they see what is asked of it through a mount."""
        ...

    def features(self) -> frozenset[str]:
        """Return the features that it declares, those of its mounts included."""
        ...


class Mounted(Struct, eq=False):
    """One item as the clients of the outer server see it, or an item of the outer server's own."""

    number: int
    """Its place in the list; see `mcp_gen.server.listing.registry.Entry`."""
    name: str
    """Its name or URI outside."""
    described: Wire
    """Its newest wire type, under that name."""
    make: Callable[[str], Any] | None = None
    """What gives its wire type at a revision, where there is more to it than is described."""
    forms: dict[str, Any] = {}

    def at(self, revision: str) -> Any:
        """Its wire type at a revision."""
        made = self.forms.get(revision)
        if made is None:
            make = self.make
            made = project(self.described, revision).value if make is None else make(revision)
            self.forms[revision] = made
        return made


@lru_cache(maxsize=1024)
def _template(text: str) -> UriTemplate | None:
    try:
        return UriTemplate(text, frozenset())
    except UsageError:
        return None


def template_matches(template: str, uri: str) -> bool:
    """Whether a URI is one of a template; by how it begins, where that is not understood here."""
    known = _template(template)
    if known is None:
        return uri.startswith(template.partition("{")[0])
    return known.match(uri) is not None


class Mount(ABC):
    """Something that is mounted in a server, under a prefix or without one.

    Raises:
        UsageError: a prefix that no name may begin with.
    """

    def __init__(self, outer: Mounting, prefix: str | None, separator: str) -> None:
        self.outer = outer
        self.prefix = prefix
        self.name_prefix = "" if prefix is None else f"{prefix}{separator}"
        """What stands in front of every name of a tool or prompt."""
        if prefix is not None and not (prefix and is_tool_name(self.name_prefix)):
            raise UsageError(
                f"mount {prefix!r}: a prefix with its separator has 1 to 127 of letters, digits, "
                "`_`, `-` and `.`, as the names of tools have; without one: mount(None, ...)"
            )
        self._odd: set[str] = set()

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is called in messages."""

    @property
    @abstractmethod
    def target(self) -> object:
        """What is mounted: the server, or the session."""

    @abstractmethod
    def features(self) -> frozenset[str]:
        """What is declared."""

    @property
    @abstractmethod
    def has_unlisted(self) -> bool:
        """Whether there may be more to read than what it lists."""

    # --- names ---

    def inner_name(self, kind: FeatureKind, name: str) -> str | None:
        """The name or URI that an item has inside, from that outside; None if it is none of its."""
        if not kind.prefixed:
            return name
        if not name.startswith(self.name_prefix):
            return None
        return name[len(self.name_prefix) :] or None

    def rename_outward(self, kind: FeatureKind, described: Any) -> Wire | None:
        """An item as it is shown outside, from what it is inside; None if it is not shown.

        The one place where what is mounted gets to look different from what it is.
        """
        if not kind.prefixed:
            return cast("Wire", described)
        name = self.name_prefix + described.name
        if kind is TOOLS and not is_tool_name(name):
            self.warn(name, "is no name for a tool, of at most 128 characters: it is left out")
            return None
        return cast("Wire", replace(described, name=name))

    def warn(self, name: str, what: str) -> None:
        """Say once what is wrong with an item."""
        if name not in self._odd:
            self._odd.add(name)
            _log.warning("mount %s: %r %s", self.title, name, what)

    # --- what is there ---

    @abstractmethod
    def names(self, kind: FeatureKind) -> Iterable[str]:
        """The names or URIs outside of everything that is known to be there, for anybody."""

    @abstractmethod
    async def items(self, ctx: Context, kind: FeatureKind) -> Sequence[Mounted]:
        """Everything that the client of this request may see, in whatever order."""

    @abstractmethod
    def is_static(self, ctx: Context, kind: FeatureKind) -> bool:
        """Whether a list stays the same for everybody until `changed` is called."""

    @abstractmethod
    def has_item(self, ctx: Context, kind: FeatureKind, name: str) -> bool | None:
        """Whether there is an item of that name inside, for this client; None: not known here."""

    @abstractmethod
    async def readable(self, ctx: Context, uri: str) -> bool | None:
        """Whether there is a template inside that a URI belongs to; None: not known here."""

    @abstractmethod
    def peek(self, ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
        """What is known of the item of that name inside, for this client."""

    @abstractmethod
    async def subscribe(self, ctx: Context, uri: str, holder: Hashable) -> None:
        """Hear of changes of a resource for somebody, until `drop`; without harm if it cannot."""

    @abstractmethod
    def unsubscribe(self, uri: str, holder: Hashable) -> None:
        """The end of `hold`."""

    @abstractmethod
    async def call(self, ctx: Context, what: What, params: Any) -> Any:
        """What is answered to a request; names in `params` are those inside."""

    async def item(self, ctx: Context, kind: FeatureKind, name: str) -> Mounted | None:
        """The item of that name outside, if the client may see it."""
        return next((one for one in await self.items(ctx, kind) if one.name == name), None)

    async def template_of(self, ctx: Context, uri: str) -> Mounted | None:
        """The template that a URI belongs to, if the client may see it."""
        templates = await self.items(ctx, TEMPLATES)
        return next((one for one in templates if template_matches(one.name, uri)), None)

    # --- begin and end ---

    @abstractmethod
    async def enter(self) -> None:
        """The outer server begins to serve."""

    @abstractmethod
    async def leave(self) -> None:
        """It has ended."""

    @abstractmethod
    def unmounted(self) -> None:
        """It is not mounted any more."""

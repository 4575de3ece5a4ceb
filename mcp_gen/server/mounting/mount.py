"""Base class of mounts, and the Protocols of the servers on both sides."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from mcp_gen.core.errors import UsageError
from mcp_gen.core.projection.project import restate
from mcp_gen.server.listing.scopes import NO_SCOPES
from mcp_gen.server.mounting.kinds import TEMPLATES, TOOLS, FeatureKind, Registries
from mcp_gen.server.resources.uri_templates import UriTemplate
from mcp_gen.server.tools.tool import is_tool_name

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.dispatch.declarations import Declarations
    from mcp_gen.server.dispatch.on_demand import TasksOnDemand
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.server.relaying.methods import MethodName
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire import Wire
    from mcp_wire.hooks import ServerHooks

__all__ = ["ListItem", "Mount", "MountableServer", "Mounting", "template_matches"]

MAX_WARNED = 1_000
"""Names of one mount that are remembered because a problem with them was logged."""

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

    def include(self, mounted: Any, /) -> None:
        """Share with other nodes what a mounted server keeps; see `Runtime`."""
        ...

    def exclude(self, mounted: Any, /) -> None:
        """Forget a server that is not mounted any more."""
        ...


class Mounting(Registries, Protocol):
    """Server that others are mounted in, as a mount uses it."""

    name: str
    notify: Notifier

    @property
    def mounts(self) -> Sequence[Mount]:
        """Mounts of the server, in the order they were mounted."""
        ...

    @property
    def runtime(self) -> MountingParts:
        """Internal parts of the server."""
        ...


class MountableServer(Mounting, Protocol):
    """Server of this process that can be mounted in another one."""

    @property
    def hooks(self) -> ServerHooks:
        """Hooks of the server. They also run for requests through a mount."""
        ...

    def features(self) -> frozenset[str]:
        """Return the features that the server declares, including those of its mounts."""
        ...


class ListItem(Struct, eq=False):
    """Item in a list of the outer server: a mounted one, or one of its own."""

    number: int
    """Position in the list; see `mcp_gen.server.listing.registry.Entry`."""
    name: str
    """Outer name or URI."""
    described: Wire
    """Wire type at the newest revision, with the outer name."""
    make: Callable[[str], Any] | None = None
    """Returns the wire type at a revision, where projecting `described` would lose something."""
    forms: dict[str, Any] = {}
    """Cache of the wire types, by revision."""
    wrong_marks: str = ""
    """Reason that clients drop a tool where headers repeat arguments; empty if they do not."""

    def at(self, revision: str) -> Any:
        """Return the wire type at a revision."""
        made = self.forms.get(revision)
        if made is None:
            make = self.make
            made = restate(self.described, revision).value if make is None else make(revision)
            self.forms[revision] = made
        return made


@lru_cache(maxsize=1024)
def _template(text: str) -> UriTemplate | None:
    try:
        return UriTemplate(text, frozenset())
    except UsageError:
        return None


def template_matches(template: str, uri: str) -> bool:
    """Return True if a URI matches a template.

    Of a template that cannot be parsed here, only the text before the first `{` is compared.
    """
    known = _template(template)
    if known is None:
        return uri.startswith(template.partition("{")[0])
    return known.match(uri) is not None


class Mount(ABC):
    """Mount of a server or of a client session in another server.

    Args:
        outer: The server that it is mounted in.
        prefix: Prefix of its tools and prompts; None for no prefix.
        separator: Text between the prefix and a name.

    Raises:
        UsageError: The prefix has characters that tool names must not have, or it is too long.
    """

    def __init__(self, outer: Mounting, prefix: str | None, separator: str) -> None:
        self.outer = outer
        self.prefix = prefix
        self.name_prefix = "" if prefix is None else f"{prefix}{separator}"
        """Prefix with separator, put in front of tool and prompt names; may be empty."""
        if prefix is not None and not (prefix and is_tool_name(self.name_prefix)):
            raise UsageError(
                f"mount {prefix!r}: a prefix with its separator has 1 to 127 of letters, digits, "
                "`_`, `-` and `.`, as the names of tools have; without one: mount(None, ...)"
            )
        self._warned: set[str] = set()
        self.scopes = NO_SCOPES
        """Scopes that the token of every request to the mount needs."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Name of the mount in messages."""

    @property
    @abstractmethod
    def target(self) -> object:
        """Mounted server or session."""

    @abstractmethod
    def features(self) -> frozenset[str]:
        """Return the features that the mounted server declares."""

    @property
    @abstractmethod
    def has_unlisted(self) -> bool:
        """True if there may be resources that are not listed."""

    # --- names ---

    def inner_name(self, kind: FeatureKind, name: str) -> str | None:
        """Return the inner name or URI for an outer one; None if the prefix differs."""
        if not kind.prefixed:
            return name
        if not name.startswith(self.name_prefix):
            return None
        return name[len(self.name_prefix) :] or None

    def rename_outward(self, kind: FeatureKind, described: Any) -> Wire | None:
        """Return an inner item as clients of the outer server see it; None if it is left out.

        Prefixes are added here and nowhere else. Tools with an invalid outer name are left out.
        """
        if not kind.prefixed:
            return cast("Wire", described)
        name = self.name_prefix + described.name
        if kind is TOOLS and not is_tool_name(name):
            self.warn(name, "is no name for a tool, of at most 128 characters: it is left out")
            return None
        return cast("Wire", replace(described, name=name))

    def warn(self, name: str, problem: str) -> None:
        """Log a problem with an item, once per name; after `MAX_WARNED` names none."""
        # Names may come from clients and from remote servers.
        if name not in self._warned and len(self._warned) < MAX_WARNED:
            self._warned.add(name)
            _log.warning("mount %s: %r %s", self.title, name, problem)

    # --- items ---

    def shows(self, kind: FeatureKind, name: str) -> bool:
        """Return True if the tags of an inner item do not leave it out."""
        return True

    def tags_of_name(self, kind: FeatureKind, name: str) -> frozenset[str] | None:
        """Return the tags of an inner item; None if there is none, or they are not known here."""
        return None

    def tags_of_template(self, uri: str) -> frozenset[str] | None:
        """Return the tags of the first template that matches a URI; None if there is none."""
        return None

    @property
    def has_scopes(self) -> bool:
        """True if the mount needs scopes, or anything inside is known to."""
        return bool(self.scopes)

    @property
    def scopes_of_unlisted(self) -> frozenset[str]:
        """Scopes of resources that may be here and are not listed."""
        return self.scopes if self.has_unlisted else NO_SCOPES

    @abstractmethod
    def scopes_of(self, ctx: Context, kind: FeatureKind, name: str) -> frozenset[str] | None:
        """Return all scopes that an inner item needs; None if no such item is known.

        Args:
            ctx: Context of the request in the outer server.
            kind: Kind of the item; for a resource, templates are tried, too.
            name: Inner name or URI.
        """

    @abstractmethod
    def names(self, kind: FeatureKind) -> Iterable[str]:
        """Return the outer names or URIs of all known items, regardless of the client."""

    @abstractmethod
    async def items(self, ctx: Context, kind: FeatureKind) -> Sequence[ListItem]:
        """Return the items that are visible to the client of this request, in any order."""

    @abstractmethod
    def is_static(self, ctx: Context, kind: FeatureKind) -> bool:
        """Return True if a list is the same for all clients until a change is published."""

    @abstractmethod
    def has_item(self, ctx: Context, kind: FeatureKind, name: str) -> bool | None:
        """Return True if this client may use an inner item; None if that is not known."""

    @abstractmethod
    async def readable(self, ctx: Context, uri: str) -> bool:
        """Return True if a resource or template is known to cover a URI."""

    @abstractmethod
    def peek(self, ctx: Context, kind: FeatureKind, name: str) -> Wire | None:
        """Return the known description of an inner item for this client, without I/O."""

    @abstractmethod
    async def subscribe(self, ctx: Context, uris: Sequence[str], holder: Hashable) -> None:
        """Subscribe to resources for a holder, until `unsubscribe`; failures do not raise."""

    @abstractmethod
    def unsubscribe(self, uris: Iterable[str], holder: Hashable) -> None:
        """End subscriptions of `subscribe`."""

    @abstractmethod
    async def call(self, ctx: Context, what: MethodName, params: Any) -> Any:
        """Call the mounted server and return its result; names in `params` are inner names."""

    async def item(self, ctx: Context, kind: FeatureKind, name: str) -> ListItem | None:
        """Return the item with an outer name, if it is visible to the client."""
        return next((one for one in await self.items(ctx, kind) if one.name == name), None)

    async def template_of(self, ctx: Context, uri: str) -> ListItem | None:
        """Return the first template that matches a URI and is visible to the client."""
        templates = await self.items(ctx, TEMPLATES)
        return next((one for one in templates if template_matches(one.name, uri)), None)

    # --- start and end ---

    @abstractmethod
    async def enter(self) -> None:
        """Prepare for requests; called when the outer server starts to serve."""

    @abstractmethod
    async def leave(self) -> None:
        """Release what `enter` and requests acquired; called when the outer server stops."""

    @abstractmethod
    def unmounted(self) -> None:
        """Detach the mounted server or session, after it was removed from the outer server."""

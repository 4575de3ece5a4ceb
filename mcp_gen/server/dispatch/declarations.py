"""Declared capabilities of a server, per revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.core.extensions.extensions import SERVER
from mcp_gen.core.projection.project import restate
from mcp_wire import latest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from mcp_gen.server.listing.cache_hints import Hints
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["Declarations"]


class Declarations:
    """Identity, instructions and capabilities that a server declares.

    Args:
        kernel: Kernel whose routes depend on the features.
        notify: Knows the servers in which this one is mounted.
        info: Name and version of the server.
        instructions: Text for the model.
        experimental: Experimental capabilities, declared as given.
        hints: Cache hints of server/discover.
        features: Features to declare at once.
        mounted: Returns the features of each mount.
    """

    def __init__(
        self,
        kernel: Kernel[Any],
        notify: Notifier,
        *,
        info: latest.Implementation,
        instructions: str | None,
        experimental: Mapping[str, dict[str, Any]] | None,
        hints: Hints,
        features: Collection[str],
        mounted: Callable[[], Iterable[frozenset[str]]],
    ) -> None:
        self._kernel = kernel
        self._notify = notify
        self.info = info
        self.instructions = instructions
        self.experimental = experimental
        self.hints = hints
        self._features = set(features)
        self._mounted = mounted
        self._offered = frozenset[str]()
        self.has_tasks = False
        """True once the server has a task manager."""

    def features(self) -> frozenset[str]:
        """Return the names of the declared features, those of mounts included."""
        return frozenset(self._features).union(*self._mounted())

    def offered(self) -> frozenset[str]:
        """Return the declared features as the kernel names them for routing."""
        on = self.features()
        if "resources" in on:
            on |= {"resources.subscribe"}
        # Each session keeps what was declared to it: the same object, while nothing changes.
        if on == self._offered:
            return self._offered
        self._offered = on
        return on

    def add(self, feature: str) -> None:
        """Declare a feature; called with its first item."""
        if feature not in self._features:
            self._features.add(feature)
            self.capabilities_changed()

    def keep(self, features: Iterable[str]) -> None:
        """Declare features for good: they stay declared when their mount is removed."""
        self._features.update(features)

    def on_change(self, feature: str, notify: Callable[[], None] | None) -> Callable[[], None]:
        """Return the change callback of a registry.

        Args:
            feature: Feature that is declared from the first item on.
            notify: Sends `list_changed`; None for a feature without that notification.
        """

        def changed() -> None:
            self.add(feature)
            if notify:
                notify()

        return changed

    def capabilities_changed(self) -> None:
        """Rebuild the routes, and inform the servers in which this one is mounted."""
        self._kernel.changed()
        for mount in list(self._notify.outer_servers):
            mount.on_declared()

    def capabilities(self, profile: Profile | None = None) -> latest.ServerCapabilities:
        """Return the capabilities; with a `profile`, those of extensions at its revision too."""
        on = self.features()
        extensions, experimental = dict[str, Any](), dict(self.experimental or {})
        if profile is not None and self._kernel.extensions:
            extensions, more = self._kernel.extensions.capabilities(SERVER, profile)
            experimental |= more
        return latest.ServerCapabilities(
            experimental=experimental or None,
            extensions=extensions or None,
            completions={} if "completions" in on else None,
            logging={} if "logging" in on else None,
            prompts=latest.PromptsCapability(list_changed=True) if "prompts" in on else None,
            resources=latest.ResourcesCapability(subscribe=True, list_changed=True)
            if "resources" in on
            else None,
            tools=latest.ToolsCapability(list_changed=True) if "tools" in on else None,
        )

    def capabilities_at(self, profile: Profile, *, known: bool = True) -> Any:
        """Return the capabilities in the wire types of a revision.

        Args:
            profile: The revision.
            known: True if the client can be told apart from others, which tasks/list needs.
        """
        declared = restate(self.capabilities(profile), profile.revision).value
        if not self.has_tasks or profile.tasks != "core":
            return declared
        # Imported here: most servers have no tasks.
        from mcp_gen.server.tasks.core_protocol import with_capability

        return with_capability(declared, profile, lists=known)

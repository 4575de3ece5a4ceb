"""What a client offers to servers: a model, its user, its roots; and what it declares of them."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

import mcp_wire
from mcp_gen.core.errors import UrlElicitation, UsageError
from mcp_gen.core.extensions.extensions import CLIENT, Extensions, Given
from mcp_gen.core.extensions.names import check_identifier
from mcp_gen.core.projection.project import project
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.client.session.session import ClientSession
    from mcp_wire.profile import Profile

__all__ = [
    "Action",
    "ClientCallbacks",
    "FormHandler",
    "RootLike",
    "RootsSource",
    "SamplingHandler",
    "UrlHandler",
]

Action: TypeAlias = Literal["accept", "decline", "cancel"]
_Said: TypeAlias = "latest.CreateMessageResult | None"
_Filled: TypeAlias = "latest.ElicitResult | Mapping[str, Any]"
_Went: TypeAlias = "latest.ElicitResult | Action"

SamplingHandler: TypeAlias = (
    "Callable[[ClientSession, latest.CreateMessageRequestParams], _Said | Awaitable[_Said]]"
)
"""Continues a conversation: `handler(session, params)`, async or not. None: the user said no."""
FormHandler: TypeAlias = (
    "Callable[[ClientSession, latest.ElicitRequestFormParams], _Filled | Awaitable[_Filled]]"
)
"""Shows a form: `handler(session, params)`, async or not. A mapping is an accepted form."""
UrlHandler: TypeAlias = "Callable[[ClientSession, UrlElicitation], _Went | Awaitable[_Went]]"
"""Sends the user to a page: `handler(session, page)`, async or not."""
RootLike: TypeAlias = "latest.Root | str | os.PathLike[str]"
"""A root, a `file://` URI, or a path."""
_Roots: TypeAlias = "Iterable[RootLike]"
RootsSource: TypeAlias = "_Roots | Callable[[ClientSession], _Roots | Awaitable[_Roots]]"
"""The roots, or what gives them when a server asks: `roots(session)`, async or not."""


class ClientCallbacks:
    """What servers may ask of this client. What has no handler is not declared."""

    def __init__(
        self,
        *,
        sampling: SamplingHandler | None = None,
        elicitation: FormHandler | None = None,
        url_elicitation: UrlHandler | None = None,
        roots: RootsSource | None = None,
        experimental: Mapping[str, dict[str, Any]] | None = None,
        extensions: Mapping[str, dict[str, Any]] | Sequence[Given] | None = None,
        tasks: bool = False,
    ) -> None:
        self.tasks = tasks
        """Whether calls and answers may go on as tasks, where both sides have to say so."""
        self.sampling = sampling
        self.sampling_tools = False
        """Whether the model may be given tools."""
        self.sampling_context = False
        """Whether the model may be given what servers know."""
        self.elicitation = elicitation
        self.url_elicitation = url_elicitation
        self.experimental = experimental
        self.forwarding: Mapping[str, Any] = {}
        """The handlers that ask whoever made the call, by the attribute that they are meant for."""
        self.named: Mapping[str, dict[str, Any]] = {}
        """Extensions that are declared, and no more is known of."""
        self.extensions = Extensions()
        if isinstance(extensions, Mapping):
            for name in extensions:
                check_identifier(name)
            self.named = extensions
        elif extensions is not None:
            self.extensions = Extensions(extensions)
        self.has_tasks = self._with_tasks()
        """Whether servers may answer calls with tasks of their own accord."""
        self.list_roots: Callable[[ClientSession], Any] | None = None
        self.roots: dict[str, latest.Root] | None = None
        """The roots by URI; None if the client tells of none, or has a function that gives them."""
        if callable(roots):
            self.list_roots = roots
        elif roots is not None:
            self.roots = {root.uri: root for root in map(as_root, roots)}

    def _with_tasks(self) -> bool:
        if not self.tasks and not self.extensions:
            return False
        # Most clients have no extensions, and need not load their types.
        from mcp_wire.extensions.tasks import EXTENSION

        if self.tasks and EXTENSION not in self.extensions:
            self.extensions.add(EXTENSION)
        return EXTENSION in self.extensions

    @property
    def forwards(self) -> frozenset[str]:
        """Of the capabilities, those for which whoever made the call is asked."""
        if not self.forwarding:
            return frozenset()
        answers = {"elicitation": "elicitation", "sampling": "sampling", "roots": "list_roots"}
        return frozenset(
            capability
            for capability, name in answers.items()
            if getattr(self, name) is self.forwarding[name]
        )

    @property
    def has_roots(self) -> bool:
        """Whether servers may ask for roots."""
        return self.roots is not None or self.list_roots is not None

    def copy(self) -> ClientCallbacks:
        """What a session that begins now keeps to. The roots themselves stay shared."""
        made = ClientCallbacks()
        vars(made).update(vars(self))
        made.extensions = self.extensions.copy()
        return made

    def capabilities(self, profile: Profile) -> Any:
        """ClientCapabilities of a revision: what is offered, as far as it knows it."""
        extensions, experimental = self.extensions.capabilities(CLIENT, profile)
        known = latest.ClientCapabilities(
            experimental={**(self.experimental or {}), **experimental} or None,
            extensions={**self.named, **extensions} or None,
            roots=self._roots_capability(profile),
            sampling=self._sampling_capability(profile),
            elicitation=self._elicitation_capability(profile),
        )
        declared = project(known, profile.revision).value
        if not self.answers_with_tasks(profile):
            return declared
        return msgspec.structs.replace(declared, tasks=self._tasks_capability(profile))

    def answers_with_tasks(self, profile: Profile) -> bool:
        """Whether servers may ask for answers that come later, as tasks of this client."""
        asked = self.sampling is not None or self.answers_elicitation(profile)
        return self.tasks and asked and profile.tasks == "core"

    def answers_elicitation(self, profile: Profile) -> bool:
        """Whether the user can be asked at a revision."""
        urls = profile.url_elicitation != "none" and self.url_elicitation is not None
        return profile.elicit is not None and (self.elicitation is not None or urls)

    def _roots_capability(self, profile: Profile) -> dict[str, Any] | None:
        if not self.has_roots:
            return None
        # Each caller has others: no server is to keep those of one for the next.
        told = profile.roots_changed and "roots" not in self.forwards
        return {"listChanged": True} if told else {}

    def _sampling_capability(self, profile: Profile) -> latest.SamplingCapability | None:
        if self.sampling is None:
            return None
        parts = profile.declares_sampling_parts
        return latest.SamplingCapability(
            context={} if parts and self.sampling_context else None,
            tools={} if parts and self.sampling_tools else None,
        )

    def _elicitation_capability(self, profile: Profile) -> latest.ElicitationCapability | None:
        if not self.answers_elicitation(profile):
            return None
        if profile.url_elicitation == "none":
            return latest.ElicitationCapability()
        return latest.ElicitationCapability(
            form=None if self.elicitation is None else {},
            url=None if self.url_elicitation is None else {},
        )

    def _tasks_capability(self, profile: Profile) -> Any:
        types: Any = mcp_wire.types(profile.revision)
        requests = types.ClientTaskRequests(
            sampling=types.SamplingTaskRequests(create_message={}) if self.sampling else None,
            elicitation=(
                types.ElicitationTaskRequests(create={})
                if self.answers_elicitation(profile)
                else None
            ),
        )
        return types.ClientTasksCapability(list={}, cancel={}, requests=requests)


def as_root(root: RootLike) -> latest.Root:
    """A root as servers are told of it.

    Raises:
        UsageError: a URI that is no `file://` URI.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/client/roots#root
    """
    if isinstance(root, latest.Root):
        found = root
    elif isinstance(root, str) and "://" in root:
        found = latest.Root(uri=root)
    else:
        # Loaded for roots that are paths only.
        from pathlib import Path

        path = Path(root).absolute()
        found = latest.Root(uri=path.as_uri(), name=path.name or None)
    if not found.uri.startswith("file://"):
        raise UsageError(f"root {found.uri!r}: expected a path or a file:// URI")
    return found

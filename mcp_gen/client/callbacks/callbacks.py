"""Client callbacks: sampling, elicitation and roots handlers, and the declared capabilities."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

import mcp_wire
from mcp_gen.core.errors import UrlElicitation, UsageError
from mcp_gen.core.extensions.extensions import CLIENT, ExtensionArg, Extensions
from mcp_gen.core.extensions.names import check_identifier
from mcp_gen.core.mistakes.checks import check_callable
from mcp_gen.core.projection.project import restate
from mcp_wire import latest

if TYPE_CHECKING:
    from mcp_gen.client.requests.argument_values import Arguments
    from mcp_gen.client.session.session import ClientSession
    from mcp_wire.profile import Profile

__all__ = [
    "FORM_ARGUMENTS",
    "ROOTS_ARGUMENTS",
    "URL_ARGUMENTS",
    "Action",
    "ClientCallbacks",
    "FormHandler",
    "RootLike",
    "RootsSource",
    "SamplingHandler",
    "UrlHandler",
]

Action: TypeAlias = Literal["accept", "decline", "cancel"]
_Sampled: TypeAlias = "latest.CreateMessageResult | None"
_Filled: TypeAlias = "latest.ElicitResult | Arguments"
_UrlAnswer: TypeAlias = "latest.ElicitResult | Action"

SamplingHandler: TypeAlias = (
    "Callable[[ClientSession, latest.CreateMessageRequestParams], _Sampled | Awaitable[_Sampled]]"
)
"""Sampling handler: `handler(session, params)`, sync or async; None means the user rejected it."""
FormHandler: TypeAlias = (
    "Callable[[ClientSession, latest.ElicitRequestFormParams], _Filled | Awaitable[_Filled]]"
)
"""Form elicitation handler: `handler(session, params)`, sync or async.

A mapping, or an object with fields such as a model or a dataclass, means `accept`.
"""
UrlHandler: TypeAlias = (
    "Callable[[ClientSession, UrlElicitation], _UrlAnswer | Awaitable[_UrlAnswer]]"
)
"""URL elicitation handler: `handler(session, page)`, sync or async."""
RootLike: TypeAlias = "latest.Root | str | os.PathLike[str]"
"""A `Root`, a `file://` URI, or a path."""
_Roots: TypeAlias = "Iterable[RootLike]"
RootsSource: TypeAlias = "_Roots | Callable[[ClientSession], _Roots | Awaitable[_Roots]]"
"""The roots, or a function `roots(session)`, sync or async, called on each `roots/list`."""


FORM_ARGUMENTS = ("session", "params")
"""Arguments of the handlers of elicitation in form mode, and of sampling."""
URL_ARGUMENTS = ("session", "page")
"""Arguments of the handler of elicitation in URL mode."""
ROOTS_ARGUMENTS = ("session",)
"""Arguments of the function that returns roots."""


class ClientCallbacks:
    """Handlers for server requests; a capability without a handler is not declared.

    Args:
        sampling: Handler of `sampling/createMessage`.
        elicitation: Handler of `elicitation/create` in form mode.
        url_elicitation: Handler of `elicitation/create` in URL mode.
        roots: The roots, or a function that returns them.
        experimental: Experimental capabilities, declared unchanged.
        extensions: EXTENSION objects, alone or with settings; or a mapping of names to settings
            that are declared only.
        tasks: True if tool calls and answers may run as tasks, where the protocol needs consent.
        schema_timeout_s: Seconds that checking the answers to one form may take.

    Raises:
        UsageError: A root or an extension identifier is invalid, or a handler takes other
            arguments.
    """

    def __init__(
        self,
        *,
        sampling: SamplingHandler | None = None,
        elicitation: FormHandler | None = None,
        url_elicitation: UrlHandler | None = None,
        roots: RootsSource | None = None,
        experimental: Mapping[str, dict[str, Any]] | None = None,
        extensions: Mapping[str, dict[str, Any]] | Sequence[ExtensionArg] | None = None,
        tasks: bool = False,
        schema_timeout_s: float = 1.0,
    ) -> None:
        if sampling is not None:
            check_callable("Client: sampling", sampling, FORM_ARGUMENTS)
        if elicitation is not None:
            check_callable("Client: elicitation", elicitation, FORM_ARGUMENTS)
        if url_elicitation is not None:
            check_callable("Client: url_elicitation", url_elicitation, URL_ARGUMENTS)
        self.schema_timeout_s = schema_timeout_s
        """Seconds that checking the answers to one form may take."""
        self.tasks = tasks
        """True if calls and answers may run as tasks where the protocol requires consent."""
        self.sampling = sampling
        self.sampling_tools = False
        """True if the model may be given tools."""
        self.sampling_context = False
        """True if the model may be given context from servers."""
        self.elicitation = elicitation
        self.url_elicitation = url_elicitation
        self.experimental = experimental
        self.forwarding: Mapping[str, Any] = {}
        """Handlers that forward a request to the caller, by the attribute they are set on."""
        self.declared: latest.ClientCapabilities | None = None
        """Capabilities of the one client that this one stands for; None: it is its own."""
        self.named: Mapping[str, dict[str, Any]] = {}
        """Extensions that are declared by name only."""
        self.extensions = Extensions()
        if isinstance(extensions, Mapping):
            for name in extensions:
                check_identifier(name)
            self.named = extensions
        elif extensions is not None:
            self.extensions = Extensions(extensions)
        self.has_tasks = self._add_tasks_extension()
        """True if servers may answer tool calls with tasks unrequested (tasks extension)."""
        self.list_roots: Callable[[ClientSession], Any] | None = None
        self.roots: dict[str, latest.Root] | None = None
        """The roots by URI; None if the client has no fixed roots."""
        if callable(roots):
            check_callable("Client: roots", roots, ROOTS_ARGUMENTS)
            self.list_roots = roots
        elif isinstance(roots, str | os.PathLike):
            raise UsageError(f"Client: roots={os.fspath(roots)!r}: write `roots=[...]`, a list")
        elif roots is not None:
            self.roots = {root.uri: root for root in map(as_root, roots)}

    def pass_on_extensions(self, named: Mapping[str, Any]) -> None:
        """Know the messages of the extensions that are declared for another client."""
        # Imported here because most clients have no extensions.
        from mcp_wire.extensions.tasks import EXTENSION

        if EXTENSION.identifier in named:
            self.extensions.add(EXTENSION)
            self.has_tasks = True

    def _add_tasks_extension(self) -> bool:
        """Add the tasks extension if `tasks` is set; return True if the client declares it."""
        if not self.tasks and not self.extensions:
            return False
        # Imported here because most clients have no extensions.
        from mcp_wire.extensions.tasks import EXTENSION

        if self.tasks and EXTENSION not in self.extensions:
            self.extensions.add(EXTENSION)
        return EXTENSION in self.extensions

    @property
    def forwards(self) -> frozenset[str]:
        """Capabilities whose requests are forwarded to the caller."""
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
        """True if servers may request roots."""
        return self.roots is not None or self.list_roots is not None

    def copy(self) -> ClientCallbacks:
        """Return a snapshot for a session that starts now; the dict of roots stays shared."""
        copied = ClientCallbacks()
        vars(copied).update(vars(self))
        copied.extensions = self.extensions.copy()
        return copied

    def capabilities(self, profile: Profile) -> Any:
        """Return the ClientCapabilities of a revision, without what the revision lacks."""
        if self.declared is not None:
            return restate(self.declared, profile.revision).value
        extensions, experimental = self.extensions.capabilities(CLIENT, profile)
        capabilities = latest.ClientCapabilities(
            experimental={**(self.experimental or {}), **experimental} or None,
            extensions={**self.named, **extensions} or None,
            roots=self._roots_capability(profile),
            sampling=self._sampling_capability(profile),
            elicitation=self._elicitation_capability(profile),
        )
        declared = restate(capabilities, profile.revision).value
        if not self.answers_with_tasks(profile):
            return declared
        return msgspec.structs.replace(declared, tasks=self._tasks_capability(profile))

    def answers_with_tasks(self, profile: Profile) -> bool:
        """Return True if servers may request answers that run as tasks of this client."""
        has_handler = self.sampling is not None or self.answers_elicitation(profile)
        return self.tasks and has_handler and profile.tasks == "core"

    def answers_elicitation(self, profile: Profile) -> bool:
        """Return True if a revision can reach one of the elicitation handlers."""
        urls = profile.url_elicitation != "none" and self.url_elicitation is not None
        return profile.elicit is not None and (self.elicitation is not None or urls)

    def _roots_capability(self, profile: Profile) -> dict[str, Any] | None:
        if not self.has_roots:
            return None
        # Forwarded roots differ per caller: a server must not cache them across calls.
        is_notified = profile.roots_changed and "roots" not in self.forwards
        return {"listChanged": True} if is_notified else {}

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
    """Return a `Root` for a root, a `file://` URI or a path.

    Raises:
        UsageError: The URI is not a `file://` URI.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/client/roots#root
    """
    if isinstance(root, latest.Root):
        made_root = root
    elif isinstance(root, str) and "://" in root:
        made_root = latest.Root(uri=root)
    else:
        # Loaded only for roots that are paths.
        from pathlib import Path

        path = Path(root).absolute()
        made_root = latest.Root(uri=path.as_uri(), name=path.name or None)
    if not made_root.uri.startswith("file://"):
        raise UsageError(f"root {made_root.uri!r}: expected a path or a file:// URI")
    return made_root

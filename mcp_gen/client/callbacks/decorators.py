"""The part of a client that says what servers may ask of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mcp_gen.client.callbacks.callbacks import FormHandler, SamplingHandler, UrlHandler, as_root
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import ClientCallbacks, RootLike
    from mcp_gen.client.session.session import ClientSession

__all__ = ["CallbackDecorators"]

S = TypeVar("S", bound=SamplingHandler)
F = TypeVar("F", bound=FormHandler)
U = TypeVar("U", bound=UrlHandler)
L = TypeVar("L", bound="Callable[[ClientSession], Any]")


class CallbackDecorators(ABC):
    """Decorators for what servers may ask, and the roots that they are told of.

    A session keeps to what there was when it began: give handlers before you connect.
    """

    def __init__(self, offer: ClientCallbacks) -> None:
        self._offer = offer

    @overload
    def sampling(self, handler: S, /) -> S: ...

    @overload
    def sampling(
        self, handler: None = None, /, *, tools: bool = False, context: bool = False
    ) -> Callable[[S], S]: ...

    def sampling(
        self, handler: Any = None, /, *, tools: bool = False, context: bool = False
    ) -> Any:
        """Answer servers that want a conversation continued: `handler(session, params)`.

        It returns a CreateMessageResult, or None where the user said no. `tools` says that the
        model may be given tools, `context` that it may be given what servers know. What it raises
        the server is told of as an internal error, an McpError as it is; at 2026-07-28, where
        nobody could be told, it ends the call in which the server asked.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/sampling
        """

        def add(handler: Any) -> Any:
            self._offer.sampling = handler
            self._offer.sampling_tools, self._offer.sampling_context = tools, context
            return handler

        return add if handler is None else add(handler)

    def elicitation(self, handler: F) -> F:
        """Show the user a form for a server: `handler(session, params)`.

        It returns an ElicitResult, or the answers by key, which is the same as an accepted form.
        Answers that are left out are taken from the form's defaults.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
        """
        self._offer.elicitation = handler
        return handler

    def url_elicitation(self, handler: U) -> U:
        """Send the user to a page for a server: `handler(session, page)`, with an UrlElicitation.

        It returns what the user said to going there: `accept`, `decline`, `cancel`, or an
        ElicitResult. Show the whole URL and ask first; never fetch it yourself. It is asked, too,
        where a request fails until the user has been somewhere, and the request is made again if
        the user accepts; `ClientSession.wait_elicitation_complete` tells when a page is done with.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests
        """
        self._offer.url_elicitation = handler
        return handler

    def list_roots(self, handler: L) -> L:
        """Tell servers the roots: `handler(session)` gives them each time that a server asks.

        They are roots, `file://` URIs or paths.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/roots
        """
        self._offer.list_roots = handler
        return handler

    async def add_roots(self, *roots: RootLike) -> None:
        """Add roots, or replace those of the same URI; servers are told where they can be.

        Raises:
            UsageError: a root that is none, or a client that was made without `roots`.
        """
        known = self._known_roots()
        before = dict(known)
        known.update((root.uri, root) for root in map(as_root, roots))
        if known != before:
            await self._tell_roots_changed()

    async def remove_roots(self, *roots: RootLike) -> None:
        """Remove roots; servers are told where they can be.

        Raises:
            UsageError: there is no such root, or a client that was made without `roots`.
        """
        known = self._known_roots()
        uris = {as_root(root).uri for root in roots}
        for uri in uris - known.keys():
            raise UsageError(f"remove_roots: there is no root {uri!r}")
        for uri in uris:
            del known[uri]
        if uris:
            await self._tell_roots_changed()

    def _known_roots(self) -> dict[str, Any]:
        if self._offer.roots is None:
            raise UsageError("roots: make the client with `roots=[...]`, so that they are declared")
        return self._offer.roots

    @abstractmethod
    async def _tell_roots_changed(self) -> None:
        """Tell the servers that there are other roots than before."""

"""Callback decorators of `Client`: sampling, elicitation, URL elicitation and roots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mcp_gen.client.callbacks.callbacks import (
    FORM_ARGUMENTS,
    ROOTS_ARGUMENTS,
    URL_ARGUMENTS,
    FormHandler,
    SamplingHandler,
    UrlHandler,
    as_root,
)
from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import check_callable

if TYPE_CHECKING:
    from mcp_gen.client.callbacks.callbacks import ClientCallbacks, RootLike
    from mcp_gen.client.session.session import ClientSession

__all__ = ["CallbackDecorators"]

S = TypeVar("S", bound=SamplingHandler)
F = TypeVar("F", bound=FormHandler)
U = TypeVar("U", bound=UrlHandler)
L = TypeVar("L", bound="Callable[[ClientSession], Any]")


class CallbackDecorators(ABC):
    """Decorators that register handlers for server requests, and methods that change the roots.

    A session uses the handlers that were registered when it connected: register them before
    `Client.connect`.
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
        """Register the handler of `sampling/createMessage`.

        The handler is called as `handler(session, params)`, sync or async. It returns a
        CreateMessageResult, or None if the user rejected the request. An exception is sent to the
        server as an internal error, an McpError unchanged. At 2026-07-28 requests arrive inside
        results (multi round-trip requests), so an exception ends the call in which the server
        asked.

        Args:
            handler: The handler; None when the decorator is called with options.
            tools: True declares `sampling.tools`: the server may pass tools to the model.
            context: True declares `sampling.context`: the server may ask to include context.

        Returns:
            The handler, or a decorator where `handler` is None.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/sampling
        """

        def add(handler: Any) -> Any:
            check_callable("sampling", handler, FORM_ARGUMENTS)
            self._offer.sampling = handler
            self._offer.sampling_tools, self._offer.sampling_context = tools, context
            return handler

        return add if handler is None else add(handler)

    def elicitation(self, handler: F) -> F:
        """Register the handler of `elicitation/create` in form mode.

        The handler shows the user a form. It is called as `handler(session, params)`, sync or
        async, and returns an ElicitResult, or the answers, which is the same as `accept`: a
        mapping, or an object with a field for each, such as a model or a dataclass. Missing
        answers are filled from the defaults of the form.

        Args:
            handler: The handler.

        Returns:
            The handler.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
        """
        check_callable("elicitation", handler, FORM_ARGUMENTS)
        self._offer.elicitation = handler
        return handler

    def url_elicitation(self, handler: U) -> U:
        """Register the handler of `elicitation/create` in URL mode.

        The handler sends the user to a page. It is called as `handler(session, page)` with a
        UrlElicitation, sync or async, and returns `accept`, `decline`, `cancel` or an ElicitResult.
        Show the whole URL and ask for consent first; never fetch the URL yourself.

        The handler is also called when a request fails with a URL elicitation error; the request is
        sent again if the user accepts. `ClientSession.wait_elicitation_complete` waits until the
        server reports that the user has finished with the page.

        Args:
            handler: The handler.

        Returns:
            The handler.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests
        """
        check_callable("url_elicitation", handler, URL_ARGUMENTS)
        self._offer.url_elicitation = handler
        return handler

    def list_roots(self, handler: L) -> L:
        """Register the handler of `roots/list`.

        The handler is called as `handler(session)`, sync or async, on each request. It returns
        roots, `file://` URIs or paths.

        Args:
            handler: The handler.

        Returns:
            The handler.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/client/roots
        """
        check_callable("list_roots", handler, ROOTS_ARGUMENTS)
        self._offer.list_roots = handler
        return handler

    async def add_roots(self, *roots: RootLike) -> None:
        """Add roots, or replace those with the same URI, and send `roots/list_changed`.

        The notification goes to each server whose revision has it. Nothing is sent if nothing
        changed.

        Args:
            roots: Roots, `file://` URIs or paths.

        Raises:
            UsageError: A root is not a `file://` URI, or the client was created without `roots`.
        """
        known = self._known_roots()
        before = dict(known)
        known.update((root.uri, root) for root in map(as_root, roots))
        if known != before:
            await self._tell_roots_changed()

    async def remove_roots(self, *roots: RootLike) -> None:
        """Remove roots and send `roots/list_changed` to each server whose revision has it.

        Roots that are not there are ignored. Nothing is sent if nothing changed.

        Args:
            roots: Roots, `file://` URIs or paths.

        Raises:
            UsageError: A root is not a `file://` URI, or the client was created without `roots`.
        """
        known = self._known_roots()
        uris = {as_root(root).uri for root in roots} & known.keys()
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
        """Send `notifications/roots/list_changed` to the servers."""

"""Watching for list and resource changes, at any revision.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
Source: https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from msgspec import structs

from mcp_gen.core.errors import McpError, McpGenError, RequestTimeout, UsageError
from mcp_gen.core.peer_limits import text_bytes
from mcp_wire import latest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from msgspec import Struct

    from mcp_gen.client.requests.session_calls import ClientSessionView
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_wire.extension import Extension
    from mcp_wire.profile import Profile

__all__ = ["Change", "ChangeWatch", "Subscriptions", "check_extension_filters", "check_uris"]

Kind: TypeAlias = Literal["tools", "prompts", "resources", "resource"]

MAX_WAITING = 10_000
"""Maximum number of undelivered changes; more are dropped with a warning."""

MAX_WAITING_BYTES = 4 * 1024 * 1024
"""Maximum number of bytes of their URIs."""

_KINDS: dict[str, Kind] = {
    "tools_changed": "tools",
    "prompts_changed": "prompts",
    "resources_changed": "resources",
    "resource_updated": "resource",
}

_log = logging.getLogger("mcp_gen.client")


class Change(NamedTuple):
    """A change of a server: one of its lists, or one resource."""

    kind: Kind
    """`tools`, `prompts` or `resources`: the list has changed; `resource`: one was updated."""
    uri: str | None = None
    """URI of the updated resource, possibly a part of a watched one; None for lists."""


class ChangeWatch:
    """Asynchronous iterator over the changes of a server; created by `ClientSession.watch`.

        async with session.watch("file:///a", tools=True) as changes:
            async for change in changes: ...

    Equal changes that are not yet delivered are coalesced. Iteration ends when the server ends the
    subscription, and raises SessionLost when the connection was lost. A watch is used once.

    Args:
        session: The session to watch.
        subscriptions: Registry of the session's watches.
        wanted: The requested changes.
        also: Filters of extensions.
    """

    def __init__(
        self,
        session: ClientSessionView,
        subscriptions: Subscriptions,
        wanted: latest.SubscriptionFilter,
        also: Sequence[Struct] = (),
    ) -> None:
        self._session = session
        self._subscriptions = subscriptions
        self._wanted = wanted
        self._uris = frozenset(wanted.resource_subscriptions or ())
        """URIs of the watched resources."""
        self._also = also
        self.honoured: latest.SubscriptionFilter = latest.SubscriptionFilter()
        """The part of the requested changes that the server will notify of; set by `async with`."""
        self.skips_refused = False
        """True to leave out resources whose subscription the server refuses; see `honoured`."""
        self._pending: dict[Change, None] = {}
        self._pending_bytes = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakeup: asyncio.Future[None] | None = None
        self._started = self._ended = False
        self._error: BaseException | None = None
        self._id: RequestId | None = None
        self._listening: asyncio.Task[None] | None = None
        self._acknowledged: asyncio.Future[None] | None = None
        self._subscribed: list[str] = []
        """URIs of the resources that this watch is subscribed to."""

    async def __aenter__(self) -> ChangeWatch:
        """Start the subscription and wait until the server has confirmed it.

        Raises:
            UsageError: The watch was used before.
            McpError: The server rejected the subscription.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.
        """
        if self._started:
            raise UsageError("watch: used before; call `session.watch` again")
        self._started = True
        self._loop = asyncio.get_running_loop()
        self._subscriptions.watches.add(self)
        try:
            if self._session.profile.listen:
                await self._listen()
            else:
                await self._subscribe()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the subscription."""
        await self._end()

    def __aiter__(self) -> ChangeWatch:
        return self

    async def __anext__(self) -> Change:
        """Return the next change.

        Raises:
            SessionLost: The connection was lost.
            UsageError: The watch was not started with `async with`.
        """
        if self._loop is None:
            raise UsageError("watch: write `async with session.watch(...) as changes`")
        while True:
            if self._pending:
                change = next(iter(self._pending))
                del self._pending[change]
                self._pending_bytes -= text_bytes(change.uri or "")
                return change
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._wakeup = self._loop.create_future()
            await self._wakeup

    def agreed(self, extension: Extension) -> Any:
        """Return the part of an extension's filter that the server will notify of.

        Args:
            extension: The EXTENSION of a generated package.

        Returns:
            An instance of the type `extension.agreed`.
        """
        names: tuple[str, ...] = extension.agreed.__struct_fields__
        fields = ((name, getattr(self.honoured, name, None)) for name in names)
        return extension.agreed(**{name: value for name, value in fields if value is not None})

    # --- called by the session ---

    def on_change(self, event: str, params: Any) -> bool | None:
        """Handle a notification; `event` is its attribute name of Profile.

        Returns:
            True if it is a change that was asked for, or what else belongs to this watch; False if
            nobody asked for it: it is dropped. None if it belongs to no watch, or to another one.
        """
        listens = self._session.profile.listen is not None
        if listens and not self._is_own(params):
            if event == "cancelled" and params.request_id == self._id and self._id is not None:
                self._finish(None)
            return None
        if event == "subscription_acknowledged":
            self.honoured, is_asked = _restricted(params.notifications, self._wanted)
            if self._acknowledged is not None and not self._acknowledged.done():
                self._acknowledged.set_result(None)
            return is_asked
        kind = _KINDS.get(event)
        if kind is None:
            return None
        change = Change(kind, getattr(params, "uri", None))
        if not self._wants(change, self._wanted if listens else self.honoured):
            return False if listens else None
        size_bytes = text_bytes(change.uri or "")
        if change in self._pending:
            pass  # told already
        elif (
            len(self._pending) < MAX_WAITING
            and self._pending_bytes + size_bytes <= MAX_WAITING_BYTES
        ):
            self._pending[change] = None
            self._pending_bytes += size_bytes
        else:
            _log.warning("watch: more changes than are looked at: %s is dropped", kind)
        self._wake()
        return True

    def on_disconnect(self, error: BaseException) -> None:
        """End the watch with an error: the connection was lost."""
        self._finish(error)

    def _is_own(self, params: Any) -> bool:
        key = self._session.profile.subscription_id_key or ""
        meta: dict[str, Any] = getattr(params, "meta", None) or {}
        id = meta.get(key)
        # The ids 1 and "1" differ, and True is no id, though it equals 1.
        return self._id is not None and id == self._id and id.__class__ is self._id.__class__

    def _wants(self, change: Change, wanted: latest.SubscriptionFilter) -> bool:
        lists = {
            "tools": wanted.tools_list_changed,
            "prompts": wanted.prompts_list_changed,
            "resources": wanted.resources_list_changed,
        }
        if change.uri is None:
            return bool(lists.get(change.kind))
        if change.uri in self._uris:
            return True
        if not self._session.profile.sub_resource_updates:
            return False
        return any(_is_part(change.uri, uri) for uri in self._uris)

    def _finish(self, error: BaseException | None) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    # --- subscriptions/listen ---

    async def _listen(self) -> None:
        assert self._loop
        self._acknowledged = self._loop.create_future()
        self._listening = self._loop.create_task(self._wait_for_end())
        timeout_s = self._session.default_timeout_s
        pending: set[Any] = {self._acknowledged, self._listening}
        await asyncio.wait(pending, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if self._acknowledged.done():
            return
        if self._ended and self._error is not None:
            raise self._error
        if not self._ended:
            raise RequestTimeout(f"watch: no acknowledgement in {timeout_s:g} s")

    async def _wait_for_end(self) -> None:
        try:
            await self._session.listen(self._wanted, self._opened, self._also)
        except Exception as error:
            # Also what is no McpGenError, such as a filter that cannot be encoded.
            self._finish(error)
        else:
            self._finish(None)

    def _opened(self, id: RequestId) -> None:
        self._id = id

    # --- resources/subscribe ---

    async def _subscribe(self) -> None:
        declared, wanted = self._session.opening.capabilities, self._wanted
        resources = declared.resources
        uris: Iterable[str] = wanted.resource_subscriptions or ()
        if resources is None or not resources.subscribe:
            uris = ()
        for uri in uris:
            try:
                await self._subscriptions.hold(uri)
            except McpError as error:
                if not self.skips_refused:
                    raise
                _log.debug("watch: a resource is left out: %s", error)
            else:
                self._subscribed.append(uri)
        self._uris = frozenset(self._subscribed)
        self.honoured = latest.SubscriptionFilter(
            tools_list_changed=_granted(wanted.tools_list_changed, declared.tools),
            prompts_list_changed=_granted(wanted.prompts_list_changed, declared.prompts),
            resources_list_changed=_granted(wanted.resources_list_changed, resources),
            resource_subscriptions=self._subscribed or None,
        )

    async def _end(self) -> None:
        self._subscriptions.watches.discard(self)
        self._finish(None)
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        subscribed, self._subscribed = self._subscribed, []
        for uri in subscribed:
            # A lost session has lost its subscriptions, too.
            with contextlib.suppress(McpGenError):
                await self._subscriptions.release(uri)


class Subscriptions:
    """Registry of open watches, with one `resources/subscribe` per URI."""

    def __init__(self, session: ClientSessionView) -> None:
        self._session = session
        self.watches: set[ChangeWatch] = set()
        """The open watches."""
        self._holders: dict[str, int] = {}

    def forget(self) -> None:
        """Drop all subscriptions: a new connection has none."""
        self._holders.clear()

    async def hold(self, uri: str) -> None:
        """Count a holder of a URI; send `resources/subscribe` for the first one."""
        self._holders[uri] = self._holders.get(uri, 0) + 1
        if self._holders[uri] > 1:
            return
        try:
            await self._session.subscribe(uri)
        except BaseException:
            self._drop(uri)
            raise

    async def release(self, uri: str) -> None:
        """Remove a holder of a URI; send `resources/unsubscribe` after the last one."""
        if self._drop(uri):
            await self._session.unsubscribe(uri)

    async def renew(self) -> None:
        """Send `resources/subscribe` again for every URI: the server has a new session."""
        for uri in list(self._holders):
            await self._session.subscribe(uri)

    def _drop(self, uri: str) -> bool:
        left = self._holders.get(uri, 0) - 1
        if left > 0:
            self._holders[uri] = left
            return False
        return self._holders.pop(uri, None) is not None


def check_extension_filters(
    filters: Sequence[Struct], extensions: Extensions, profile: Profile
) -> None:
    """Check the filters of extensions in a subscription.

    Raises:
        UsageError: The revision has no `subscriptions/listen`, or no declared extension has such a
            filter.
    """
    if filters and profile.listen is None:
        raise UsageError(f"{profile.revision} has no request to listen with")
    declared = extensions.at(profile)
    for one in filters:
        if not any(extension.wanted is type(one) for extension in declared):
            raise UsageError(
                f"watch: {type(one).__name__} is of no extension that this client declares here"
            )


def check_uris(uris: tuple[Any, ...]) -> None:
    """Check the URIs of a watch.

    Raises:
        UsageError: One of them is no text.
    """
    for uri in uris:
        if not isinstance(uri, str):
            raise UsageError(
                "watch: expected each URI as a text of its own, as in "
                f'`watch("note://a", "note://b")`, got {type(uri).__name__}'
            )


def _is_part(uri: str, whole: str) -> bool:
    """Return True if a URI is of a part of another resource: below its path, or a query of it."""
    if not uri.startswith(whole):
        return False
    return whole.endswith("/") or uri[len(whole) : len(whole) + 1] in ("/", "?", "#")


def _restricted(granted: Any, wanted: latest.SubscriptionFilter) -> tuple[Any, bool]:
    """Return what was granted of what was asked for, and True if that was all."""
    uris = frozenset(wanted.resource_subscriptions or ())
    kept = {
        "tools_list_changed": granted.tools_list_changed if wanted.tools_list_changed else None,
        "prompts_list_changed": (
            granted.prompts_list_changed if wanted.prompts_list_changed else None
        ),
        "resources_list_changed": (
            granted.resources_list_changed if wanted.resources_list_changed else None
        ),
        "resource_subscriptions": [
            uri for uri in granted.resource_subscriptions or () if uri in uris
        ]
        or None,
    }
    is_asked = all((getattr(granted, name) or None) == (kept[name] or None) for name in kept)
    return (granted if is_asked else structs.replace(granted, **kept)), is_asked


def _granted(wanted: bool | None, declared: Any) -> bool | None:
    return True if wanted and declared is not None and declared.list_changed else None

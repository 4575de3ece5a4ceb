"""Hearing of a server's changes, whichever way its revision has for that.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions and
https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from mcp_gen.core.errors import McpGenError, RequestTimeout, UsageError
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

__all__ = ["Change", "ChangeWatch", "Subscriptions", "check_extension_filters"]

Kind: TypeAlias = Literal["tools", "prompts", "resources", "resource"]

MAX_WAITING = 10_000
"""How many different changes wait to be looked at before more are dropped."""

_KINDS: dict[str, Kind] = {
    "tools_changed": "tools",
    "prompts_changed": "prompts",
    "resources_changed": "resources",
    "resource_updated": "resource",
}

_log = logging.getLogger("mcp_gen.client")


class Change(NamedTuple):
    """Something of a server has changed: one of its lists, or one resource."""

    kind: Kind
    """`tools`, `prompts`, `resources`: there are others than before; `resource`: it is another."""
    uri: str | None = None
    """Which resource; it may be a part of one that is watched."""


class ChangeWatch:
    """The changes of a server, as they come: made by `ClientSession.watch`.

    async with session.watch("file:///a", tools=True) as changes:
        async for change in changes: ...

    What has changed several times before it was looked at is told once. Iteration ends when the
    server ends the subscription in good order; it raises SessionLost when the session was lost.
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
        self._also = also
        self.honoured: latest.SubscriptionFilter = latest.SubscriptionFilter()
        """What the server will tell of, of what was wanted; known once the watch has begun."""
        self._waiting: dict[Change, None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._woken: asyncio.Future[None] | None = None
        self._begun = self._over = False
        self._error: BaseException | None = None
        self._id: RequestId | None = None
        self._listening: asyncio.Task[None] | None = None
        self._acknowledged: asyncio.Future[None] | None = None
        self._held: list[str] = []
        """The resources that were subscribed to for this watch."""

    async def __aenter__(self) -> ChangeWatch:
        """Begin to hear.

        Raises:
            McpError: the server would not have it.
            RequestTimeout, SessionLost: it did not answer, or went away.
        """
        if self._begun:
            raise UsageError("watch: used before; call `session.watch` again")
        self._begun = True
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
        await self._end()

    def __aiter__(self) -> ChangeWatch:
        return self

    async def __anext__(self) -> Change:
        """The next change.

        Raises:
            SessionLost: there will be none, for the session was lost.
            UsageError: the watch has not begun: use `async with`.
        """
        if self._loop is None:
            raise UsageError("watch: write `async with session.watch(...) as changes`")
        while True:
            if self._waiting:
                change = next(iter(self._waiting))
                del self._waiting[change]
                return change
            if self._over:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._woken = self._loop.create_future()
            await self._woken

    def agreed(self, extension: Extension) -> Any:
        """What the server will tell of an extension, as the type that it names as `agreed`."""
        names: tuple[str, ...] = extension.agreed.__struct_fields__
        fields = ((name, getattr(self.honoured, name, None)) for name in names)
        return extension.agreed(**{name: value for name, value in fields if value is not None})

    # --- what the session calls ---

    def on_change(self, news: str, params: Any) -> None:
        """A notification came; `news` is its place on a Profile."""
        if self._session.profile.listen and not self._is_mine(params):
            if news == "cancelled" and params.request_id == self._id and self._id is not None:
                self._finish(None)
            return
        if news == "subscription_acknowledged":
            self.honoured = params.notifications
            if self._acknowledged is not None and not self._acknowledged.done():
                self._acknowledged.set_result(None)
            return
        kind = _KINDS.get(news)
        if kind is None:
            return
        change = Change(kind, getattr(params, "uri", None))
        if self._session.profile.listen is None and not self._wants(change):
            return
        if len(self._waiting) < MAX_WAITING:
            self._waiting[change] = None
        elif change not in self._waiting:
            _log.warning("watch: more changes than are looked at: %s is dropped", kind)
        self._wake()

    def on_disconnect(self, error: BaseException) -> None:
        """The session was lost."""
        self._finish(error)

    def _is_mine(self, params: Any) -> bool:
        key = self._session.profile.subscription_id_key or ""
        meta: dict[str, Any] = getattr(params, "meta", None) or {}
        id = meta.get(key)
        # 1 and "1" are two requests, and True is none.
        return self._id is not None and id == self._id and id.__class__ is self._id.__class__

    def _wants(self, change: Change) -> bool:
        wanted = self.honoured
        lists = {
            "tools": wanted.tools_list_changed,
            "prompts": wanted.prompts_list_changed,
            "resources": wanted.resources_list_changed,
        }
        if change.uri is None:
            return bool(lists.get(change.kind))
        return any(change.uri.startswith(uri) for uri in wanted.resource_subscriptions or ())

    def _finish(self, error: BaseException | None) -> None:
        if not self._over:
            self._over, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    # --- one request that stays open ---

    async def _listen(self) -> None:
        assert self._loop
        self._acknowledged = self._loop.create_future()
        self._listening = self._loop.create_task(self._wait_for_end())
        timeout_s = self._session.default_timeout_s
        begun: set[Any] = {self._acknowledged, self._listening}
        await asyncio.wait(begun, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if self._acknowledged.done():
            return
        if self._over and self._error is not None:
            raise self._error
        if not self._over:
            raise RequestTimeout(f"watch: no acknowledgement in {timeout_s:g} s")

    async def _wait_for_end(self) -> None:
        try:
            await self._session.listen(self._wanted, self._opened, self._also)
        except McpGenError as error:
            self._finish(error)
        else:
            self._finish(None)

    def _opened(self, id: RequestId) -> None:
        self._id = id

    # --- a subscription for each resource ---

    async def _subscribe(self) -> None:
        declared, wanted = self._session.server_capabilities, self._wanted
        resources = declared.resources
        uris: Iterable[str] = wanted.resource_subscriptions or ()
        if resources is None or not resources.subscribe:
            uris = ()
        for uri in uris:
            await self._subscriptions.hold(uri)
            self._held.append(uri)
        self.honoured = latest.SubscriptionFilter(
            tools_list_changed=_both(wanted.tools_list_changed, declared.tools),
            prompts_list_changed=_both(wanted.prompts_list_changed, declared.prompts),
            resources_list_changed=_both(wanted.resources_list_changed, resources),
            resource_subscriptions=self._held or None,
        )

    async def _end(self) -> None:
        self._subscriptions.watches.discard(self)
        self._finish(None)
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
        held, self._held = self._held, []
        for uri in held:
            # The session may be gone, and its subscriptions with it.
            with contextlib.suppress(McpGenError):
                await self._subscriptions.release(uri)


class Subscriptions:
    """Open watches, and the resources they subscribe to, each once however many watch it."""

    def __init__(self, session: ClientSessionView) -> None:
        self._session = session
        self.watches: set[ChangeWatch] = set()
        """The watches that are open."""
        self._holders: dict[str, int] = {}

    def forget(self) -> None:
        """Start over: a new connection has no subscriptions."""
        self._holders.clear()

    async def hold(self, uri: str) -> None:
        """Subscribe, unless somebody has."""
        self._holders[uri] = self._holders.get(uri, 0) + 1
        if self._holders[uri] > 1:
            return
        try:
            await self._session.subscribe(uri)
        except BaseException:
            self._drop(uri)
            raise

    async def release(self, uri: str) -> None:
        """Unsubscribe, unless somebody else needs it."""
        if self._drop(uri):
            await self._session.unsubscribe(uri)

    async def renew(self) -> None:
        """Subscribe once more: the server has forgotten."""
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
    """Check what a program wants extensions to add to a subscription.

    Raises:
        UsageError: the revision has no request for it, or no declared extension has such a filter.
    """
    if filters and profile.listen is None:
        raise UsageError(f"{profile.revision} has no request to listen with")
    offered = extensions.at(profile)
    for one in filters:
        if not any(extension.wanted is type(one) for extension in offered):
            raise UsageError(
                f"watch: {type(one).__name__} is of no extension that this client declares here"
            )


def _both(wanted: bool | None, declared: Any) -> bool | None:
    return True if wanted and declared is not None and declared.list_changed else None

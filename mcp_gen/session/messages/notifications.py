"""Receives notifications: decodes them once, applies them, runs hooks in tasks of their own."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from mcp_gen.core.peer_limits import PeerLimits
from mcp_gen.core.peer_values import shortened
from mcp_gen.session.messages.current import CURRENT
from mcp_gen.session.messages.middleware import wrap

if TYPE_CHECKING:
    import logging
    from collections.abc import Coroutine, Mapping, Sequence

    from mcp_gen.core.protocol_state import NotificationReceived
    from mcp_gen.session.messages.middleware import Inner, Middleware
    from mcp_wire.hook_machinery import HookSet
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["Act", "NotificationReceiver", "UnknownHandler"]

Act: TypeAlias = "tuple[Method[Any, Any] | None, Callable[[Any], None]]"
"""Method row of a notification, and the function of the session that takes its params."""
UnknownHandler: TypeAlias = Callable[[Any, str, Any], Any]
"""Handler of unknown notifications, sync or async: takes the context, the method, plain params."""
Rows: TypeAlias = "Mapping[str, Callable[[Profile], Method[Any, Any] | None]]"
"""Method rows of custom notifications, by name: each is made for a revision."""


class NotificationReceiver:
    """Receiver of the notifications of one peer, or of all clients without a session.

    It owns the tasks in which notification hooks run.

    Args:
        hooks: Hooks of this side.
        log: Logger for notifications that are ignored, malformed or whose hooks fail.
        middleware: Middleware around the hooks. It is read at each notification, so that it may
            be added later.
        custom: Method rows of notifications outside the protocol, by name. It is read at each
            notification, too.
        most: Most tasks in which hooks of messages run; then the hooks of further ones are left
            out.
        unknown: Handlers of notifications that no row is known for. It is read at each
            notification, too.
    """

    __slots__ = (
        "_custom",
        "_hooks",
        "_left_out",
        "_log",
        "_middleware",
        "_most",
        "_tasks",
        "_unknown",
    )

    def __init__(
        self,
        hooks: HookSet,
        log: logging.Logger,
        middleware: Sequence[Middleware] = (),
        custom: Rows | None = None,
        most: int = PeerLimits().max_hook_tasks,
        unknown: Sequence[UnknownHandler] = (),
    ) -> None:
        self._hooks = hooks
        self._log = log
        self._middleware = middleware
        self._custom: Rows = {} if custom is None else custom
        self._tasks: set[asyncio.Task[None]] | None = None
        """Tasks of hooks; None before the first, as an empty set takes 216 bytes."""
        self._most = most
        self._unknown = unknown
        self._left_out = False

    def receive(
        self,
        event: NotificationReceived,
        profile: Profile,
        context: Callable[[Profile], Any],
        *acts: Act,
    ) -> None:
        """Decode a notification, apply it to the session, and start its hooks.

        Nothing is raised for content that the peer sent. Malformed params are logged. Params that
        neither the session nor a hook uses are not decoded.

        Args:
            event: The notification, with params not decoded.
            profile: Profile of the revision to decode it at.
            context: Makes the context of hooks and middleware.
            acts: Pairs of a method row and the function of the session that takes its params.
        """
        method = profile.methods.get(event.method)
        if event.method in self._custom:
            # A notification of an extension, or one of the protocol that an extension adds to.
            method = self._custom[event.method](profile) or method
        if method is None:
            if self._unknown:
                self._pass_unknown(event, context(profile))
            else:
                self._log.debug("ignored the notification %s", event.method)
            return
        act = next((act for row, act in acts if row is method), None)
        point = self._hooks.notices.get(event.method)
        if act is None and not point and not self._middleware:
            return
        try:
            params = method.decode_params(event.params)
        except msgspec.DecodeError as error:
            self._log.warning("%s: %s", event.method, error)
            return
        if act:
            act(params)
        notify: Inner = point.tell if point else _no_hook
        if self._middleware:
            notify = wrap(self._middleware, method.name, notify, answered=False)
        if notify is not _no_hook:
            self.run_limited(self._run_hooks(method.name, notify, context(profile), params))

    def _pass_unknown(self, event: NotificationReceived, context: Any) -> None:
        try:
            params = msgspec.json.decode(event.params) if event.params else None
        except msgspec.DecodeError as error:
            self._log.warning("%s: %s", shortened(event.method), error)
            return
        for handler in self._unknown:

            async def notify(context: Any, params: Any, handler: UnknownHandler = handler) -> None:
                answer = handler(context, event.method, params)
                if inspect.isawaitable(answer):
                    await answer

            self.run_limited(self._run_hooks(event.method, notify, context, params))

    async def _run_hooks(self, name: str, notify: Inner, context: Any, params: Any) -> None:
        CURRENT.set(context)
        try:
            await notify(context, params)
        except Exception:
            # Nobody awaits a notification, so this log entry is the only trace of the error.
            self._log.exception("%s failed", name)

    def run_limited(self, hooks: Coroutine[Any, Any, None]) -> None:
        """Run hooks that a message of the peer causes, unless too many run already."""
        running = len(self._tasks or ())
        if running < self._most:
            self._left_out = self._left_out and running > self._most // 2
            self.run(hooks)
            return
        hooks.close()
        if not self._left_out:
            # Once for many: a peer may send any number of messages.
            self._left_out = True
            self._log.warning(
                "hooks of %d messages are still running: more are left out", self._most
            )

    def run(self, hooks: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine, such as hooks, in a task of its own."""
        task = asyncio.get_running_loop().create_task(hooks)
        if self._tasks is None:
            self._tasks = set()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return the tasks of hooks that are running."""
        return list(self._tasks or ())


async def _no_hook(context: Any, params: Any) -> None:
    """Do nothing: no hook is registered."""

"""What a peer tells: read once, acted upon, and told to hooks in tasks of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from mcp_gen.session.messages.middleware import wrap

if TYPE_CHECKING:
    import logging
    from collections.abc import Coroutine, Mapping, Sequence

    from mcp_gen.core.connection import NotificationReceived
    from mcp_gen.session.messages.middleware import Inner, Middleware
    from mcp_wire.hook_points import HookSet
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["Act", "NotificationReceiver"]

Act: TypeAlias = "tuple[Method[Any, Any] | None, Callable[[Any], None]]"
Rows: TypeAlias = "Mapping[str, Callable[[Profile], Method[Any, Any] | None]]"


class NotificationReceiver:
    """The notifications of one peer, or of whoever has no session, and the tasks of their hooks.

    `middleware` wraps what is told; `custom` has the rows of notifications that no revision knows.
    Both are looked at when something comes.
    """

    __slots__ = ("_custom", "_hooks", "_log", "_middleware", "_tasks")

    def __init__(
        self,
        hooks: HookSet,
        log: logging.Logger,
        middleware: Sequence[Middleware] = (),
        custom: Rows | None = None,
    ) -> None:
        self._hooks = hooks
        self._log = log
        self._middleware = middleware
        self._custom: Rows = {} if custom is None else custom
        self._tasks: set[asyncio.Task[None]] = set()

    def receive(
        self,
        event: NotificationReceived,
        profile: Profile,
        context: Callable[[Profile], Any],
        *acts: Act,
    ) -> None:
        """Tell hooks of a notification, with the context that `context` makes for them.

        `acts` are what the session itself does with the params of a notification. Nothing is raised
        for what a peer sent: malformed params are logged, and what nobody listens to is not read.
        """
        method = profile.methods.get(event.method)
        if event.method in self._custom:
            # An extension's, or one of the protocol's that an extension adds to.
            method = self._custom[event.method](profile) or method
        if method is None:
            self._log.debug("ignored the notification %s", event.method)
            return
        act = next((act for heard, act in acts if heard is method), None)
        point = self._hooks.notices.get(event.method)
        if act is None and not point and not self._middleware:
            return
        try:
            params = method.decode_params(event.params)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._log.warning("%s: %s", event.method, error)
            return
        if act:
            act(params)
        tell: Inner = point.tell if point else _no_hook
        if self._middleware:
            tell = wrap(self._middleware, method.name, tell, answered=False)
        if tell is not _no_hook:
            self.run(self._run_hooks(method.name, tell, context(profile), params))

    async def _run_hooks(self, name: str, tell: Inner, context: Any, params: Any) -> None:
        try:
            await tell(context, params)
        except Exception:
            # Nobody waits for a notification, so nobody else would hear of it.
            self._log.exception("%s failed", name)

    def run(self, hooks: Coroutine[Any, Any, None]) -> None:
        """Let hooks run while the session goes on."""
        task = asyncio.get_running_loop().create_task(hooks)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def tasks(self) -> list[asyncio.Task[None]]:
        """The hooks that are running."""
        return list(self._tasks)


async def _no_hook(context: Any, params: Any) -> None:
    """Nobody listens."""

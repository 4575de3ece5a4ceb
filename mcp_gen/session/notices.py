"""What a peer tells: read once, acted upon, and told to hooks in tasks of their own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Coroutine

    from mcp_gen.core.connection import Noticed
    from mcp_wire.hook_points import HookSet
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["Notices"]

Act: TypeAlias = "tuple[Method[Any, Any] | None, Callable[[Any], None]]"


class Notices:
    """The notifications of one peer, or of whoever has no session, and the tasks of their hooks."""

    __slots__ = ("_hooks", "_log", "_tasks")

    def __init__(self, hooks: HookSet, log: logging.Logger) -> None:
        self._hooks = hooks
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()

    def take(
        self, event: Noticed, profile: Profile, context: Callable[[Profile], Any], *acts: Act
    ) -> None:
        """Tell hooks of a notification, with the context that `context` makes for them.

        `acts` are what the session itself does with the params of a notification. Nothing is raised
        for what a peer sent: malformed params are logged, and what nobody listens to is not read.
        """
        method = profile.methods.get(event.method)
        if method is None:
            self._log.debug("ignored the notification %s", event.method)
            return
        act = next((act for heard, act in acts if heard is method), None)
        point = self._hooks.notices.get(event.method)
        if act is None and not point:
            return
        try:
            params = method.decode_params(event.params)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._log.warning("%s: %s", event.method, error)
            return
        if act:
            act(params)
        if point:
            self.listen(point.tell(context(profile), params))

    def listen(self, hooks: Coroutine[Any, Any, None]) -> None:
        """Let hooks run while the session goes on."""
        task = asyncio.get_running_loop().create_task(hooks)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def tasks(self) -> list[asyncio.Task[None]]:
        """The hooks that are running."""
        return list(self._tasks)

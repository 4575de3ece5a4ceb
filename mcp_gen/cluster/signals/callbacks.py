"""Handlers and callbacks of a bus: by topic, and for changes of its state."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, ParamSpec, TypeAlias

from mcp_gen.core.stores.bus import BusMessage

__all__ = ["AnswerHandler", "BusHandlers", "CallbackList", "MessageHandler"]

log = logging.getLogger("mcp_gen.cluster")

MessageHandler: TypeAlias = Callable[[BusMessage], None]
"""Handler of broadcasts."""

AnswerHandler: TypeAlias = Callable[[str, bytes], Awaitable[bytes]]
"""Answers questions: gets the node that asks and the body."""

P = ParamSpec("P")


class CallbackList(Generic[P]):
    """Callbacks of one kind. One that raises is logged, and the others run."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._callbacks: list[Callable[P, None]] = []

    def add(self, callback: Callable[P, None]) -> Callable[[], None]:
        """Register a callback and return a function that removes it."""
        self._callbacks.append(callback)
        return lambda: _discard(self._callbacks, callback)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all callbacks."""
        for callback in tuple(self._callbacks):
            try:
                callback(*args, **kwargs)
            except Exception:
                log.exception("cluster: a callback of %s failed", self._name)


class BusHandlers:
    """Handlers of the topics of one node's bus, and its callbacks."""

    def __init__(self) -> None:
        self.gap: CallbackList[[]] = CallbackList("on_gap")
        self.down: CallbackList[[]] = CallbackList("on_down")
        self.up: CallbackList[[]] = CallbackList("on_up")
        self._handlers: dict[str, list[MessageHandler]] = {}
        self._answers: dict[str, AnswerHandler] = {}

    def on(self, topic: str, handler: MessageHandler) -> Callable[[], None]:
        """Register a handler of broadcasts and return a function that removes it."""
        handlers = self._handlers.setdefault(topic, [])
        handlers.append(handler)
        return lambda: _discard(handlers, handler)

    def answer(self, topic: str, handler: AnswerHandler) -> Callable[[], None]:
        """Register the handler of a topic's questions and return a function that removes it."""
        self._answers[topic] = handler

        def remove() -> None:
            if self._answers.get(topic) is handler:
                del self._answers[topic]

        return remove

    def deliver(self, messages: Iterable[BusMessage]) -> None:
        """Call the handlers of broadcasts, in their order."""
        for message in messages:
            for handler in tuple(self._handlers.get(message.topic, ())):
                try:
                    handler(message)
                except Exception:
                    log.exception("cluster: a handler of %s failed", message.topic)

    async def reply(self, node: str, topic: str, body: bytes) -> bytes | None:
        """Return the answer to a question; None if nobody answers the topic, or the handler fails.

        Args:
            node: The node that asks.
            topic: The topic.
            body: The question.
        """
        handler = self._answers.get(topic)
        if handler is None:
            return None
        try:
            return await handler(node, body)
        except Exception:
            log.exception("cluster: the handler of questions about %s failed", topic)
            return None


def _discard(items: list[Callable[P, None]], item: Callable[P, None]) -> None:
    if item in items:
        items.remove(item)

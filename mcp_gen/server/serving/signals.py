"""Signals that end this process: the first one in good order, a second one at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["EndingSignals"]

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Signals that end a server. Windows has no SIGHUP."""
_REPLACED: dict[str, tuple[Any, ...]] = {
    "SIGINT": (signal.default_int_handler, signal.SIG_DFL),
    "SIGHUP": (signal.SIG_DFL,),
}
"""Handlers that are replaced, by signal; any where a signal has no entry.

`nohup` and background jobs of scripts ignore a signal, which stays so.
"""


class EndingSignals:
    """Calls a function on the first SIGINT, SIGTERM or SIGHUP while the context manager is open.

    From then on the signals have their default action: a second one ends the process at once,
    whatever it is doing, with the exit status of that signal. The function runs in the main thread
    between two steps of the program, so it must only note that the process is to end. In other
    threads, where Python handles no signals, nothing is called.

    Args:
        stop: Called once, by the first signal.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._before: dict[int, Any] = {}

    def __enter__(self) -> EndingSignals:
        if threading.current_thread() is threading.main_thread():
            for name in _NAMES:
                number: signal.Signals | None = getattr(signal, name, None)
                handler: Any = None if number is None else signal.getsignal(number)
                # None: what is not of Python cannot be put back.
                if number is None or handler is None:
                    continue
                if handler in _REPLACED.get(name, (handler,)):
                    self._before[number] = handler
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *raised: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def give_up_order(self) -> None:
        """Let the next signal end the process at once, as if one had come."""
        for number in self._before:
            signal.signal(number, signal.SIG_DFL)

    def _handle(self, number: int, frame: object) -> None:
        self.give_up_order()
        self._stop()

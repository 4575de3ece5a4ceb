"""Shows progress, log messages and prompts on stderr while a server works."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

if TYPE_CHECKING:
    from types import TracebackType

    from rich.progress import TaskID

__all__ = ["Screen", "strip_control"]


class Screen:
    """Terminal on stderr: progress bars, messages and prompts.

    Args:
        quiet: True shows no progress bars. There are none without a terminal either.
        console: The console; one on stderr by default.
    """

    def __init__(self, *, quiet: bool = False, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._bars = self.console.is_terminal and not quiet
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[done]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self._bars,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Screen:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    @property
    def can_ask(self) -> bool:
        """True if stderr and stdin are a terminal: a prompt can be shown and answered."""
        return self.console.is_terminal and sys.stdin.isatty()

    def begin(self, what: str) -> None:
        """Show a progress bar without a known total."""
        self._task = self._progress.add_task(strip_control(what), total=None, done="")

    def report(self, done: float, total: float | None, message: str | None) -> None:
        """Show a progress notification in the bar."""
        if self._task is None:
            return
        done_text = f"{done:g}" if total is None else f"{done:g}/{total:g}"
        self._progress.update(self._task, completed=done, total=total, done=done_text)
        if message:
            self._progress.update(self._task, description=strip_control(message).replace("\n", " "))

    def say(self, text: str, style: str = "") -> None:
        """Print a line above the bars. It is not broken: it may be a link."""
        self.console.print(Text(strip_control(text), style=style), soft_wrap=True)

    def logged(self, session: Any, params: Any) -> None:
        """Print a log message of the server."""
        data: Any = params.data
        name = f"{params.logger}: " if params.logger else ""
        self.say(f"[{params.level}] {name}{data}", "dim")

    async def ask(self, prompt: str) -> str:
        """Prompt for one line, and return it without its line end.

        Raises:
            EOFError: end of input.
        """
        self._progress.stop()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()

        def deliver(line: str | None) -> None:
            if answer.done():
                return
            if line is None:
                answer.set_exception(EOFError())
            else:
                answer.set_result(line)

        def read() -> None:
            try:
                line: str | None = self.console.input(Text(strip_control(prompt)))
            except EOFError:
                line = None
            loop.call_soon_threadsafe(deliver, line)

        # A daemon thread, not the loop's executor: an interrupted command would wait for that.
        threading.Thread(target=read, daemon=True).start()
        try:
            return await answer
        finally:
            self._progress.start()


def strip_control(text: str) -> str:
    """Return text of a server without control characters, which could control the terminal."""
    return "".join(one if one.isprintable() or one in "\n\t" else "�" for one in text)

"""A task that runs here: its handler, how it stands, and who waits for its end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.core.envelope import ErrorObject
from mcp_gen.core.errors import ProtocolError
from mcp_gen.session.kernel.errors import error_for_peer, is_cancelled
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.tasks.host import ReattachableChannel, TaskHost, TaskInput
    from mcp_gen.session.peer.session import Session

__all__ = ["RunningTask"]

FINISH_TRIES = 5
"""How often a store is given what came of a task, each time after twice as long a wait."""

_log = logging.getLogger("mcp_gen.server")


class RunningTask:
    """The task that a tool runs as: `ctx.task`.

    It lives longer than the request that made it, and than its connection.
    """

    def __init__(self, host: TaskHost, record: StoredTask, session: Session | None) -> None:
        self._host = host
        self.record = record
        """How it stands, as it was last written down."""
        self.session = session
        """The session in which somebody asked for it last: there it can be told of."""
        self.loop = asyncio.get_running_loop()
        self.handler: asyncio.Task[None] | None = None
        self.made = False
        """Whether clients can know of it."""
        self.done = False
        """Whether the handler has ended, one way or another."""
        self.result: Any = None
        """What the handler returned, before it is written down."""
        self.failure: BaseException | None = None
        """What it raised instead."""
        self.is_answer = False
        """Whether the request that made it is answered with it."""
        self.tells_progress = False
        """Whether reports of progress change how it stands."""
        self.channel: ReattachableChannel | None = None
        """Where its handler reaches the client, where it is told whose message each is."""
        self.input: TaskInput | None = None
        """What its handler asks, where the client polls for that."""
        self.questions: dict[str, Raw] = {}
        """What the client is asked, by key, where it polls for that."""
        self._decided: asyncio.Future[None] | None = None
        self.on_change: Callable[[], None] = _nothing
        """Called when it stands elsewhere."""
        self._saving = asyncio.Lock()
        self._ended = asyncio.Event()
        self._asking = 0

    @property
    def id(self) -> str:
        """Its id: whoever knows it, and is the client that made it, may ask for it."""
        return self.record.id

    @property
    def status_message(self) -> str | None:
        """What was reported last."""
        return self.record.message

    async def report(self, message: str, *, quietly: bool = False) -> None:
        """Tell in a few words how far the work has come: whoever asks for the task reads it.

        If it is done `quietly`, nobody hears of it who does not ask.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task
        """
        # A handler that does nothing but report would let nobody else have a turn.
        await asyncio.sleep(0)
        if message != self.record.message:
            await self.change(quietly, message=message)

    # --- how it stands ---

    async def change(self, quietly: bool = False, /, **fields: Any) -> bool:
        """Write down how it stands now, and what else is new; false if it is over already."""
        async with self._saving:
            if self.record.over:
                return False
            changed = replace(
                self.record,
                **{
                    "updated_at": self._host.now(),
                    "status": "input_required" if self._wait_for_change else "working",
                    "questions": dict(self.questions),
                    **fields,
                },
            )
            if not self.made:
                self.record = changed
                return True
            kept = await self._host.store.save(changed)
            # If it was not kept, it has been ended or forgotten elsewhere.
            self.record = changed if kept else await self._elsewhere()
        if self.record.over:
            self._ended.set()
        if not quietly:
            self.on_change()
        return kept

    @property
    def _wait_for_change(self) -> bool:
        """Whether it waits for the client."""
        return bool(self._asking or self.questions)

    async def _elsewhere(self) -> StoredTask:
        found = await self._host.store.load(self.id)
        self.stop()
        return replace(self.record, status="cancelled") if found is None else found

    async def wait(self) -> None:
        """Wait until nothing changes any more."""
        await self._ended.wait()

    @asynccontextmanager
    async def pending_input(self) -> AsyncGenerator[None]:
        """While the client is asked, the task says that it waits for input."""
        self._asking += 1
        try:
            if self._asking == 1:
                await self.change()
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                await self.change()

    # --- whether it becomes one ---

    def decide(self) -> None:
        """Its request need not wait any longer to know what to be answered with."""
        if self._decided is not None and not self._decided.done():
            self._decided.set_result(None)

    async def decided(self, grace_s: float) -> None:
        """Wait until its handler has ended or asked something, or for so long."""
        self._decided = self.loop.create_future()
        if not self.done and not self.questions:
            timer = self.loop.call_later(grace_s, self.decide)
            try:
                await self._decided
            finally:
                timer.cancel()

    # --- the handler ---

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run the handler, in a task that no session can end."""
        self.handler = self.loop.create_task(self._run(work))

    async def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            async with self._host.acquire_server():
                self.result = await work
        except (GeneratorExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            # Of the tool's own, or of the server: nothing here can raise to anybody.
            self.failure = error
        finally:
            work.close()
        self.done = True
        self.decide()
        try:
            if self.made:
                await self._finish_sometime()
        finally:
            self._ended.set()
            self._host.handler_ended(self.id)

    async def _finish_sometime(self) -> None:
        # Else one failure of the store would leave a task at work that is none.
        wait_s = self._host.options.poll_interval_s
        for left in reversed(range(FINISH_TRIES)):
            try:
                await self.finish()
                break
            except Exception:
                _log.exception("task %s: its end could not be written down", self.id)
            if left:
                await asyncio.sleep(wait_s)
                wait_s *= 2

    async def finish(self) -> None:
        """Write down what the handler has returned or raised."""
        if self.failure is None:
            try:
                result, is_error = self._host.written(self.result, self.record.revision)
            except Exception as error:
                self.failure = error
            else:
                more = {"message": _said(self.result)} if is_error else {}
                await self.change(status="completed", result=result, is_error=is_error, **more)
        if self.failure is not None:
            told = self._error(self.failure)
            await self.change(status="failed", error=Raw(encode(told)), message=told.message)

    def _error(self, failure: BaseException) -> ErrorObject:
        if isinstance(failure, asyncio.CancelledError) and is_cancelled():
            # Had the client cancelled it, it would be over by now.
            return ErrorObject(ProtocolError.code, "the server has ended")
        return error_for_peer(failure, f"task {self.id}")

    async def cancel(self) -> bool:
        """End it because the client says so; false if it is over already."""
        kept = await self.change(status="cancelled")
        self.stop()
        return kept

    async def expire(self) -> None:
        """End it because its time is over, whether or not that can be written down."""
        try:
            await self.change(status="cancelled")
        finally:
            self.stop()

    def stop(self) -> None:
        """End its handler."""
        if self.handler is not None and self.handler is not asyncio.current_task():
            # In the next turn: a task that is cancelled before it began runs no `finally`.
            self.loop.call_soon(self.handler.cancel)


def _nothing() -> None:
    pass


def _said(result: Any) -> str | None:
    """What a result says first, in few words."""
    blocks: Any = getattr(result, "content", ())
    text: Any = next((getattr(block, "text", None) for block in blocks), None)
    return text[:200] if isinstance(text, str) else None

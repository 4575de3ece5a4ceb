"""RunningTask: a task in this process, its handler and its status (`ctx.task`)."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.core.envelope import ErrorObject
from mcp_gen.core.errors import ProtocolError
from mcp_gen.session.kernel.errors import error_for_peer, is_cancelled, is_store_down
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.tasks.host import ReattachableChannel, TaskHost, TaskInput
    from mcp_gen.session.peer.session import Session

__all__ = ["RunningTask"]

FINISH_TRIES = 5
"""Tries to store the outcome of a task in a store that fails; one that is down counts for none."""
MAX_WAIT_S = 5.0
"""Maximum seconds between two tries, unless clients poll less often; they double each time."""

_log = logging.getLogger("mcp_gen.server")


class RunningTask:
    """The task that a tool runs as: `ctx.task`.

    It outlives the request that created it, and the connection of that request.

    Args:
        host: The manager of the task.
        record: The task as it is stored.
        session: The session of the request that created it; None without sessions.
    """

    def __init__(self, host: TaskHost, record: StoredTask, session: Session | None) -> None:
        self._host = host
        self.record = record
        """The task as it was stored last."""
        self.session = session
        """The session that requested the task last; it gets the status notifications."""
        self.loop = asyncio.get_running_loop()
        self.handler: asyncio.Task[None] | None = None
        self.is_stored = False
        """True once the task is in the store, where clients can see it."""
        self.is_abandoned = False
        """True if the outcome of the handler is dropped: another process runs the task."""
        self.done = False
        """True once the handler has ended."""
        self.result: Any = None
        """Return value of the handler."""
        self.failure: BaseException | None = None
        """Exception of the handler."""
        self.is_answer = False
        """True if the request that created the task is answered with it."""
        self.tells_progress = False
        """True if progress reports change the status message of the task."""
        self.channel: ReattachableChannel | None = None
        """Channel that tags messages with the task; None with the tasks extension."""
        self.input: TaskInput | None = None
        """Input requests of the handler, where the client polls for them; else None."""
        self.questions: dict[str, Raw] = {}
        """Open input requests by key, encoded, where the client polls for them."""
        self._decided: asyncio.Future[None] | None = None
        self.on_change: Callable[[], None] = _ignore
        """Called after each change of the status."""
        self._saving = asyncio.Lock()
        self._ended = asyncio.Event()
        self._open_requests = 0

    @property
    def id(self) -> str:
        """Task id.

        Requests of the principal that created the task may use it; without principals, any client
        that knows it.
        """
        return self.record.id

    @property
    def status_message(self) -> str | None:
        """Status message that was reported last; None if there is none."""
        return self.record.message

    async def report(self, message: str, *, quietly: bool = False) -> None:
        """Set the status message of the task, which clients read with the task.

        Args:
            message: A few words on how far the work has come.
            quietly: True to send no status notification.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task
        """
        # Yield: a handler that only reports would block the event loop.
        await asyncio.sleep(0)
        if message != self.record.message:
            await self.change(quietly, message=message)

    # --- status ---

    async def change(self, quietly: bool = False, /, **fields: Any) -> bool:
        """Store the current status and the given fields of the task.

        Args:
            quietly: True to send no status notification.
            fields: Fields of `StoredTask` to replace.

        Returns:
            False if the task has ended already.
        """
        async with self._saving:
            if self.record.is_final:
                return False
            changed = replace(
                self.record,
                **{
                    "updated_at": self._host.now(),
                    "status": "input_required" if self._waits_for_input else "working",
                    "questions": dict(self.questions),
                    **fields,
                },
            )
            if not self.is_stored:
                self.record = changed
                return True
            saved = await self._host.store.save(changed)
            # Not saved: another process ended the task, or the store removed it.
            self.record = changed if saved else await self._load_ended()
        if self.record.is_final:
            self._ended.set()
        if saved and self._host.nodes is not None and (self.record.is_final or not quietly):
            self._host.nodes.publish(self.record)
        if not quietly and not self.is_abandoned:
            self.on_change()
        return saved

    @property
    def _waits_for_input(self) -> bool:
        """True while the handler waits for a response of the client."""
        return bool(self._open_requests or self.questions)

    async def _load_ended(self) -> StoredTask:
        found = await self._host.store.load(self.id)
        self.stop()
        if found is not None and not found.is_final:
            # Another process runs it now: what is stored is no business of this one any more.
            self.is_abandoned, found = True, None
        return replace(self.record, status="cancelled") if found is None else found

    async def wait(self) -> None:
        """Wait until the task has ended."""
        await self._ended.wait()

    @asynccontextmanager
    async def pending_input(self) -> AsyncGenerator[None]:
        """Set the status `input_required` while a request to the client is open."""
        self._open_requests += 1
        try:
            if self._open_requests == 1:
                await self.change()
            yield
        finally:
            self._open_requests -= 1
            if not self._open_requests:
                await self.change()

    # --- result or task ---

    def end_grace(self) -> None:
        """End the wait of `decided`."""
        if self._decided is not None and not self._decided.done():
            self._decided.set_result(None)

    async def wait_grace(self, grace_s: float) -> None:
        """Wait until the handler ends or sends an input request, at most `grace_s` seconds."""
        self._decided = self.loop.create_future()
        if not self.done and not self.questions:
            timer = self.loop.call_later(grace_s, self.end_grace)
            try:
                await self._decided
            finally:
                timer.cancel()

    # --- the handler ---

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run the handler in an asyncio task that does not end with a session."""
        self.handler = self.loop.create_task(self._run(work))

    async def _run(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            async with self._host.acquire_server():
                self.result = await work
        except (GeneratorExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            # Errors of the tool and of the server alike: no caller is left to raise to.
            self.failure = error
        finally:
            work.close()
        self.done = True
        self.end_grace()
        try:
            if self.is_stored and not self.is_abandoned:
                await self._finish_with_retry()
        finally:
            self._ended.set()
            self._host.handler_ended(self.id)

    async def _finish_with_retry(self) -> None:
        # Retry, or one failure of the store would leave the task `working` until it expires.
        wait_s, tries, is_told = self._host.options.poll_interval_s, 0, False
        while tries < FINISH_TRIES:
            if tries or is_told:
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, max(MAX_WAIT_S, self._host.options.poll_interval_s))
                if self.is_abandoned or self._has_expired:
                    return
            try:
                await self.finish()
                return
            except Exception as error:
                if not is_store_down(error):
                    tries += 1
                    _log.exception("task %s: its end could not be written down", self.id)
                elif not is_told:
                    is_told = True
                    _log.warning("task %s: its end is not written down yet: %s", self.id, error)

    @property
    def _has_expired(self) -> bool:
        expires_at = self.record.expires_at
        return expires_at is not None and expires_at <= self._host.now()

    async def finish(self) -> None:
        """Store the result or the error of the handler."""
        if self.failure is None:
            try:
                result, is_error = self._host.encode_result(self.result, self.record.revision)
            except Exception as error:
                self.failure = error
            else:
                message_field = {"message": _first_text(self.result)} if is_error else {}
                await self.change(
                    status="completed", result=result, is_error=is_error, **message_field
                )
        if self.failure is not None:
            error_object = self._error(self.failure)
            await self.change(
                status="failed", error=Raw(encode(error_object)), message=error_object.message
            )

    def _error(self, failure: BaseException) -> ErrorObject:
        if isinstance(failure, asyncio.CancelledError) and is_cancelled():
            # Not cancelled by the client: the task would have ended by now.
            return ErrorObject(ProtocolError.code, "the server has ended")
        return error_for_peer(failure, f"task {self.id}", mask=self._host.mask_errors)

    async def cancel(self) -> bool:
        """Cancel the task for its client; return False if it has ended already."""
        saved = await self.change(status="cancelled")
        self.stop()
        return saved

    async def expire(self) -> None:
        """Cancel the task because it has expired, even if the store fails."""
        try:
            await self.change(status="cancelled")
        finally:
            self.stop()

    def stop(self) -> None:
        """Cancel the handler."""
        if self.handler is not None and self.handler is not asyncio.current_task():
            # In the next turn: a task that is cancelled before it starts runs no `finally`.
            self.loop.call_soon(self.handler.cancel)


def _ignore() -> None:
    pass


def _first_text(result: Any) -> str | None:
    """Return the text of the first content block, cut to 200 characters."""
    blocks: Any = getattr(result, "content", ())
    text: Any = next((getattr(block, "text", None) for block in blocks), None)
    return text[:200] if isinstance(text, str) else None

"""The worker process of this process: started at the first use, one for all event loops.

A thread of its own drives it, as the worker belongs to no event loop: it outlives each, and serves
several at once. Checks wait in a bounded queue; one that takes too long ends the worker, and the
next check starts another.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import heapq
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from concurrent.futures import Future
from itertools import count
from time import monotonic
from typing import IO, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw

from mcp_gen.core.errors import SchemaNotChecked
from mcp_gen.schemas.messages import (
    MAX_REQUEST_BYTES,
    NOTHING,
    TOO_MUCH_MEMORY,
    CheckReply,
    CheckRequest,
    PipeClosed,
    read_message,
    write_message,
)
from mcp_gen.schemas.schema import UNEXPLAINED, BadSchema, JsonSchema, Misfit, encoded

__all__ = ["WORKER", "SchemaWorker", "check_in_worker"]

MAX_WAITING = 200
"""Most checks that wait for the worker."""
MAX_WAITING_BYTES = 2 * MAX_REQUEST_BYTES
"""Most bytes of schemas and values that wait for the worker."""
WAIT_FACTOR = 2
"""A check waits for its turn for at most so many times its own time limit."""
START_LIMIT_S = 15.0
"""Seconds that the worker may take to start."""
IDLE_S = 60.0
"""Seconds without a check after which the worker and its thread end."""
TICK_S = 2.0
"""Seconds between looks at an idle worker: one that has ended is collected."""
MAX_REMEMBERED = 1_000
"""Most schemas of which it is remembered that they took too long."""

_COMMAND = ("-P", "-m", "mcp_gen.schemas.worker")
PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT")
"""Environment variables without which an interpreter may not start."""


_Verdict: TypeAlias = Misfit | BadSchema | None
"""Outcome of a check: the error to raise, or None."""


class _Check(NamedTuple):
    key: str
    schema: bytes
    value: bytes
    timeout_s: float
    since: float
    """Time at which it was queued, on a clock that stands still while the worker starts."""
    future: Future[_Verdict]

    @property
    def size(self) -> int:
        return len(self.schema) + len(self.value)


class _Died(Exception):
    """The worker has ended without being told to."""


class SchemaWorker:
    """A worker process and the thread that drives it.

    Args:
        command: Words after the interpreter.
    """

    def __init__(self, command: tuple[str, ...] = _COMMAND) -> None:
        self._command = command
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int, _Check]] = []
        self._waiting_bytes = 0
        self._numbers = count()
        self._started_s = 0.0
        """Seconds that the starts of workers took: no check is late for them."""
        self._late: OrderedDict[str, int] = OrderedDict()
        """Number of times that each schema took too long, by its key."""
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Process id of the worker; None if none runs."""
        process = self._process
        return None if process is None else process.pid

    async def check(self, schema: JsonSchema, value: Any, timeout_s: float) -> None:
        """Check plain JSON in the worker.

        Args:
            schema: The schema.
            value: Plain JSON.
            timeout_s: Seconds that the check may take, from when its turn comes. The wait for its
                turn is limited too, to `WAIT_FACTOR` times as long.

        Raises:
            Misfit: The value does not fit.
            BadSchema: The schema is not valid.
            SchemaNotChecked: The check took too long or too much memory, or its turn did not come.
        """
        future: Future[_Verdict] = Future()
        check = _Check(
            schema.key,
            schema.encoded,
            encoded(value),
            timeout_s,
            self._clock(),
            future,
        )
        self._submit(check)
        verdict = await asyncio.wrap_future(future)
        if verdict is not None:
            raise verdict

    def _clock(self) -> float:
        return monotonic() - self._started_s

    def close(self) -> None:
        """End the worker and its thread; a later check starts them again."""
        with self._changed:
            self._closed = True
            process, thread = self._process, self._thread
            self._changed.notify()
        if process is not None:
            process.kill()
        if thread is not None:
            thread.join()
        self._closed = False

    def forget(self) -> None:
        """Leave the worker to the parent process: this process is a fork of it."""
        process = self._process
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                _close(pipe)
            # It is no child of this process.
            process.returncode = 0
        self._reset()

    # --- the queue ---

    def _submit(self, check: _Check) -> None:
        if check.size > MAX_REQUEST_BYTES:
            raise SchemaNotChecked(f"schema and value have more than {MAX_REQUEST_BYTES} bytes")
        with self._changed:
            full = self._waiting_bytes + check.size > MAX_WAITING_BYTES
            if full or len(self._waiting) >= MAX_WAITING:
                raise SchemaNotChecked("too many schema checks wait for their turn")
            heapq.heappush(self._waiting, (0, next(self._numbers), check))
            self._waiting_bytes += check.size
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="mcp_gen schemas", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def _next(self) -> _Check | None:
        """Return the next check; None ends the thread."""
        last = monotonic()
        with self._changed:
            while not self._closed:
                if self._waiting:
                    return self._take()
                process = self._process
                if process is not None and process.poll() is not None:
                    self._stop()
                if monotonic() - last > IDLE_S:
                    break
                self._changed.wait(TICK_S if self._process is not None else IDLE_S)
            self._stop()
            self._thread = None
            waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        for _, _, check in waiting:
            check.future.cancel()
        return None

    def _take(self) -> _Check:
        """Take the first check; those of schemas that took too long come last."""
        late, number, check = heapq.heappop(self._waiting)
        while self._waiting and (known := self._late.get(check.key, 0)) > late:
            entry = known, number, check
            late, number, check = heapq.heappushpop(self._waiting, entry)
        self._waiting_bytes -= check.size
        return check

    # --- in the thread ---

    def _run(self) -> None:
        while (check := self._next()) is not None:
            if not check.future.set_running_or_notify_cancel():
                continue
            try:
                check.future.set_result(self._answer(check))
            except Exception as error:
                check.future.set_exception(error)

    def _answer(self, check: _Check) -> _Verdict:
        if self._clock() - check.since > WAIT_FACTOR * check.timeout_s:
            raise SchemaNotChecked("its turn did not come in time, as other checks took too long")
        try:
            return self._exchange(check)
        except _Died:
            # It may have been ended while it was idle, or by someone else.
            try:
                return self._exchange(check)
            except _Died:
                raise SchemaNotChecked("the process that checks it has ended") from None

    def _exchange(self, check: _Check) -> _Verdict:
        """Have the worker make a check.

        Raises:
            SchemaNotChecked: It took too long or too much memory.
            _Died: The worker has ended, or does not answer as it should.
        """
        process = self._process or self._start()
        invalid = False
        with _Deadline(process, check.timeout_s) as deadline:
            try:
                reply = self._ask(process, check, NOTHING)
                if reply.outcome == "unknown":
                    reply = self._ask(process, check, Raw(check.schema))
                if reply.outcome == "invalid":
                    invalid = True
                    reply = _receive(process)
            except (PipeClosed, OSError, msgspec.DecodeError):
                status = self._stop()
                if deadline.is_over or status == _ALARM:
                    problem = f"the schema takes more than {check.timeout_s:g} s to check"
                elif status in _CRASHED:
                    problem = TOO_MUCH_MEMORY
                else:
                    raise _Died from None
                self._remember(check.key)
                if invalid:
                    return Misfit(UNEXPLAINED)
                raise SchemaNotChecked(problem) from None
        if deadline.is_over:
            self._stop()  # it was killed after its last word
        if reply.outcome == "failed":
            raise SchemaNotChecked(reply.message)
        if reply.outcome == "bad_schema":
            return BadSchema(reply.message)
        return Misfit(reply.message, reply.where) if reply.outcome == "why" else None

    def _ask(self, process: subprocess.Popen[bytes], check: _Check, schema: Raw) -> CheckReply:
        request = CheckRequest(check.key, Raw(check.value), check.timeout_s, schema)
        assert process.stdin is not None
        write_message(process.stdin.fileno(), request)
        return _receive(process)

    def _start(self) -> subprocess.Popen[bytes]:
        if not sys.executable:
            raise SchemaNotChecked("no interpreter is known that could check it")
        try:
            process = subprocess.Popen(
                [sys.executable, *self._command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=_environment(),
            )
        except OSError as error:
            raise SchemaNotChecked(f"no process could be started to check it: {error}") from None
        since = monotonic()
        with self._changed:
            self._process = process
            if self._closed:
                process.kill()
        with _Deadline(process, START_LIMIT_S):
            try:
                ready = _receive(process).outcome == "ready"
            except (PipeClosed, OSError, msgspec.DecodeError):
                ready = False
        self._started_s += monotonic() - since
        if not ready:
            self._stop()
            raise SchemaNotChecked("the process that checks it did not start")
        return process

    def _stop(self) -> int:
        """End the worker and collect it; return its exit status."""
        with self._changed:
            process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        for pipe in (process.stdin, process.stdout):
            _close(pipe)
        return process.wait()

    def _remember(self, key: str) -> None:
        self._late[key] = self._late.pop(key, 0) + 1
        if len(self._late) > MAX_REMEMBERED:
            self._late.popitem(last=False)


class _Deadline:
    """Kills a process if a block takes longer."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._process = process
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True
        self.is_over = False

    def _expire(self) -> None:
        self.is_over = True
        self._process.kill()

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()


_ALARM = -14
"""Exit status (SIGALRM) of a worker that has ended itself at its own deadline."""
_CRASHED = frozenset({-6, -11})
"""Exit statuses (SIGABRT, SIGSEGV) of a worker that got no memory, or no stack."""


def _receive(process: subprocess.Popen[bytes]) -> CheckReply:
    assert process.stdout is not None
    return msgspec.json.decode(read_message(process.stdout.fileno()), type=CheckReply)


def _environment() -> dict[str, str]:
    """Return the environment of the worker: where modules are, and what starting needs."""
    found = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    found["PYTHONPATH"] = os.pathsep.join(os.path.abspath(one) for one in sys.path)
    return found


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError):
            pipe.close()


WORKER = SchemaWorker()
"""The worker of this process."""
atexit.register(WORKER.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKER.forget)


async def check_in_worker(schema: JsonSchema, value: Any, timeout_s: float) -> None:
    """Check plain JSON in the worker of this process; see `SchemaWorker.check`."""
    await WORKER.check(schema, value, timeout_s)

"""Worker process that checks JSON Schemas: `python -m mcp_gen.schemas.worker`, over a pipe.

It ends with its parent, at the end of the pipe, and ends itself if a check takes much longer than
it may: by a signal of the kernel, as a check that explodes runs no Python code.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

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
from mcp_gen.schemas.schema import UNREADABLE, BadSchema, compile_schema, explain

if TYPE_CHECKING:
    from collections.abc import Generator

    from jsonschema_rs import Validator

__all__ = ["main"]

MAX_MEMORY_BYTES = 1024**3
"""Address space of the worker, on platforms that limit it."""
MAX_SCHEMAS = 64
"""Most compiled schemas that are kept."""
ALARM_DELAY_S = 1.0
"""Seconds after its deadline at which a check ends the worker: the parent is first, if it lives."""


class CheckWorker:
    """Answers the checks of one parent, one after the other.

    Args:
        requests: File descriptor of the requests.
        replies: File descriptor of the replies.
    """

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._compiled: OrderedDict[str, Validator] = OrderedDict()
        self._decoder = msgspec.json.Decoder(CheckRequest)

    def run(self) -> None:
        """Answer until the pipe ends."""
        self._reply(CheckReply("ready"))
        while True:
            request = self._decoder.decode(read_message(self._requests, MAX_REQUEST_BYTES))
            with _alarm(request.timeout_s + ALARM_DELAY_S):
                try:
                    self._check(request)
                except BadSchema as error:
                    self._reply(CheckReply("bad_schema", str(error)))
                except SchemaNotChecked as error:
                    self._reply(CheckReply("failed", str(error)))
                except MemoryError:
                    self._compiled.clear()
                    self._reply(CheckReply("failed", TOO_MUCH_MEMORY))

    def _check(self, request: CheckRequest) -> None:
        validator = self._find(request)
        if validator is None:
            self._reply(CheckReply("unknown"))
            return
        try:
            value = msgspec.json.decode(request.value)
            fits = validator.is_valid(value)
        except (ValueError, OverflowError, RecursionError):
            self._reply(CheckReply("why", UNREADABLE))
            return
        if fits:
            self._reply(CheckReply("valid"))
            return
        # The verdict goes ahead: finding the error text can take exponentially longer.
        self._reply(CheckReply("invalid"))
        problem = explain(validator, value)
        self._reply(CheckReply("why", problem.message, problem.where))

    def _find(self, request: CheckRequest) -> Validator | None:
        validator = self._compiled.get(request.key)
        if validator is None:
            if request.schema == NOTHING:
                return None
            validator = compile_schema(msgspec.json.decode(request.schema), linear=False)
            self._compiled[request.key] = validator
            if len(self._compiled) > MAX_SCHEMAS:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(request.key)
        return validator

    def _reply(self, reply: CheckReply) -> None:
        write_message(self._replies, reply)


@contextlib.contextmanager
def _alarm(seconds: float) -> Generator[None]:
    """End this process if a block takes longer, even if it never releases the interpreter lock."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        return
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def _limit_memory() -> None:
    try:
        # Only POSIX has it.
        import resource
    except ImportError:
        return
    for limit, most in ((resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))


def main() -> None:
    """Answer the checks on stdin until it ends."""
    # A keyboard interrupt is for the parent, which may still have calls to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _limit_memory()
    requests, replies = os.dup(0), os.dup(1)
    # Nothing that prints may write between the messages.
    with open(os.devnull, "r+") as nowhere:
        os.dup2(nowhere.fileno(), 0)
        os.dup2(nowhere.fileno(), 1)
    with contextlib.suppress(PipeClosed, OSError):
        CheckWorker(requests, replies).run()


if __name__ == "__main__":
    main()
    sys.exit(0)

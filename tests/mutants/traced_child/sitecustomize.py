"""Records the lines of a process that a traced test starts: Python imports this at its start.

Each such process writes a file of its own, with the test's context and the lines of each source.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONTEXT = "MUTANTS_CONTEXT"
"""Environment variable: the context of the test that is running, or ""."""

FOLDER = "MUTANTS_TRACE"
"""Environment variable: the folder for the data."""

ORDERED = "_ordered_by"
"""Attribute of a process of multiprocessing: the context of the test that has ordered it."""

CHILD = "child"
"""Prefix of the files of child processes."""

ROOT = Path(__file__).parents[3]

SOURCES = ("mcp_gen/*", "codegen/*", "pytest_mcp_gen.py")
"""Patterns of the files whose lines are recorded."""


def record(context: str) -> Callable[[], None]:
    """Record the lines of this process from now on; return what writes them down."""
    import json
    import time

    import coverage

    paths = [str(ROOT / one) for one in SOURCES]
    measured = coverage.Coverage(data_file=None, config_file=False, include=paths)
    # Some tests look at what their process writes on stderr.
    measured.set_option("run:disable_warnings", ["no-data-collected"])
    measured.start()

    def save() -> None:
        measured.stop()
        data = measured.get_data()
        lines = {
            Path(name).relative_to(ROOT).as_posix(): data.lines(name)
            for name in data.measured_files()
        }
        name = f"{CHILD}.{os.getpid()}.{time.monotonic_ns()}"
        path = Path(os.environ[FOLDER], name)
        path.write_text(json.dumps({"context": context, "lines": lines}))
        # A process that is killed while it writes leaves no half of a file.
        path.rename(path.with_name(f"{name}.json"))

    return save


def record_this_process(context: str) -> None:
    """Record this process to its end; SIGTERM is one, too."""
    import atexit
    import signal

    save = record(context)
    atexit.register(save)

    def end(number: int, _: object) -> None:
        atexit.unregister(save)
        save()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


def record_forks() -> None:
    """Record the processes that this server of forks makes, each with its own context."""
    from importlib import import_module
    from multiprocessing.process import BaseProcess

    # Once, and not in each fork.
    import_module("coverage")
    original: Any = vars(BaseProcess)["_bootstrap"]

    def bootstrap(process: BaseProcess, *arguments: Any, **options: Any) -> Any:
        context = getattr(process, ORDERED, "")
        save = record(context) if context else None
        try:
            return original(process, *arguments, **options)
        finally:
            if save is not None:
                save()

    setattr(BaseProcess, "_bootstrap", bootstrap)  # noqa: B010 - no public place for it


if __name__ == "sitecustomize" and os.environ.get(FOLDER):
    if any("multiprocessing.forkserver" in word for word in sys.orig_argv):
        record_forks()
    elif os.environ.get(CONTEXT):
        record_this_process(os.environ[CONTEXT])

"""Server leg: the suite against the server of this folder, which all scenarios share."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.conformance.suite import Cell, Outcome, Suite, Unusable
from tests.support.ports import free_port

__all__ = ["LEFT_OUT", "ServerUnderTest", "cells", "outcomes", "run"]

LEFT_OUT = {
    "tasks-status-notifications": "it skips itself: it cannot open the stream that brings them yet",
    "sep-2640-skills-": "the skills extension: in no requirement set, and the server has none",
}
"""Prefixes of scenarios that are not run, with the reason."""

EXTENSIONS = {"tasks-": "2026-07-28"}
"""Prefixes of extension scenarios, which name no revision, with the revision to run them at."""

AT_ONCE = 2
STARTS_S = 20.0
ENDS_S = 15.0


def cells(suite: Suite, version: str) -> list[Cell]:
    """Return every scenario for servers, at every revision that it is about."""
    return suite.cells("server", version, LEFT_OUT, EXTENSIONS)


def run(suite: Suite, cells: list[Cell], faults: list[str], *module: str) -> dict[Cell, Outcome]:
    """Run the cells, a few at once; cells after a crash of the server are missing.

    `module` is the module of the server under test, and its arguments.
    """
    with serving(faults, *module) as server:
        return outcomes(suite, cells, server.url, lambda: server.died)


def outcomes(
    suite: Suite, cells: list[Cell], url: str, died: Callable[[], bool] = lambda: False
) -> dict[Cell, Outcome]:
    """Run the cells against any server, a few at once.

    Args:
        suite: The suite.
        cells: The cells.
        url: The server's endpoint.
        died: Tells whether the server is gone; the cells after that are missing.
    """

    def outcome(cell: Cell) -> Outcome | None:
        # The suite runs a scenario at a revision that it is not about only if it is forced to.
        force = ("--force",) if cell.scenario.startswith(tuple(EXTENSIONS)) else ()
        return None if died() else suite.outcome(cell, "--url", url, *force)

    with ThreadPoolExecutor(AT_ONCE) as workers:
        found = zip(cells, workers.map(outcome, cells), strict=True)
        return {cell: outcome for cell, outcome in found if outcome is not None}


class ServerUnderTest:
    """A server of this folder, in a process of its own.

    Args:
        log: File for what it prints.
        module: Module that serves it: one of this folder, or the full name of another.
        words: Its arguments beside the port.
    """

    def __init__(self, log: Path, module: str = "server", *words: str) -> None:
        port = free_port()
        self.origin = f"http://127.0.0.1:{port}"
        self.url = f"{self.origin}/mcp"
        self._log = log
        name = module if "." in module else f"tests.conformance.{module}"
        program = (sys.executable, "-m", name, "--port", str(port))
        with log.open("wb") as out:
            self.process = subprocess.Popen((*program, *words), stdout=out, stderr=out)
        self._wait_for(port)

    @property
    def died(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> list[str]:
        """Terminate the server; return all faults of its run and its exit."""
        faults: list[str] = []
        if self.died:
            faults.append(f"the server died with status {self.process.returncode}")
        self.process.terminate()
        try:
            status = self.process.wait(ENDS_S)
            if status and not faults:
                faults.append(f"the server ended with status {status} when it was told to stop")
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            faults.append(f"the server did not stop within {ENDS_S:.0f} s of SIGTERM")
        said = self._log.read_text(errors="replace")
        if "Traceback" in said:
            faults.append("the server logged a traceback")
        return [*faults, f"the server's log ends:\n{said[-4000:]}"] if faults else []

    def _wait_for(self, port: int) -> None:
        until = time.monotonic() + STARTS_S
        while time.monotonic() < until and not self.died:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                time.sleep(0.05)  # there is no event for a bound port; bounded above
            else:
                return
        raise Unusable("\n".join(["the server did not start", *self.end()]))


@contextmanager
def serving(faults: list[str], *module: str) -> Generator[ServerUnderTest]:
    """Start a server and wait until it answers; its faults are added to `faults` at the end."""
    with tempfile.TemporaryDirectory() as folder:
        server = ServerUnderTest(Path(folder) / "log", *module)
        try:
            yield server
        finally:
            faults += server.end()

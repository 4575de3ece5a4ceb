"""Stage of commands: the client is a command, and starts the server itself."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.client_run import Ended
from mcp_gen.compat.scenarios.process_server import LEFT_RUNNING
from mcp_gen.compat.scenarios.stage import Performance
from mcp_gen.compat.transcript_files import read_transcripts, running_files
from mcp_gen.transports.process_tree import ProcessTree

if TYPE_CHECKING:
    from mcp_gen.compat.scenarios.scenario import Scenario
    from mcp_gen.compat.transcript import Transport

__all__ = ["CommandStage", "filled_in", "run_command"]

PROGRAM = "mcp_gen.compat.scenarios.program"
POLL_S = 0.02
LAST_WORDS_S = 2.0
"""Seconds that servers get to write the end of their transcript once the client is gone."""


class CommandStage:
    """Runs a command that connects to a server over stdio; see `Stage`.

    The words `{command}` and `{revision}` in it stand for the command line of the server and for
    its revision. They are also the environment variables MCP_DOCTOR_COMMAND and
    MCP_DOCTOR_REVISION; the id of the scenario is MCP_DOCTOR_SCENARIO.

    Args:
        command: The program and its arguments.
        at_once: Maximum number of runs at the same time.
        stderr: File descriptor for what clients and servers write to stderr; None: nowhere.
    """

    def __init__(
        self, command: Sequence[str], *, at_once: int = 2, stderr: int | None = None
    ) -> None:
        self.transport: Transport = "stdio"
        self.starts_processes = True
        self.at_once = at_once
        self._command = tuple(command)
        self._stderr = stderr

    async def perform(self, scenario: Scenario, revision: str, limit_s: float) -> Performance:
        """Run the command once."""
        with tempfile.TemporaryDirectory(prefix="mcp-doctor-") as name:
            folder = Path(name)
            server = [sys.executable, "-m", PROGRAM, "--revision", revision]
            server += ["--scenario", scenario.id, "--into", name]
            said = {
                "command": shlex.join(server),
                "revision": revision,
                "scenario": scenario.id,
            }
            running: set[int] = set()

            def have_ended() -> bool:
                nonlocal running
                running = running_files(folder)
                return not running

            ended = await run_command(
                self._command, said, limit_s, stderr=self._stderr, have_ended=have_ended
            )
            transcripts = read_transcripts(folder, revision)
        for number in () if ended.hung else running:
            transcripts[number].add("client", "closed", about=LEFT_RUNNING)
        return Performance(transcripts, ended)


async def run_command(
    command: Sequence[str],
    said: Mapping[str, str],
    limit_s: float,
    *,
    stdout: int | None = None,
    stderr: int | None = None,
    cwd: str | None = None,
    have_ended: Callable[[], bool] = lambda: True,
) -> Ended:
    """Run a command to its end, and return how it ended.

    Args:
        command: The words of the command, with placeholders.
        said: The values of the placeholders by their names, which are environment variables, too.
        limit_s: Time limit, in seconds, after which the command is ended.
        stdout: File descriptor for what it writes to stdout; None: nowhere.
        stderr: File descriptor for what it writes to stderr; None: nowhere.
        cwd: The folder in which it runs; None for that of this process.
        have_ended: Tells whether the servers that it has started have ended.
    """
    nowhere = asyncio.subprocess.DEVNULL
    began_s = monotonic()
    process = await asyncio.create_subprocess_exec(
        *filled_in(command, said),
        cwd=cwd,
        stdin=nowhere,
        stdout=nowhere if stdout is None else stdout,
        stderr=nowhere if stderr is None else stderr,
        env={**os.environ, **{f"MCP_DOCTOR_{key.upper()}": one for key, one in said.items()}},
        start_new_session=True,
    )
    exit_code: int | None = None
    try:
        async with asyncio.timeout(limit_s):
            exit_code = await process.wait()
    except TimeoutError:
        pass
    finally:
        await _clear_up(process, have_ended)
    return Ended(exit_code=exit_code, took_s=monotonic() - began_s, limit_s=limit_s)


async def _clear_up(process: asyncio.subprocess.Process, have_ended: Callable[[], bool]) -> None:
    """Wait until the servers of a client that has ended have ended, too; end what is left."""
    tree = ProcessTree(process.pid)
    tree.look()
    if process.returncode is None:
        process.kill()
        await process.wait()
    # No event tells of the end of processes that are not ours, so it is polled.
    for _ in range(int(LAST_WORDS_S / POLL_S)):
        if have_ended():
            break
        await asyncio.sleep(POLL_S)
    tree.kill()


def filled_in(command: Sequence[str], said: Mapping[str, str]) -> list[str]:
    """Return the words of a command with the values of their placeholders.

    Args:
        command: Words such as `{command}` or `--url={url}`.
        said: The values by the names of the placeholders.
    """
    made: list[str] = []
    for word in command:
        for name, value in said.items():
            word = word.replace(f"{{{name}}}", value)
        made.append(word)
    return made

"""A process that has loaded the command line, and runs each command in a copy of itself.

A copy (`os.fork`) has its own modules, folder and exit, as a process of its own has; only the time
to start Python and to import is saved. `WarmProcess` is the side of the tests.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import mcp_wire
from mcp_gen.cli.command_group import COMMANDS
from tests.docs.pages import variables

__all__ = ["WarmProcess"]

_OFTEN = (
    "mcp_gen.cli.app",
    *(f"mcp_gen.cli.commands.{one}" for one in COMMANDS),
    "mcp_gen.cli.running.settings",
    "mcp_gen.client.client",
    "mcp_gen.client.connecting.in_process",
    "mcp_gen.client.tools.output_schema",
    "mcp_gen.server.server",
    "mcp_wire.extensions.tasks",
    *(f"mcp_wire.v{one.replace('-', '_')}" for one in mcp_wire.REVISIONS),
    # `typer` loads them with each command, and with its help or an error.
    "typer._adapters",
    "typer.rich_utils",
    "rich.table",
)
"""Modules that most commands load."""


class WarmProcess:
    """Runs `mcp-gen` commands; started with the first one.

    Args:
        env: Environment of the commands.
        limit_s: Seconds that a command may take; then it is ended.
    """

    def __init__(self, env: dict[str, str], limit_s: int) -> None:
        self._env = env
        self._limit_s = limit_s
        self._process: subprocess.Popen[str] | None = None

    def run(self, words: list[str], folder: Path) -> str:
        """Run a command and return what it printed, errors included.

        Args:
            words: The command, `mcp-gen` first.
            folder: Folder to run it in.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self._limit_s)],
                env=self._env,
                cwd=Path(__file__).parents[2],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        try:
            print(json.dumps([words, str(folder)]), file=asked, flush=True)
            printed: str = json.loads(answers.readline())
        except BaseException:
            # A test that ran out of time leaves its output behind: the next one would take it.
            self._process.kill()
            self._process.communicate()
            self._process = None
            raise
        return printed

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate(timeout=self._limit_s)


def _serve(limit_s: int) -> None:
    """Run the commands that the lines of stdin name, and print what they print."""
    for name in _OFTEN:
        import_module(name)
    for line in sys.stdin:
        words, folder = json.loads(line)
        with tempfile.TemporaryFile() as output:
            child = os.fork()
            if not child:
                _become(words, folder, output.fileno(), limit_s)
                import_module("mcp_gen.cli").main()
                return
            os.waitpid(child, 0)
            output.seek(0)
            print(json.dumps(output.read().decode()), flush=True)


def _become(words: list[str], folder: str, output: int, limit_s: int) -> None:
    """Make this process what a shell would have started."""
    signal.alarm(limit_s)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, theirs in enumerate((nothing, output, output)):
        os.dup2(theirs, ours)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115  # as long as the process
    os.chdir(folder)
    os.environ.update(variables(Path(folder)))
    sys.argv = words
    # Where Python finds a console script.
    sys.path[0] = str(Path(sys.executable).parent)


if __name__ == "__main__":
    _serve(int(sys.argv[1]))

"""The MCP Inspector's command line as a process: its arguments and output."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Ran", "inspect"]

PACKAGE = Path("node_modules/@modelcontextprotocol/inspector")
WAIT_S = 50.0


class Ran(NamedTuple):
    """One run of the Inspector."""

    status: int
    stdout: str
    stderr: str

    @property
    def shown(self) -> Any:
        """Return the JSON output."""
        assert self.status == 0, self
        return json.loads(self.stdout)

    @property
    def text(self) -> str:
        """Return the text of a tool result."""
        (block,) = self.shown["content"]
        return str(block["text"])

    @property
    def error(self) -> Any:
        """Return the error of the Inspector: the last line of its stderr."""
        assert self.status, self
        return json.loads(self.stderr.splitlines()[-1])["error"]


def inspect(home: Path, *words: str) -> Ran:
    """Run the Inspector with this folder as the user's home."""
    launcher = Path(os.environ["PEERS_INSPECTOR"], PACKAGE, "clients/launcher/build/index.js")
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        # Without the credentials of the user who runs the tests.
        "MCP_INSPECTOR_SECRET_STORE": "file",
    }
    ran = subprocess.run(
        ["node", str(launcher), "--cli", *words],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
        cwd=home,
        env=environment,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)

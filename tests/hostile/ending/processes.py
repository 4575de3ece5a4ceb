"""Starts the program of the tests in each way that users start servers."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from tests.support.processes.child import Child, started

__all__ = ["MCP_GEN", "PROGRAM", "WAYS", "environment", "stdio"]

PROGRAM = Path(__file__).with_name("program.py")
MCP_GEN = [sys.executable, "-c", "from mcp_gen.cli import main; main()"]

WAYS = {
    "server.run": [sys.executable, str(PROGRAM)],
    "mcp-gen run": [*MCP_GEN, "run", str(PROGRAM)],
    "nohup": ["nohup", sys.executable, str(PROGRAM)],
}
"""Command lines that run the program."""


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that imports what this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}


def stdio(way: str = "server.run", **variables: str) -> AbstractContextManager[Child]:
    """Run the program over stdio, as a process that is stopped afterwards."""
    return started(WAYS[way], env=environment(**variables))

"""Runs the command line as a user does: arguments in, output and exit code out."""

from __future__ import annotations

import json
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from mcp_gen.cli.app import app


def run(*arguments: str, color: bool = False) -> Result:
    """Run a command and return its result; the output has colors only with `color`."""
    return CliRunner().invoke(app, [*arguments], env={"FORCE_COLOR": "1"} if color else {})


def lines(*arguments: str) -> list[list[str]]:
    """Return the words of every printed line, without empty lines and rules."""
    ran = run(*arguments)
    assert ran.exit_code == 0, ran.stderr
    words = [line.split() for line in ran.stdout.splitlines()]
    return [line for line in words if line and "─" not in line[0]]


def printed_json(*arguments: str) -> Any:
    ran = run(*arguments, "--json")
    assert ran.exit_code == 0, ran.stderr
    return json.loads(ran.stdout)


def complaint(*arguments: str) -> str:
    """Return the one line on stderr of a command that failed."""
    ran = run(*arguments)
    assert (ran.exit_code, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)
    return ran.stderr.rstrip("\n")

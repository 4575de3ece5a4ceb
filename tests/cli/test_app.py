"""Tests of `mcp-gen`: its commands and its start-up time."""

from __future__ import annotations

import pytest

from tests.cli.running import run
from tests.wire.test_imports import imported_by, revisions_in


@pytest.mark.parametrize(
    "command",
    [
        "call",
        "demo",
        "diff",
        "init",
        "inspect",
        "methods",
        "prompt",
        "read",
        "run",
        "tools",
        "types",
    ],
)
def test_a_command_is_listed_by_the_help(command: str) -> None:
    assert f" {command} " in run("--help").stdout


def test_the_command_line_imports_no_revision_before_a_command_runs() -> None:
    assert revisions_in(imported_by("import mcp_gen.cli")) == set()


def test_the_command_line_imports_no_change_table_before_a_command_runs() -> None:
    assert "mcp_wire.changes" not in imported_by("import mcp_gen.cli")

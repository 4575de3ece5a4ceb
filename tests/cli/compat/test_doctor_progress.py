"""Progress of `mcp-gen doctor`: bars on a terminal, nothing elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from mcp_gen.cli.console.doctor_progress import DoctorProgress


def shown(*, is_terminal: bool) -> str:
    """Return what is written while two steps of one revision are done."""
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=is_terminal, color_system=None)
    with DoctorProgress({"first": 2, "second": 9}, console) as progress:
        progress.advance("first")
        progress.advance("first", findings=3)
    return out.getvalue()


@pytest.mark.parametrize("part", ["first", "2/2", "3 findings", "second", "0/9"])
def test_a_terminal_shows_steps_and_findings_by_revision(part: str) -> None:
    assert part in shown(is_terminal=True)


def test_there_are_no_bars_without_a_terminal() -> None:
    assert shown(is_terminal=False).strip() == ""

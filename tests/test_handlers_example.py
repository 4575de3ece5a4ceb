"""Checks the output of examples/handlers_client.py as a real process, at every revision."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.peers.answering import ASKS

EXAMPLE = Path(__file__).parents[1] / "examples/handlers_client.py"


@pytest.mark.parametrize("revision", [None, ASKS[0]])
def test_the_client_answers_the_server_and_hears_of_the_change(revision: str | None) -> None:
    command = [sys.executable, str(EXAMPLE), *([] if revision is None else [revision])]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        f"{revision or ASKS[-1]} ['delete']",
        "Why delete shopping? ['why']",
        "shopping is gone: done note://shopping",
        "Ada: 10 December",
    ]

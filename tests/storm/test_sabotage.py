"""The faults that nodes are built with fit the cluster that they are faults of."""

from __future__ import annotations

import subprocess
import sys

from tests.storm.plan import SABOTAGE
from tests.storm.processes import ROOT

PROGRAM = "import sys; from tests.storm.sabotage import sabotage; [*map(sabotage, sys.argv[1:])]"
WAIT_S = 60.0


def test_each_fault_can_be_built_into_a_node() -> None:
    # In a process of its own: patches stay.
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *SABOTAGE],
        cwd=ROOT,
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, b"")

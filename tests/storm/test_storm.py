"""Short storms over one node without a cluster: the harness counts, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import mcp_wire
from tests.storm.plan import Plan
from tests.storm.processes import ROOT, Missing, binary
from tests.storm.storm import storm

CALM = Plan(
    seed=1,
    seconds=1.5,
    nodes=1,
    clients=len(mcp_wire.REVISIONS),
    official=0,
    cluster=False,
    fault_every_s=None,
    settle_s=0.5,
    rest_s=0.1,
)
WAIT_S = 60.0


@pytest.fixture(autouse=True)
def _with_nginx() -> None:
    try:
        binary("nginx")
    except Missing as missing:
        pytest.skip(str(missing))


async def test_a_node_that_nothing_happens_to_gives_each_client_its_own_once() -> None:
    report = await storm(CALM)
    assert report.ledger.texts == []
    assert report.ledger.errors == {}
    asked = {who for _, who in report.ledger.answers}
    assert asked == set(mcp_wire.REVISIONS)
    assert report.ledger.checks["effects"]


async def test_sessions_that_die_with_their_only_node_are_found() -> None:
    report = await storm(
        replace(CALM, seconds=2.0, fault_every_s=0.8, stop_s=0.2, settle_s=1.0, seed=2)
    )
    assert report.json()["faults"]["node killed"]
    assert set(report.ledger.violations) == {"error without a reason"}
    assert any("status=404" in text for text in report.ledger.texts)


def test_an_interrupted_storm_ends_all_that_it_has_started(tmp_path: Path) -> None:
    words = (sys.executable, "-m", "tests.storm", "--alone", "--nodes", "2", "--clients", "2")
    with subprocess.Popen(
        [*words, "--official", "0", "--calm", "--seconds", "600"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        try:
            while " answers" not in running.stderr.readline():
                assert running.poll() is None
            assert len(_programs(tmp_path)) >= 3
            running.send_signal(signal.SIGINT)
            assert running.wait(WAIT_S) == 130
        finally:
            running.kill()
    assert _programs(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def _programs(folder: Path) -> list[str]:
    """Return the commands of all processes that know a folder by command or environment."""
    found: list[str] = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (place / "cmdline").read_bytes()
            if str(folder).encode() in command + (place / "environ").read_bytes():
                found.append(command.decode(errors="replace"))
    return found

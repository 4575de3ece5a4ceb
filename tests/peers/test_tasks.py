"""The official TypeScript client calls our tools as tasks, over real pipes and sockets."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import InvalidParams
from tests.peers.command import Command
from tests.peers.web import serving

TASKS = Path(__file__).with_name("programs") / "task_server.py"
WAIT_S = 60.0

# The observations of the client's only run serve all tests of a process.
pytestmark = pytest.mark.xdist_group("typescript-tasks")


@pytest.fixture(scope="module", params=["stdio", "http"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the observations of one run of the client."""
    if request.param == "stdio":
        command = Command(tmp_path_factory.mktemp("tasks"), TASKS)
        yield _run("stdio", command.target)
        assert (command.end(), "Traceback" in command.stderr) == (0, False)
    else:
        with serving(TASKS) as web:
            yield _run("http", web.target)
            assert (web.end(), "Traceback" in web.stderr) == (0, False)


def _run(transport: str, target: list[str]) -> Any:
    # Beside the packages: it is from there that Node looks for them.
    script = os.path.join(os.environ["PEERS_TYPESCRIPT"], "tasks.mjs")
    words = ["node", script, transport, *target]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_it_polls_a_task_to_its_result(seen: Any) -> None:
    assert (seen["work"][0], seen["work"][-1]) == ("working", "worked")


def test_it_is_asked_by_a_task(seen: Any) -> None:
    assert seen["ask"][-1] == "Hello, Ada"
    assert "input_required" in seen["ask"]


def test_it_hears_that_a_task_has_failed(seen: Any) -> None:
    assert seen["fail"][-2] == "failed"


def test_it_cancels_a_task_once(seen: Any) -> None:
    assert seen["cancel"] == [60_000, "cancelled", "cancelled"]
    assert seen["cancel again"] == InvalidParams.code


def test_it_lists_all_tasks(seen: Any) -> None:
    assert seen["list"] == ["completed", "completed", "failed", "cancelled"]


def test_it_hears_that_a_task_is_unknown(seen: Any) -> None:
    assert seen["unknown"] == InvalidParams.code

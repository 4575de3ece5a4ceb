"""The official SDKs and the Inspector as real peers, from their own packages: `nox -s peers`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.peers.command import Command


def pytest_configure() -> None:
    if find_spec("mcp") is None:
        raise pytest.UsageError("tests/peers needs the official SDK as a peer: run `nox -s peers`")
    packages = {"PEERS_TYPESCRIPT", "PEERS_INSPECTOR"}
    if not packages <= os.environ.keys() or shutil.which("node") is None:
        # Not skipped: what was not tried did not pass.
        raise pytest.UsageError("tests/peers needs Node and its packages: run `nox -s peers`")
    # What the tests serve over HTTP is on this machine.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., Command]:
    """Makes a server script, and its arguments, a command."""

    def make(script: Path, *arguments: str) -> Command:
        return Command(tmp_path, script, *arguments)

    return make

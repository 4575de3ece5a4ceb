"""The official SDKs as real peers. They live in environments of their own: `nox -s peers`."""

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
    if "PEERS_TYPESCRIPT" not in os.environ or shutil.which("node") is None:
        # Not skipped: what was not tried did not pass.
        raise pytest.UsageError("tests/peers needs Node and its packages: run `nox -s peers`")


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., Command]:
    """Makes a server script, and its arguments, a command."""

    def make(script: Path, *arguments: str) -> Command:
        return Command(tmp_path, script, *arguments)

    return make

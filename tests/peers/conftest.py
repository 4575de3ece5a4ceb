"""The official SDKs and the Inspector as real peers, from their own packages: `nox -s peers`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.peers.command import Command
from tests.peers.inspecting.inspector import Ran, inspect
from tests.peers.ways import INSPECTED, Ask, Way, served
from tests.peers.web import PATHS

FULL_ALONE = ("test_agreement.py", "test_every_revision.py")
"""Modules that are run with `--full` alone: they take long."""


def pytest_configure(config: pytest.Config) -> None:
    if find_spec("mcp") is None:
        raise pytest.UsageError("tests/peers needs the official SDK as a peer: run `nox -s peers`")
    kinds = ("TYPESCRIPT", "SERVERS", "EXAMINED", "OIDC", "INSPECTOR")
    packages = {f"PEERS_{kind}" for kind in kinds}
    if config.getoption("full"):
        packages.add("PEERS_SUITE")
    if not packages <= os.environ.keys() or shutil.which("node") is None:
        # Fail instead of skip: a peer that was not run did not pass.
        raise pytest.UsageError("tests/peers needs Node and its packages: run `nox -s peers`")
    # The HTTP servers of the tests run on this machine.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the modules that take long."""
    is_left_out = collection_path.name in FULL_ALONE and not config.getoption("full")
    return True if is_left_out else None


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., Command]:
    """Makes a command of a server script and its arguments."""

    def make(script: Path, *arguments: str) -> Command:
        return Command(tmp_path, script, *arguments)

    return make


@pytest.fixture(scope="session")
def web() -> Iterator[str]:
    """Return the URL of a server with `/mcp`, and `/sse` for clients of 2024-11-05."""
    with served(transport="sse") as found:
        yield found.url


@pytest.fixture(scope="session", params=["stateless", "json_only"])
def bare_web(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the URL of a server without a part of HTTP."""
    with served(**{request.param: True}) as found:
        yield found.url


@pytest.fixture
def server(way: Way, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Return the Inspector's arguments that select a server."""
    if way.transport in PATHS:
        url = request.getfixturevalue("web") + PATHS[way.transport]
        yield ["--server-url", url, "--transport", way.transport]
        return
    command = request.getfixturevalue("command")(INSPECTED)
    # Arguments up to the dashes are the server's, dashes included.
    yield [*command.words, "--"]
    assert "Traceback" not in command.stderr
    assert command.exit_status == 0


@pytest.fixture
def ask(way: Way, server: list[str], tmp_path: Path) -> Ask:
    """Run one method against a server on this transport."""

    def ask(method: str, *words: str) -> Ran:
        return inspect(tmp_path, *server, "--protocol-era", way.era, "--method", method, *words)

    return ask

"""Stubs of servers of others: type checkers accept them strictly, and they call the servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

SERVERS = "node_modules/@modelcontextprotocol/server-{}/dist/index.js"
MODELS = ("msgspec", "pydantic")
WAIT_S = 300.0

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("stubs")]

PROGRAM = """
import asyncio
import json
import sys

from mcp_gen import Client
from mcp_gen.client.session.session import ClientSession

import {module}


async def use(session: ClientSession) -> object:
{body}


async def main() -> None:
    async with Client("stubs") as client:
        session = await client.connect(json.loads(sys.argv[1]), env="inherit")
        print(json.dumps(await use(session)))


asyncio.run(main())
"""


class Stubbed(NamedTuple):
    """A server of others: how it is started, how its stubs are used, and what comes of it."""

    command: Sequence[str]
    body: str
    expected: Any


def servers(folder: Path) -> Mapping[str, Stubbed]:
    """Return the servers by their names; `folder` is what they work in."""
    node = Path(os.environ["PEERS_SERVERS"])
    note = folder / "note.txt"
    return {
        "everything": Stubbed(
            ["node", str(node / SERVERS.format("everything"))],
            """
    found = await {module}.get_structured_content(session, location="New York")
    total = await {module}.get_sum(session, a=1, b=2)
    return [found.conditions, bool(total.is_error)]
""",
            ["Cloudy", False],
        ),
        "filesystem": Stubbed(
            ["node", str(node / SERVERS.format("filesystem")), str(folder)],
            f"""
    edits = [{{module}}.EditFileEditsItem(old_text="one", new_text="two")]
    await {{module}}.write_file(session, path={str(note)!r}, content="one")
    await {{module}}.edit_file(session, path={str(note)!r}, edits=edits)
    return (await {{module}}.read_text_file(session, path={str(note)!r})).content
""",
            "two",
        ),
        "git": Stubbed(
            [sys.executable, "-m", "mcp_server_git"],
            f"""
    status = await {{module}}.git_status(session, repo_path={str(folder)!r})
    return "branch" in str(status.content[0])
""",
            True,
        ),
        "time": Stubbed(
            [sys.executable, "-m", "mcp_server_time"],
            """
    now = await {module}.get_current_time(session, timezone="Europe/Oslo")
    return [now.timezone, now.is_dst in (True, False)]
""",
            ["Europe/Oslo", True],
        ),
    }


EACH = [
    (server, models) for server in ("everything", "filesystem", "git", "time") for models in MODELS
]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that the servers work in."""
    folder = tmp_path_factory.mktemp("work")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, work: Path) -> Path:
    """Return a folder with the stubs of every server, and programs that use them."""
    folder = tmp_path_factory.mktemp("stubs")
    for server, models in EACH:
        found = servers(work)[server]
        module = f"{server}_{models}"
        command = " ".join(found.command)
        stubs = ["stubs", command, "-o", f"{module}.py", "--models", models, "--env", "inherit"]
        run([sys.executable, "-c", "from mcp_gen.cli import main; main()", *stubs], folder)
        body = found.body.format(module=module).strip("\n")
        program = PROGRAM.format(module=module, body=body)
        (folder / f"use_{module}.py").write_text(program.lstrip(), "utf-8")
    return folder


def run(words: Sequence[str], folder: Path) -> str:
    """Run a command in a folder, and return what it says; fail if it fails."""
    ran = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_mypy_accepts_the_stubs_of_all_servers_strictly(written: Path) -> None:
    run([sys.executable, "-m", "mypy", "--strict", "."], written)


def test_pyright_accepts_the_stubs_of_all_servers_strictly(written: Path) -> None:
    settings = {"typeCheckingMode": "strict"}
    (written / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    run([sys.executable, "-m", "pyright", "--pythonpath", sys.executable], written)


def test_ruff_finds_nothing_in_the_stubs_and_would_format_nothing(written: Path) -> None:
    stubs = [f"{server}_{models}.py" for server, models in EACH]
    run([sys.executable, "-m", "ruff", "check", "--isolated", *stubs], written)
    layout = ["format", "--isolated", "--check", "--line-length", "100"]
    run([sys.executable, "-m", "ruff", *layout, *stubs], written)


@pytest.mark.parametrize(("server", "models"), EACH)
def test_the_stubs_call_the_server(server: str, models: str, written: Path, work: Path) -> None:
    found = servers(work)[server]
    command = json.dumps(list(found.command))
    said = run([sys.executable, f"use_{server}_{models}.py", command], written)
    assert json.loads(said) == found.expected

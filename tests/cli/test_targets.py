"""Every command takes every target, and runs Python code as `mcp-gen run` does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import complaint, printed_json, run

CODE = """
import os
from contextlib import asynccontextmanager
from mcp_gen import Context, Server

print("a print of the code")

@asynccontextmanager
async def lifespan(server):
    print("a print of the lifespan")
    yield os.environ.get("SHELF_COLOR", "red")

server = Server("shelf", lifespan=lifespan)

@server.tool
async def color(ctx: Context) -> str:
    return ctx.lifespan

@server.resource("shelf://a")
async def read_a() -> str:
    return "a"

@server.prompt
def ask() -> str:
    return "ask"

def make():
    return server

if __name__ == "__main__":
    raise SystemExit("run as a program")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Write `shelf.py` to the current folder."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHELF_COLOR", "red")
    # Another test may have left a module of this name.
    monkeypatch.delitem(sys.modules, "shelf", raising=False)
    (tmp_path / "shelf.py").write_text(CODE)
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"mine": "shelf.py"}}))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize(
    "target", [["shelf.py"], ["shelf.py:make"], ["shelf"], ["mine", "--config", "servers.json"]]
)
def test_a_command_uses_code_with_its_lifespan_and_prints_results_alone(target: list[str]) -> None:
    ran = run("call", *target[:1], "color", *target[1:])
    assert (ran.exit_code, ran.stdout) == (0, "red\n")
    assert "a print of the lifespan" in ran.stderr


@pytest.mark.parametrize("command", ["tools", "read", "prompt"])
def test_each_command_takes_code(command: str) -> None:
    assert printed_json(command, "shelf.py:server")


def test_variables_are_set_before_code_is_imported() -> None:
    assert run("call", "shelf.py", "color", "--env", "SHELF_COLOR=blue").stdout == "blue\n"


@pytest.mark.parametrize("command", ["run", "tools"])
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("shelv.py", "no such file: shelv.py; did you mean shelf.py? give a Python file"),
        (
            "shelf.py:serve",
            "shelf.py:serve: expected a Server, found nothing; did you mean server?",
        ),
    ],
)
def test_code_that_is_not_there_is_refused_alike_by_each_command(
    command: str, target: str, said: str
) -> None:
    ran = run(command, target)
    assert (ran.exit_code, ran.stdout) == (2, "")
    assert ran.stderr.splitlines()[-1].startswith(f"mcp-gen {command}: {said}")


def test_run_says_that_it_runs_code() -> None:
    assert complaint("run", "npx a-server").startswith("mcp-gen run: npx is no Python code; give")


def test_a_server_of_a_file_that_is_misspelled_is_suggested() -> None:
    said = complaint("tools", "mime", "--config", "servers.json")
    assert said.endswith("servers.json has no server 'mime'; did you mean mine? there are mine")


def test_a_server_that_does_not_start_is_said_in_one_line(here: Path) -> None:
    (here / "fails.py").write_text(
        "from mcp_gen import Server\n"
        "def make():\n    raise KeyError('TOKEN')\n"
        "server = Server.per_connection(make)\n"
    )
    ran = run("tools", "fails.py")
    said = "mcp-gen tools: fails.py cannot be served: KeyError: 'TOKEN'\n"
    assert (ran.exit_code, ran.stderr) == (3, said)

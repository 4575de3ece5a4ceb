"""Run a server or a client of one SDK; imports none itself.

    python -m bench.peers.programs.run [--plain] PROGRAM stdio
    python -m bench.peers.programs.run [--plain] PROGRAM http json|sse TOOLS
    python -m bench.peers.programs.run [--plain] PROGRAM asks MODE URL COMMAND...

With `--plain` the packages of our extra `fast` are hidden from all, also uvicorn: asyncio and h11
serve. Without it all run on uvloop, and uvicorn parses with httptools.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

FAST = ("httptools", "orjson", "pybase64", "uvloop")


def main(words: Sequence[str]) -> None:
    """Run a program until it is stopped."""
    plain = words[0] == "--plain"
    kind, how, *rest = words[1:] if plain else words
    modules: dict[str, Any] = sys.modules
    if plain:
        modules.update(dict.fromkeys(FAST))
    else:
        # Where it is hidden, there is none to import.
        import uvloop

        uvloop.install()
    program = import_module(f"bench.peers.programs.{kind}")
    if how == "stdio":
        program.stdio()
    elif how == "http":
        serve(program.app(rest[0] == "json", int(rest[1])))
    else:
        asyncio.run(program.main(*rest))


def serve(app: Any) -> None:
    """Print the port, then serve until stopped."""
    # Only servers over HTTP need it.
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        app, lifespan="on", access_log=False, log_level="warning", timeout_keep_alive=600
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1:])

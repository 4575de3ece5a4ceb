"""Two nodes of the server of this folder, the Redis that they share, and a round robin before them.

`python -m tests.conformance.cluster_server --port 8000` serves them until SIGTERM. Each request
goes to the other node than the one before.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from pathlib import Path

from tests.storm.processes import Machine

NODES = 2


def program(port: int, store: str | None) -> tuple[str, ...]:
    """Return the command of a node."""
    words = (sys.executable, "-m", "tests.conformance.server", "--port", str(port))
    return (*words, *(() if store is None else ("--redis", store)))


async def serve(folder: Path, port: int) -> None:
    """Serve until SIGTERM or SIGINT; print the logs of the nodes at the end."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    machine = Machine.build(folder, NODES, program, port=port)
    try:
        await machine.start()
        await ended.wait()
    finally:
        for wrong in await machine.end():
            print("Traceback: behind the balancer:", wrong)
        for node in machine.nodes:
            print(node.log.read_text(errors="replace"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    with tempfile.TemporaryDirectory(prefix="cluster-") as name:
        folder = Path(name)
        # nginx gives its work to a user of its own if it was started by root.
        folder.chmod(0o755)
        asyncio.run(serve(folder, parser.parse_args().port))


if __name__ == "__main__":
    main()

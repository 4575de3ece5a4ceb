"""`mcp-gen worker`: run the tasks of a server that a job engine delivers."""

from __future__ import annotations

import asyncio
import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from mcp_gen.cli.console.output import fail
from mcp_gen.core.errors import McpGenError

__all__ = ["worker"]


def worker(
    target: Annotated[
        str, typer.Argument(help="`file.py:name` or `module:name`; the only server without a name.")
    ],
    cluster: Annotated[
        str,
        typer.Option(
            help="Redis of the cluster whose web nodes take the calls: `redis://host:6379`.",
            metavar="URL",
        ),
    ],
    concurrency: Annotated[
        int, typer.Option(help="Most tasks that run at the same time.", min=1)
    ] = 10,
    drain_s: Annotated[
        float,
        typer.Option(
            "--drain", help="Seconds that running tasks have to end at SIGTERM.", metavar="SECONDS"
        ),
    ] = 30.0,
) -> None:
    """Run the tasks of a server with `Tasks(engine=...)`, which web nodes of a cluster submit.

    The file is imported, so code under `if __name__ == "__main__":` does not run. Web nodes and
    workers run the same file.

    At SIGTERM the worker takes no further tasks and lets the running ones end. Those that take too
    long are handed to another worker if their tools may run again (`retry=True`, or an annotation
    that says that they are idempotent), and fail otherwise.

    **Examples**

    * `mcp-gen worker server.py --cluster redis://localhost` runs the tasks of the only server
    * `mcp-gen worker server.py:server --cluster redis://localhost --concurrency 50` runs more
    * `mcp-gen worker parcels.main --cluster rediss://redis.example --drain 300` of a module, with
      five minutes to end
    """
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.client.connecting.python_code import load
    from mcp_gen.cluster import Redis
    from mcp_gen.server.server import Server
    from mcp_gen.server.tasks.engine.process import serve_worker

    def ready(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        with redirect_stdout(sys.stderr):
            server = load(target)
        if not isinstance(server, Server):
            fail("worker", "a server per connection has no workers: make one Server")
        node = Redis(cluster)
        asyncio.run(
            serve_worker(server, node, max_running=concurrency, drain_s=drain_s, ready=ready)
        )
    except McpGenError as error:
        fail("worker", error)

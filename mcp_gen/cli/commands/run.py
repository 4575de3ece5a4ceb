"""`mcp-gen run`: run the server of a file or module, on stdio or over HTTP."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer

from mcp_gen.cli.console.output import fail
from mcp_gen.core.errors import McpGenError

__all__ = ["run"]

SEVERAL = (
    "one process serves; several share no sessions and no keys: run `uvicorn --workers N` with "
    "`server.asgi(session_store=...)` or `server.asgi(stateless=True)`, and give the Server its "
    "`request_state_keys=`"
)
"""Refusal of several workers, which names what they need."""


def run(
    target: Annotated[
        str, typer.Argument(help="`file.py:name` or `module:name`; the only server without a name.")
    ],
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdio.")] = False,
    host: Annotated[
        str | None, typer.Option(help="With --http: the address; this machine alone without one.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="With --http: the port, 0 for any; 8000 without one.")
    ] = None,
    sse_path: Annotated[
        str | None,
        typer.Option(
            help="With --http: a path such as `/sse`, at which clients of the oldest revision find "
            "the HTTP+SSE transport; not served without one.",
            metavar="PATH",
        ),
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="With --http: start anew when a Python file changes.")
    ] = False,
    dev: Annotated[
        bool,
        typer.Option("--dev", help="Warn of calls that block the event loop; part of --reload."),
    ] = False,
    workers: Annotated[
        int, typer.Option(hidden=True, help="More than one is refused with what to do instead.")
    ] = 1,
) -> None:
    """Run a server on stdio, or over HTTP at `/mcp`.

    The file is imported, so code under `if __name__ == "__main__":` does not run.

    `--reload` watches the folder of the file and its subfolders. Sessions end with the process that
    holds them. It needs --http: over stdio a client would lose its session without notice. Code
    that cannot be run is told at once, to clients too, and the next save is tried.

    `--dev` warns, once for each, of async tools, prompts and resources that block the event loop
    for more than 100 ms.

    **Examples**

    * `mcp-gen run server.py` runs the only server in a file
    * `mcp-gen run inventory.main:server --http --port 9000` runs one of a module over HTTP
    * `mcp-gen run server.py --http --reload` restarts it whenever its code changes
    * `mcp-gen run server.py --dev` warns on stderr of what blocks it
    """
    for_http = {"--host": host, "--port": port, "--sse-path": sse_path, "--reload": reload or None}
    for option in [name for name, value in for_http.items() if value is not None and not http]:
        fail("run", f"{option} is for HTTP: add --http")
    if reload and sse_path is not None:
        fail("run", "--sse-path is not for --reload: leave out one of them")
    if workers > 1:
        fail("run", SEVERAL)
    at = host or "127.0.0.1", 8000 if port is None else port
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.client.connecting.python_code import load

    try:
        if reload:
            _run_reloaded(target, *at)
            return
        # Over stdio, what the code prints would be no message.
        with redirect_stdout(sys.stderr):
            server = load(target)
        if dev:
            # Imported here: only development needs it.
            from mcp_gen.server.middleware.blocking_watch import BlockingWatch

            server.add_middleware(BlockingWatch())
        if http:
            server.run("http", host=at[0], port=at[1], legacy_sse_path=sse_path)
        else:
            server.run("stdio")
    except McpGenError as error:
        fail("run", error)


def _run_reloaded(target: str, host: str, port: int) -> None:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.reloading import serve_reloaded
    from mcp_gen.client.connecting.python_code import check_file
    from mcp_gen.client.connecting.target_text import parse_code

    code = parse_code(target)
    if code.is_file:
        check_file(code.place)
    serve_reloaded(str(code), code.folder, host, port)

"""`mcp-gen run`: run the server of a file or module, on stdio or over HTTP."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from mcp_gen.cli.console.output import fail
from mcp_gen.core.errors import McpGenError

__all__ = ["run"]

CLUSTER = "MCP_GEN_CLUSTER"
"""Environment variable with the URL of the cluster; the option goes before it."""


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
    auth_issuer: Annotated[
        str | None,
        typer.Option(
            help="With --http: ask for access tokens (JWTs) of this authorization server.",
            metavar="URL",
        ),
    ] = None,
    auth_audience: Annotated[
        str | None,
        typer.Option(
            help="With --auth-issuer: URL of this server as clients and tokens name it; its own "
            "address without one.",
            metavar="URL",
        ),
    ] = None,
    auth_scope: Annotated[
        list[str] | None,
        typer.Option(help="With --auth-issuer: a scope that every request needs; repeatable."),
    ] = None,
    stateless: Annotated[
        bool,
        typer.Option("--stateless", help="With --http: serve without sessions at every revision."),
    ] = False,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="With --http: URL of the Redis that shares sessions with other processes and "
            "machines; the variable MCP_GEN_CLUSTER hides it from other users.",
            metavar="URL",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="With --http: processes that serve the port; one that ends is started anew.",
            metavar="N",
            min=1,
        ),
    ] = None,
    health: Annotated[
        bool,
        typer.Option("--health", help="With --http: answer health checks at /healthz and /readyz."),
    ] = False,
    drain: Annotated[
        float | None,
        typer.Option(
            help="With --http: seconds that requests may still take after a signal; 10 without "
            "one.",
            metavar="SECONDS",
            min=0,
        ),
    ] = None,
    drain_delay: Annotated[
        float | None,
        typer.Option(
            help="With --http: seconds for which new requests are answered after a signal, until a "
            "balancer has noticed.",
            metavar="SECONDS",
            min=0,
        ),
    ] = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="With --http: start anew when a Python file changes.")
    ] = False,
    log_json: Annotated[
        bool,
        typer.Option("--log-json", help="Log to stderr in lines of JSON, with the request."),
    ] = False,
    dev: Annotated[
        bool,
        typer.Option("--dev", help="Warn of calls that block the event loop; part of --reload."),
    ] = False,
) -> None:
    """Run a server on stdio, or over HTTP at `/mcp`.

    The file is imported, so code under `if __name__ == "__main__":` does not run.

    `--reload` watches the folder of the file and its subfolders. Sessions end with the process that
    holds them. It needs --http: over stdio a client would lose its session without notice. Code
    that cannot be run is told at once, to clients too, and the next save is tried.

    `--cluster redis://host:6379` shares sessions, streams and changes with all processes that name
    the same Redis. The variable `MCP_GEN_CLUSTER` does the same, and keeps a password out of the
    list of processes.

    `--workers 4` serves with four processes. They need `--cluster`, or `--stateless`, if the server
    offers a revision with sessions.

    `--dev` warns, once for each, of async tools, prompts and resources that block the event loop
    for more than 100 ms.

    **Examples**

    * `mcp-gen run server.py` runs the only server in a file
    * `mcp-gen run inventory.main:server --http --port 9000` runs one of a module over HTTP
    * `mcp-gen run server.py --http --reload` restarts it whenever its code changes
    * `mcp-gen run server.py --http --workers 4 --cluster redis://127.0.0.1:6379` runs it in four
      processes
    * `mcp-gen run server.py --http --workers 4 --stateless --health` does so without sessions
    * `mcp-gen run server.py --dev` warns on stderr of what blocks it
    * `mcp-gen run server.py --http --auth-issuer https://login.example.com` asks for tokens
    """
    for_auth = {"--auth-audience": auth_audience, "--auth-scope": auth_scope or None}
    not_reloaded: dict[str, object] = {
        "--sse-path": sse_path,
        "--auth-issuer": auth_issuer,
        "--stateless": stateless or None,
        "--cluster": cluster,
        "--workers": workers,
        "--health": health or None,
        "--drain": drain,
        "--drain-delay": drain_delay,
    }
    for_http = {
        "--host": host,
        "--port": port,
        **not_reloaded,
        **for_auth,
        "--reload": reload or None,
    }
    for option in [name for name, value in for_http.items() if value is not None and not http]:
        fail("run", f"{option} is for HTTP: add --http")
    for option in [name for name, value in for_auth.items() if value and auth_issuer is None]:
        fail("run", f"{option} goes with --auth-issuer: add that")
    not_reloaded["--log-json"] = log_json or None
    for option in [name for name, value in not_reloaded.items() if value is not None and reload]:
        fail("run", f"{option} is not for --reload: leave out one of them")
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.cli.running.settings import RunSettings

    settings = RunSettings(
        target=target,
        host=host or "127.0.0.1",
        port=8000 if port is None else port,
        sse_path=sse_path,
        auth_issuer=auth_issuer,
        auth_audience=auth_audience,
        auth_scopes=auth_scope or [],
        stateless=stateless,
        cluster=cluster or (os.environ.get(CLUSTER) or None if http else None),
        health=health,
        drain_s=10.0 if drain is None else drain,
        drain_delay_s=drain_delay or 0.0,
        log_json=log_json,
        dev=dev,
        workers=1 if workers is None else workers,
    )
    try:
        if reload:
            _run_reloaded(target, settings.host, settings.port)
        elif settings.workers > 1:
            # Imported here: most servers have one process.
            from mcp_gen.cli.running.workers import run_workers

            raise typer.Exit(run_workers(settings))
        elif http:
            settings.run_http()
        else:
            settings.run_stdio()
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

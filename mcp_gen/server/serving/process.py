"""Serves a process, or a task of a running event loop, and says on stderr what is served where."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import unknown_transport

if TYPE_CHECKING:
    from mcp_gen.server.serving.servable import Servable
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.transports.http_server.app import AsgiApp
    from mcp_gen.transports.http_server.connection_limits import ConnectionLimits

__all__ = ["Serving", "ServingOptions", "start_line"]

_log = logging.getLogger("mcp_gen.server")


class ServingOptions(NamedTuple):
    """Transport, address and limits of a process that serves; see `Server.run`.

    Args:
        transport: `"stdio"` or `"http"`.
        host: Address to listen on.
        port: Port to listen on.
        limits: Limits on connections; None for the defaults.
        announce: True prints the start line.
        drain_s: Seconds that HTTP requests may still take in a process that was told to stop.
        drain_delay_s: Seconds for which such a process answers HTTP requests in any case.
        freeze_gc: True keeps the objects of the start out of garbage collections.
    """

    transport: Literal["stdio", "http"]
    host: str
    port: int
    limits: ConnectionLimits | None
    announce: bool
    drain_s: float
    drain_delay_s: float
    freeze_gc: bool


class Serving(NamedTuple):
    """Server that is about to be served.

    Args:
        options: How it is served.
        make_runner: Returns the runner that serves stdio.
        make_app: Returns the ASGI app that serves HTTP.
    """

    options: ServingOptions
    make_runner: Callable[[], Servable]
    make_app: Callable[[], AsgiApp]

    def run(self) -> None:
        """Serve this process; see `Server.run`."""
        _run_process(self)

    async def run_async(self) -> None:
        """Serve in the running event loop; see `Server.run_async`."""
        await _serve_process(self)


def _run_process(serving: Serving) -> None:
    options = serving.options
    if _is_loop_running():
        arguments = "" if options.transport == "stdio" else f"{options.transport!r}, ..."
        raise UsageError(
            "run() starts an event loop, and one is running here already: call "
            f"`await server.run_async({arguments})`"
        )
    # Imported here: a server loads only the transports it is served over.
    if options.transport == "stdio":
        from mcp_gen.server.serving.stdio import run_stdio

        runner = serving.make_runner()
        _announce_stdio(runner, options)
        run_stdio(runner, freeze_gc=options.freeze_gc)
    elif options.transport == "http":
        # Loaded when serving over HTTP.
        from mcp_gen.server.serving.http import run_http

        app = serving.make_app()
        run_http(app, options.host, options.port, **_http_options(options, app))
    else:
        raise unknown_transport(options.transport)


async def _serve_process(serving: Serving) -> None:
    options = serving.options
    # Imported here: a server loads only the transports it is served over.
    if options.transport == "stdio":
        from mcp_gen.server.serving.stdio import serve_stdio

        runner = serving.make_runner()
        _announce_stdio(runner, options)
        await serve_stdio(runner, freeze_gc=options.freeze_gc)
    elif options.transport == "http":
        # Loaded when serving over HTTP.
        from mcp_gen.server.serving.http import serve_http

        app = serving.make_app()
        await serve_http(app, options.host, options.port, **_http_options(options, app))
    else:
        raise unknown_transport(options.transport)


def start_line(kernel: Kernel[Any], where: str) -> str:
    """Return the line that a server starts with: its name, where it is, and its revisions.

    Args:
        kernel: Kernel of the server.
        where: Its address.
    """
    # A name with a line end would be two lines.
    name = " ".join(kernel.server_info.name.split())
    return f"{name}: {where} ({', '.join(kernel.revisions)})"


def _is_loop_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _announce_stdio(runner: Servable, options: ServingOptions) -> None:
    # A program that has started this one needs no line; people who try it do.
    if options.announce and sys.stdin is not None and sys.stdin.isatty():
        _say(start_line(runner.kernel, "stdio, waiting for the messages of a client"))


def _http_options(options: ServingOptions, app: AsgiApp) -> dict[str, Any]:
    # Loaded when serving over HTTP.
    from mcp_gen.server.serving.http import Draining
    from mcp_gen.transports.http_server.connection_limits import ConnectionLimits

    def listening(url: str) -> None:
        if options.announce:
            _say(start_line(app.kernel, url))
        _log.info("listening at %s", url)

    draining = Draining(options.drain_s, options.drain_delay_s)
    limits = options.limits or ConnectionLimits()
    freeze = options.freeze_gc
    return {"limits": limits, "draining": draining, "listening": listening, "freeze_gc": freeze}


def _say(line: str) -> None:
    # A process without a console has no stderr.
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)

"""Options of `mcp-gen run`, and the server that they make."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcp_gen.client.connecting.python_code import load
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from socket import socket

    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.core.transport.authorizing import RequestGate
    from mcp_gen.transports.http_server.app import AsgiApp

__all__ = ["RunSettings"]

PATH = "/mcp"
"""Path of the endpoint."""


class RunSettings(Struct, frozen=True, kw_only=True):
    """Options of `mcp-gen run`, as JSON for workers too.

    Args:
        target: The Python code.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        sse_path: Path of the HTTP+SSE transport; None does not serve it.
        auth_issuer: Authorization server whose tokens are asked for; None asks for none.
        auth_audience: URL of the server in tokens; None for the address that it listens on.
        auth_scopes: Scopes that every request needs.
        stateless: True serves without sessions.
        cluster: URL of the Redis that several processes share; None shares nothing.
        health: True answers health checks.
        drain_s: Seconds that requests may still take after a signal.
        drain_delay_s: Seconds for which requests are answered in any case after a signal.
        log_json: True logs in lines of JSON.
        dev: True warns of what blocks the event loop.
        workers: Number of processes.
        warns: True for the worker that warns of what the processes do not share.
    """

    target: str
    host: str = "127.0.0.1"
    port: int = 8000
    sse_path: str | None = None
    auth_issuer: str | None = None
    auth_audience: str | None = None
    auth_scopes: list[str] = []
    stateless: bool = False
    cluster: str | None = None
    health: bool = False
    drain_s: float = 10.0
    drain_delay_s: float = 0.0
    log_json: bool = False
    dev: bool = False
    workers: int = 1
    warns: bool = True

    def __repr__(self) -> str:
        # The URL of Redis may have a password.
        return f"RunSettings({self.target!r})"

    def load(self) -> Any:
        """Load the server.

        Raises:
            UsageError: the code cannot be run, or has no server.
        """
        # Over stdio, what the code prints would be no message.
        with redirect_stdout(sys.stderr):
            server = load(self.target)
        if self.dev:
            # Loaded in development alone.
            from mcp_gen.server.middleware.blocking_watch import BlockingWatch

            server.add_middleware(BlockingWatch())
        return server

    def run_stdio(self) -> None:
        """Serve this process on stdin and stdout.

        Raises:
            McpGenError: the server cannot be loaded or started.
        """
        server = self.load()
        self.start_log()
        server.run("stdio")

    def run_http(self) -> None:
        """Serve this process over HTTP.

        Raises:
            McpGenError: the server cannot be loaded or started.
        """
        server, cluster = self.load(), self._cluster()
        self.start_log(cluster)
        server.run(
            "http",
            host=self.host,
            port=self.port,
            announce=not self.log_json,
            drain_s=self.drain_s,
            drain_delay_s=self.drain_delay_s,
            **self._app_options(cluster),
        )

    def run_worker(
        self, bound: Sequence[socket], listening: Callable[[str, AsgiApp], None]
    ) -> None:
        """Serve this process over HTTP, at sockets that other processes listen at, too.

        Args:
            bound: The sockets.
            listening: Called with the URL and the app, as soon as clients can connect.

        Raises:
            McpGenError: the server cannot be loaded or started, or several processes cannot serve
                it with these options.
        """
        # Loaded in workers alone.
        from mcp_gen.server.serving.http import Draining, run_http

        server, cluster = self.load(), self._cluster()
        self.start_log(cluster)
        app: AsgiApp = server.asgi(PATH, **self._app_options(cluster))
        if app.kernel.handshakes and cluster is None and not self.stateless:
            raise UsageError(
                f"--workers {self.workers}: sessions live in one process, and a client would find "
                "its own in one of them alone: add --cluster redis://..., which shares them, or "
                "--stateless, which serves without sessions"
            )
        draining = Draining(self.drain_s, self.drain_delay_s)

        def told(url: str) -> None:
            listening(url, app)

        run_http(app, self.host, self.port, draining=draining, listening=told, bound=bound)

    def start_log(self, cluster: Cluster | None = None) -> None:
        """Log as the options say.

        Args:
            cluster: Its node is named in each line; None names host and process.
        """
        if self.log_json:
            # Loaded if it is asked for.
            from mcp_gen.server.middleware.json_lines import log_as_json

            log_as_json(None if cluster is None else lambda: cluster.node)

    def _cluster(self) -> Cluster | None:
        if self.cluster is None:
            return None
        try:
            # Loaded with a cluster.
            from mcp_gen.cluster import Redis
        except ModuleNotFoundError as error:
            raise UsageError(
                f"--cluster needs {error.name}: pip install 'mcp-gen[redis]'"
            ) from None
        return Redis(self.cluster)

    def _app_options(self, cluster: Cluster | None) -> dict[str, Any]:
        return {
            "cluster": cluster,
            "legacy_sse_path": self.sse_path,
            "auth": self._gate(),
            "stateless": self.stateless,
            "health": self.health,
        }

    def _gate(self) -> RequestGate | None:
        if self.auth_issuer is None:
            return None
        # Loaded with authorization alone.
        from mcp_gen.auth import ResourceServer
        from mcp_gen.core.transport.addresses import is_loopback
        from mcp_gen.server.serving.http import url_at

        audience = self.auth_audience
        if audience is None:
            if not self.port or not is_loopback(self.host):
                raise UsageError(
                    "--auth-issuer: which URL do clients and tokens name? Add --auth-audience "
                    "https://... with it, or serve at a port of this machine alone"
                )
            audience = url_at(self.host, self.port, PATH)
        return ResourceServer(issuer=self.auth_issuer, audience=audience, scopes=self.auth_scopes)

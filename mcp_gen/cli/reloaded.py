"""ASGI app of `mcp-gen run --reload`: the user's server, or why it cannot be served."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

from mcp_gen.client.connecting.python_code import load
from mcp_gen.core.envelope import error_object, failure
from mcp_gen.core.errors import InvalidRequest, McpError, McpGenError
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.server.middleware.blocking_watch import BlockingWatch
from mcp_gen.server.serving.process import start_line
from mcp_gen.transports.http_server.app import AsgiApp

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply

__all__ = ["TARGET", "URL", "reloaded_app"]

TARGET, URL = "MCP_GEN_RUN_TARGET", "MCP_GEN_RUN_URL"
"""Environment variables with the target and its URL, for the processes that `--reload` starts."""

INTERNAL_ERROR = -32603


def reloaded_app() -> ReloadedApp:
    """Return the ASGI app of the target, in a process that `--reload` started."""
    return ReloadedApp(os.environ[TARGET], os.environ[URL])


class ReloadedApp:
    """Serves a target; answers every request with an error while it cannot be loaded or started.

    Args:
        target: The Python code.
        url: Where it is served, for the start line.
    """

    def __init__(self, target: str, url: str) -> None:
        self._url = url
        try:
            with redirect_stdout(sys.stderr):
                server = load(target)
            server.add_middleware(BlockingWatch())
            self._app: AsgiApp = server.asgi()
        except McpGenError as error:
            self._app = _failed_app(str(error))

    async def __call__(
        self,
        scope: MutableMapping[str, Any],
        receive: Callable[[], Awaitable[MutableMapping[str, Any]]],
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        """Handle one ASGI scope. The lifespan always starts, so that requests are answered."""
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        await receive()
        await self._start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._app.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self) -> None:
        try:
            await self._app.start()
        except Exception as error:
            self._app = _failed_app(str(error) or type(error).__name__)
        if self._app.kernel is not None:
            print(start_line(self._app.kernel, self._url), file=sys.stderr, flush=True)


def _failed_app(why: str) -> AsgiApp:
    """Return an app that answers all requests with an error, and say the error on stderr."""
    said = f"{' '.join(why.split())}; started anew when a file is saved"
    print(f"mcp-gen run: {said}", file=sys.stderr, flush=True)
    return AsgiApp(_FailedExchange(said), "/mcp")


class _FailedExchange:
    """Answers every request with one error."""

    http_methods = ("POST",)

    def __init__(self, why: str) -> None:
        self._error = error_object(McpError(INTERNAL_ERROR, why))

    async def answer(self, message: bytes, headers: Headers, reply: Reply) -> Answer:
        """Return an error response to each request in the message."""
        try:
            found: Any = json.loads(message)
        except (ValueError, RecursionError):
            return self._refusal(400)
        several = found if found.__class__ is list else [found]
        answers = [
            failure(one["id"], self._error)
            for one in several
            if one.__class__ is dict and "method" in one and one.get("id").__class__ in (int, str)
        ]
        if not answers:
            return Answer(202)
        # 200: clients show the error of a response, where they give up on a status of the 500s.
        body = b"[" + b",".join(answers) + b"]" if several is found else answers[0]
        return Answer(200, body)

    async def listen(self, headers: Headers, reply: Reply) -> Answer:
        """Refuse a stream."""
        return self._refusal(503)

    async def end_session(self, headers: Headers, reply: Reply) -> Answer:
        """Refuse the end of a session: there is none."""
        return self._refusal(404)

    async def drain(self) -> None:
        """Return at once: nothing is open."""

    async def aclose(self) -> None:
        """Return at once: nothing is open."""

    def _refusal(self, status: int) -> Answer:
        return Answer(status, failure(None, error_object(InvalidRequest(self._error.message))))

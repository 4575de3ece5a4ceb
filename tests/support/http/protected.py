"""A protected server and its authorization server in a thread, and a browser that consents."""

from __future__ import annotations

import asyncio
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from examples.oauth.authorization_server import AuthorizationServer
from mcp_gen import Context, Server
from mcp_gen.auth import ResourceServer
from tests.support.http.loopback import Web, serving
from tests.support.ports import free_port

__all__ = ["Protected", "ThreadedBrowser", "in_thread", "protected", "redirect_of"]

WAIT_S = 30.0


class Protected:
    """A server that wants tokens of its authorization server.

    Args:
        web: The server.
        authorization: The authorization server.
    """

    def __init__(self, web: Web, authorization: AuthorizationServer) -> None:
        self.web = web
        self.authorization = authorization

    @property
    def url(self) -> str:
        """URL of the server."""
        return self.web.url

    def grants(self) -> list[str]:
        """Return the grant types of the requests at the token endpoint, in order."""
        return [one.form["grant_type"] for one in self.authorization.received("token")]


def whoami() -> Server:
    server = Server("protected")

    @server.tool
    async def who(ctx: Context) -> str:
        assert ctx.token is not None
        return f"{ctx.token.subject} {sorted(ctx.token.scopes)}"

    @server.tool(scopes=["files:write"])
    async def write() -> str:
        return "written"

    return server


@asynccontextmanager
async def protected(**settings: Any) -> AsyncIterator[Protected]:
    """Serve a protected server and its authorization server in this loop."""
    async with AsyncExitStack() as stack:
        port, own = free_port(), free_port()
        authorization = AuthorizationServer(issuer=f"http://127.0.0.1:{port}", **settings)
        await stack.enter_async_context(serving(authorization.app, port=port))
        gate = ResourceServer(
            issuer=authorization.issuer,
            audience=f"http://127.0.0.1:{own}/mcp",
            scopes=["mcp"],
            leeway_s=0,
        )
        stack.push_async_callback(gate.aclose)
        app = whoami().asgi(auth=gate)
        web = await stack.enter_async_context(serving(app, port=own))
        yield Protected(web, authorization)


@contextmanager
def in_thread(**settings: Any) -> Iterator[Protected]:
    """Serve them in a thread, for commands that have a loop of their own."""
    begun, loop = threading.Event(), asyncio.new_event_loop()
    found: list[Protected] = []
    over = asyncio.Event()

    async def run() -> None:
        async with protected(**settings) as made:
            found.append(made)
            begun.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    assert begun.wait(WAIT_S)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(WAIT_S)
        assert not thread.is_alive()
        loop.close()


class ThreadedBrowser:
    """A browser that goes where it is sent, and remembers the pages that it ended at."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.pages: list[str] = []
        self.shown = threading.Event()

    def open(self, url: str) -> bool:
        """Open a link as a browser does, and follow its redirects."""
        self.opened.append(url)
        try:
            with _opener().open(url, timeout=WAIT_S) as page:
                self.pages.append(page.read().decode())
        except urllib.error.HTTPError as error:
            self.pages.append(error.read().decode())
        self.shown.set()
        return True


def redirect_of(url: str) -> str:
    """Return the address that a browser on another machine ends at, which it cannot open."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *given: Any) -> None:
            return None

    try:
        _opener(Stay).open(url, timeout=WAIT_S).close()
    except urllib.error.HTTPError as error:
        with error:
            return str(error.headers["location"])
    raise AssertionError("expected a redirect")


def _opener(*handlers: Any) -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), *handlers)

"""Listener on loopback that takes one redirect of an authorization server.

Source: https://www.rfc-editor.org/rfc/rfc8252.html#section-7.3
"""

from __future__ import annotations

import asyncio
import errno
import hmac
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

from mcp_gen.auth.browser.page import response
from mcp_gen.core.errors import AuthError, UsageError

__all__ = ["RedirectListener", "port_of"]

ADDRESS, ADDRESS_V6 = "127.0.0.1", "::1"
"""The only addresses that are listened on, the second one for the name `localhost`."""
HOSTS = (ADDRESS, "localhost")
NO_IPV6 = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
MAX_HEAD_BYTES = 32 * 1024
"""Maximum size of a request's head, in bytes."""
READ_TIMEOUT_S = 10.0
"""Seconds that a request may take to arrive."""
PAGE_TIMEOUT_S = 60.0
"""Seconds that a browser waits for the outcome of its login."""
MAX_CONNECTIONS = 16
"""Number of connections at a time; more are closed. Browsers open some in advance."""
_ELSEWHERE = "Go back to the program, and use its newest link."


class RedirectListener:
    """Listens on loopback for the redirect of one login, and shows a page with its outcome.

    Answers only GET of its path, to whoever calls it by a name of loopback and its port. A request
    whose `state` is not the awaited one is answered with an error, and does not end the login.

    Args:
        host: The host of the redirect URI: `127.0.0.1`, or `localhost` where the authorization
            server wants that.
        path: The path of the redirect URI.
    """

    def __init__(self, host: str, path: str) -> None:
        if host not in HOSTS:
            raise UsageError(f"the host of a redirect listener: expected one of {', '.join(HOSTS)}")
        if not path.startswith("/") or not path.isascii() or any(one in path for one in "?# \\"):
            raise UsageError("the path of a redirect listener: expected one such as `/callback`")
        self._host = host
        self._path = path
        self._port = 0
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._found: asyncio.Future[str] | None = None
        self._outcome: asyncio.Future[bytes] | None = None
        self._state = ""

    @property
    def redirect_uri(self) -> str:
        """The redirect URI; of use once it listens."""
        return f"http://{self._host}:{self._port}{self._path}"

    async def start(self, ports: Sequence[int]) -> None:
        """Listen on the first port that is free.

        Args:
            ports: Ports in the order in which they are tried; 0 is any free one.

        Raises:
            AuthError: None of them is free.
        """
        for port in ports:
            if await self._listen(port):
                break
        else:
            tried = ", ".join(map(str, ports))
            raise AuthError(
                f"the redirect of a login: port {tried} of {self._host} is in use; name another one"
            )
        self.expect("")

    async def _listen(self, port: int) -> bool:
        """Listen on a port; return False if it is in use."""
        try:
            await self._listen_on(ADDRESS, port)
            self._port = self._servers[0].sockets[0].getsockname()[1]
            if self._host == "localhost":
                # Nobody else is to have that name with this port.
                await self._listen_on(ADDRESS_V6, self._port)
        except OSError as error:
            if self._servers and error.errno in NO_IPV6:
                return True
            for server in self._servers:
                server.close()
            self._servers.clear()
            return False
        return True

    async def _listen_on(self, address: str, port: int) -> None:
        server = await asyncio.start_server(self._serve, address, port, limit=MAX_HEAD_BYTES)
        self._servers.append(server)

    def expect(self, state: str) -> None:
        """Wait for another redirect, with this `state`; before a browser opens.

        Args:
            state: The `state` of the authorization request; whoever gets the URL checks it again.
        """
        self._show(response(200, "One more step", "The login goes on in a new page."))
        loop = asyncio.get_running_loop()
        self._found, self._outcome = loop.create_future(), loop.create_future()
        self._state = state

    async def redirected(self) -> str:
        """Return the URL that the browser was redirected to, with the awaited `state`."""
        assert self._found is not None
        return await self._found

    async def finish(self, error: str | None) -> None:
        """Show the browser the outcome of the login, and stop listening.

        Args:
            error: What failed, without secrets; None if it worked.
        """
        self._show(_outcome_page(error))
        await self.aclose(wait_s=1.0)

    def _show(self, page: bytes) -> None:
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(page)

    async def aclose(self, wait_s: float = 0.0) -> None:
        """Stop listening.

        Args:
            wait_s: Seconds that pages which are being sent may take.
        """
        for server in self._servers:
            server.close()
        self._servers.clear()
        if self._found is not None:
            self._found.cancel()
        tasks = list(self._tasks)
        if tasks and wait_s:
            await asyncio.wait(tasks, timeout=wait_s)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._tasks) < MAX_CONNECTIONS:
                self._tasks.add(task)
                async with asyncio.timeout(READ_TIMEOUT_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                answer = await self._answer(head.decode("latin-1"))
                async with asyncio.timeout(READ_TIMEOUT_S):
                    writer.write(answer)
                    await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a browser that left, or what is no browser
        except asyncio.CancelledError:
            pass  # closed
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, head: str) -> bytes:
        """Return the response to a request; the one that was waited for waits for the outcome."""
        first, *lines = head.split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return response(400, "Not a request", "This address takes the redirect of a login.")
        method, target, _ = words
        hosts = [value.strip() for name, value in _pairs(lines) if name.lower() == "host"]
        # A page elsewhere may have given its own name the address of this machine.
        if hosts != [f"{self._host}:{self._port}"]:
            return response(421, "Not found", "This address takes the redirect of a login.")
        path, _, query = target.partition("?")
        if path != self._path:
            return response(404, "Not found", "This address takes the redirect of a login.")
        if method != "GET":
            return response(405, "Not allowed", _ELSEWHERE, "Allow: GET")
        if not _has_state(query, self._state):
            return response(400, "Not the awaited login", _ELSEWHERE)
        if self._found is None or self._outcome is None or self._found.done():
            return response(410, "This login is over", _ELSEWHERE)
        self._found.set_result(f"{self.redirect_uri}?{query}")
        outcome = self._outcome
        try:
            async with asyncio.timeout(PAGE_TIMEOUT_S):
                return await asyncio.shield(outcome)
        except TimeoutError:
            return response(200, "Almost done", "Go back to the program to see how it went.")


def _outcome_page(error: str | None) -> bytes:
    if error is None:
        text = "You can close this page and go back to the program."
        return response(200, "You are logged in", text)
    return response(400, "The login failed", error)


def _pairs(lines: Sequence[str]) -> list[tuple[str, str]]:
    found = (line.partition(":") for line in lines if line)
    return [(name, value) for name, _, value in found]


def _has_state(query: str, state: str) -> bool:
    try:
        given = parse_qs(query, max_num_fields=50).get("state", [])
    except ValueError:
        return False
    if not state or len(given) != 1:
        return False
    return hmac.compare_digest(given[0].encode(), state.encode())


def port_of(redirect_uri: str, host: str, path: str) -> int | None:
    """Return the port of a redirect URI with this host and path; None if it has others."""
    try:
        parts = urlsplit(redirect_uri)
        port = parts.port
    except ValueError:
        return None
    own = (parts.scheme, parts.hostname, parts.path, parts.query) == ("http", host, path, "")
    return port if own and port else None

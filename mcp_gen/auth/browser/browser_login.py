"""Login by a browser on this machine, or by a link that the user opens anywhere."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from mcp_gen.auth.browser.consent import consent_text
from mcp_gen.auth.browser.redirect_listener import RedirectListener, port_of
from mcp_gen.core.errors import AuthError, UsageError
from mcp_gen.core.transport.addresses import is_loopback

if TYPE_CHECKING:
    from mcp_gen.auth.flows.authorization_code import AuthorizationRequest

__all__ = ["BrowserLogin"]

TEXT_BROWSERS = frozenset(("www-browser", "links", "elinks", "lynx", "w3m"))
"""Browsers that run in a terminal, by their names in `webbrowser`."""
_LINK = re.compile(r"https?://[!-~]+")

Show: TypeAlias = "Callable[[AuthorizationRequest], object]"
"""Shows the user what is asked for. Runs before a browser opens; an error ends the login."""
ReadLine: TypeAlias = "Callable[[], Awaitable[str]]"
"""Reads the address that the user was redirected to; EOFError at the end of the input."""


class BrowserLogin:
    """Sends the user to an authorization server by a browser, and takes the redirect.

    The redirect is taken on loopback, at a port that is free for each login or at a given one.
    One object makes one login at a time; it can be used again.

    Args:
        host: The host of the redirect URI: `127.0.0.1`, or `localhost` for authorization servers
            that take no address.
        port: The port of the redirect URI; 0 for any free one.
        path: The path of the redirect URI.
        open_browser: Opens a URL, and returns False if it cannot; None for `webbrowser.open`.
            It runs in a thread.
        show: Shows the user what is asked for, before a browser opens; None prints it and the link
            on stderr.
        paste: Reads the address to which the user was redirected, for a browser on another machine:
            none is opened here then. None: the redirect is listened for alone.

    Raises:
        UsageError: The host, port or path cannot be that of a redirect URI on loopback.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        path: str = "/callback",
        open_browser: Callable[[str], object] | None = None,
        show: Show | None = None,
        paste: ReadLine | None = None,
    ) -> None:
        if not 0 <= port <= 65535:
            raise UsageError("BrowserLogin: port: expected 0 to 65535")
        RedirectListener(host, path)
        self._host = host
        self._port = port
        self._path = path
        self._open = open_browser
        self._show = print_request if show is None else show
        self._paste = paste
        self._listener: RedirectListener | None = None

    @classmethod
    def at(cls, redirect_uri: str | None, **options: Any) -> BrowserLogin:
        """Return a login with a redirect URI that is given as a whole.

        Args:
            redirect_uri: The redirect URI, on loopback; None for one with a free port.
            options: The other options.

        Raises:
            UsageError: It is not on http://127.0.0.1 or http://localhost.
        """
        if not redirect_uri:
            return cls(**options)
        parts = urlsplit(redirect_uri)
        if parts.scheme != "http":
            raise UsageError("the redirect URI of a browser login: expected http on loopback")
        host, port = parts.hostname or "", parts.port or 80
        return cls(host=host, port=port, path=parts.path or "/", **options)

    async def open(self, registered: Sequence[str] = ()) -> str:
        """Begin to listen, and return the redirect URI; pair with `finish`.

        Args:
            registered: Redirect URIs that the client is registered with: their ports are tried
                first.

        Raises:
            AuthError: The port is in use.
        """
        await self.aclose()
        listener = RedirectListener(self._host, self._path)
        ports = (port_of(one, self._host, self._path) for one in registered)
        known = [port for port in ports if port is not None]
        await listener.start([self._port] if self._port else [*known, 0])
        self._listener = listener
        return listener.redirect_uri

    async def authorize(self, request: AuthorizationRequest) -> str:
        """Send the user to the authorization server, and return the URL of the redirect.

        Args:
            request: The authorization request, with the redirect URI of `open`.

        Raises:
            AuthError: The link is none for a browser, or the input of pasted redirects ended.
        """
        listener = self._listener
        if listener is None or request.redirect_uri != listener.redirect_uri:
            raise UsageError(
                "BrowserLogin: expected the redirect URI that `await login.open()` returned"
            )
        _check_link(request.url)
        self._show(request)
        listener.expect(parse_qs(urlsplit(request.url).query).get("state", [""])[0])
        if self._paste is not None:
            return await _first(listener.redirected(), _pasted(self._paste))
        self._open_in_thread(request.url)
        return await listener.redirected()

    async def finish(self, error: BaseException | None = None) -> None:
        """Show the outcome in the browser, and stop listening; without effect if it is over.

        Args:
            error: What failed; None if the user is logged in.
        """
        listener, self._listener = self._listener, None
        if listener is None:
            return
        if error is not None and not isinstance(error, AuthError):
            error = AuthError("Go back to the program to see what failed.")
        await listener.finish(None if error is None else str(error))

    async def aclose(self) -> None:
        """Stop listening."""
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.aclose()

    def _open_in_thread(self, url: str) -> None:
        # A daemon thread: a browser of the terminal returns when the user has closed it.
        threading.Thread(target=_open_quietly, args=(self._open, url), daemon=True).start()


def print_request(request: AuthorizationRequest) -> None:
    """Print on stderr what a user must see, and the link."""
    print(
        f"A server asks you to log in:\n{consent_text(request)}\n"
        f"If no browser opens, open this link:\n{request.url}",
        file=sys.stderr,
        flush=True,
    )


def _open_quietly(open_browser: Callable[[str], object] | None, url: str) -> None:
    try:
        if open_browser is not None:
            open_browser(url)
            return
        # Imported with its first use. It starts programs without a shell.
        import webbrowser

        with contextlib.suppress(webbrowser.Error):
            if getattr(webbrowser.get(), "name", "") in TEXT_BROWSERS:
                # It would take the terminal at which the user reads the link.
                return
        webbrowser.open(url)
    except Exception:
        # The link was shown: the user opens it.
        return


def _check_link(url: str) -> None:
    """Check that a link is one for a browser: it is passed to a program of the system.

    Raises:
        AuthError: It is none.
    """
    host = urlsplit(url).hostname or ""
    if not _LINK.fullmatch(url) or not (url.startswith("https://") or is_loopback(host)):
        raise AuthError(
            "the authorization server's address for logins: expected a URL that begins with "
            "https://, got something else; it was not opened"
        )


async def _pasted(paste: ReadLine) -> str:
    try:
        while not (line := (await paste()).strip()):
            pass
    except EOFError:
        raise AuthError(
            "the login needs the address to which the browser was redirected, and the input ended; "
            "run it where you can paste it"
        ) from None
    return line


async def _first(*ways: Awaitable[str]) -> str:
    """Return the result of the first to be done, and cancel the others."""
    tasks = [asyncio.ensure_future(one) for one in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

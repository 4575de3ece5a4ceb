"""Logins at a terminal: what is asked for is shown, then a browser opens, or a link is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp_gen.auth.browser.browser_login import BrowserLogin
    from mcp_gen.auth.flows.authorization_code import AuthorizationRequest

__all__ = ["User", "terminal_login"]

PASTE = "Paste the address of the page that the browser ends at, also if it shows an error:"


class User(Protocol):
    """Terminal that can show text and ask for a line; `Screen` is one."""

    @property
    def can_ask(self) -> bool: ...

    def say(self, text: str, style: str = "") -> None: ...

    async def ask(self, prompt: str) -> str: ...


def terminal_login(
    user: User, *, browser: bool = True, redirect_uri: str | None = None
) -> BrowserLogin:
    """Return a login that shows everything at a terminal.

    Args:
        user: The terminal.
        browser: False opens no browser: the link is shown, and the redirect is pasted.
        redirect_uri: A fixed redirect URI on loopback; None for one with a free port.

    Raises:
        UsageError: The redirect URI is not on loopback.
    """
    # Loaded with a login.
    from mcp_gen.auth.browser.browser_login import BrowserLogin
    from mcp_gen.auth.browser.consent import consent_text

    def show(request: AuthorizationRequest) -> None:
        user.say(f"The server asks you to log in:\n{consent_text(request)}")
        if browser:
            user.say("A browser opens. If none does, open this link on this machine,")
            user.say("or use `mcp-gen login --no-browser`, whose link works on any machine:")
        else:
            user.say("Open this link in any browser:")
        user.say(request.url)

    async def paste() -> str:
        # A line of its own: without a terminal, nobody ends it.
        user.say(PASTE)
        return await user.ask("")

    return BrowserLogin.at(redirect_uri, show=show, paste=None if browser else paste)

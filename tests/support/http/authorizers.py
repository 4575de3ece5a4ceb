"""Authorizers for tests: tokens from a list, and a record of what they were asked."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from mcp_gen.core.errors import AuthError
from mcp_gen.core.transport.protocols import Lines

__all__ = ["Asked", "FakeAuthorizer", "guarded"]


class Asked(NamedTuple):
    """One call of `retry`."""

    method: str
    url: str
    status: int
    challenge: str
    sent: Lines


class FakeAuthorizer:
    """Sends the current one of its tokens, and takes the next one after a refusal.

    Args:
        tokens: The tokens; an empty text stands for none.
        again: True to try once more, also without a next token.
    """

    def __init__(self, *tokens: str, again: bool = False) -> None:
        self.tokens = list(tokens) or [""]
        self.again = again
        self.asked: list[Asked] = []
        self.lines: list[tuple[str, str]] = []
        self.seen: list[Mapping[str, str]] = []
        self.login = asyncio.Event()
        """What `retry` waits for: the user."""
        self.login.set()
        self.waits = asyncio.Event()
        self.error: Exception | None = None
        self.user: Hashable = None
        self.closed = False

    async def headers(self, method: str, url: str) -> Lines:
        """Return the current token; see `RequestAuthorizer`."""
        self.lines.append((method, url))
        token = self.tokens[0]
        return [(b"authorization", f"Bearer {token}".encode())] if token else []

    async def retry(
        self, method: str, url: str, status: int, headers: Mapping[str, str], sent: Lines
    ) -> bool:
        """Take the next token; see `RequestAuthorizer`."""
        self.asked.append(Asked(method, url, status, headers.get("www-authenticate", ""), sent))
        self.waits.set()
        await self.login.wait()
        if self.error is not None:
            raise self.error
        if len(self.tokens) > 1:
            self.tokens.pop(0)
            return True
        return self.again

    def responded(self, url: str, headers: Mapping[str, str]) -> None:
        """Remember the headers."""
        self.seen.append(headers)

    @property
    def identity(self) -> Hashable:
        """The user that the test has set."""
        return self.user

    async def aclose(self) -> None:
        """Remember that it was closed."""
        self.closed = True

    def refuse(self, text: str = "the user said no: run `mcp-gen login URL`") -> None:
        """Raise AuthError from now on."""
        self.error = AuthError(text)


def guarded(app: Any, *tokens: str, status: int = 401) -> Any:
    """Refuse requests without one of the tokens, with a challenge."""

    async def guard(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"").decode()
            if given.removeprefix("Bearer ") not in tokens:
                challenge = (b"www-authenticate", b'Bearer scope="mcp"')
                while (await receive()).get("more_body"):
                    pass
                start = {"type": "http.response.start", "status": status, "headers": [challenge]}
                await send(start)
                await send({"type": "http.response.body", "body": b"no"})
                return
        await app(scope, receive, send)

    return guard

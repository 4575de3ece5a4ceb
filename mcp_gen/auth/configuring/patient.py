"""Authorizer that says when it waits: for a user, or for another process."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Lines

__all__ = ["PatientAuthorizer"]


class PatientAuthorizer:
    """Authorizer of one server that says when it waits; see `RequestAuthorizer`.

    Args:
        auth: The authorizer. Others may use it too; it is not closed.
        waiting: Returns the context in which it waits; None while nobody is in a hurry.
    """

    def __init__(
        self,
        auth: RequestAuthorizer,
        waiting: Callable[[], AbstractAsyncContextManager[None] | None],
    ) -> None:
        self._auth = auth
        self._waiting = waiting

    async def headers(self, method: str, url: str) -> Lines:
        """Return the header lines of a request; see `RequestAuthorizer.headers`."""
        waiting = self._waiting()
        if waiting is None:
            return await self._auth.headers(method, url)
        async with waiting:
            return await self._auth.headers(method, url)

    async def retry(
        self, method: str, url: str, status: int, headers: Mapping[str, str], sent: Lines
    ) -> bool:
        """Act on a refused request; see `RequestAuthorizer.retry`."""
        waiting = self._waiting()
        if waiting is None:
            return await self._auth.retry(method, url, status, headers, sent)
        async with waiting:
            return await self._auth.retry(method, url, status, headers, sent)

    def responded(self, url: str, headers: Mapping[str, str]) -> None:
        """Take notice of a response; see `RequestAuthorizer.responded`."""
        self._auth.responded(url, headers)

    @property
    def identity(self) -> Hashable:
        """Whose credentials these are; None while there are none."""
        return self._auth.identity

    async def aclose(self) -> None:
        """Do nothing: whoever made the authorizer closes it."""

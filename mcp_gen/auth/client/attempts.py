"""Bounds of authorization: how often a server may refuse what was just had for it."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager

from mcp_gen.core.errors import AuthError

__all__ = ["Attempts"]

DECLINED = frozenset(("access_denied", "invalid_scope"))
"""Errors after which further scopes are not asked for again."""


class Attempts:
    """Counts authorizations whose tokens the server refused at once.

    Args:
        most: Number of authorizations in a row.
        settle_s: Seconds after which a token that is refused counts as one that was good.
    """

    def __init__(self, most: int, settle_s: float) -> None:
        self._most = most
        self._settle_s = settle_s
        self._count = 0
        self._token: str | None = None
        self._obtained_at = 0.0
        self._authorized = False
        self._declined: dict[frozenset[str], AuthError] = {}

    def obtained(self, token: str | None, now: float, *, authorized: bool) -> None:
        """Take notice of a new token.

        Args:
            token: The access token.
            now: The current time, in seconds.
            authorized: False if it is from a refresh, which is no new authorization.
        """
        self._token, self._obtained_at, self._authorized = token, now, authorized
        self._count += authorized

    def is_fresh(self, token: str | None, now: float) -> bool:
        """Return True if a token was obtained just now."""
        age = now - self._obtained_at
        return token is not None and token == self._token and 0 <= age <= self._settle_s

    def is_new(self, token: str | None, now: float) -> bool:
        """Return True if a token was obtained just now, and not by a refresh."""
        return self._authorized and self.is_fresh(token, now)

    def begin(self, refused: str | None, now: float) -> None:
        """Check that there may be another authorization.

        Args:
            refused: The token that was refused; None if there was none.
            now: The current time, in seconds.

        Raises:
            AuthError: There were enough.
        """
        if not self.is_fresh(refused, now):
            self._count = 0
        if self._count >= self._most:
            raise AuthError(
                f"the server refused {self._count} tokens in a row that were issued for it: "
                "expected it to accept one; ask its operator which scopes and audience it wants"
            )

    @contextmanager
    def asking_for(self, scopes: Collection[str] | None) -> Generator[None]:
        """Remember it if more scopes are refused while a user is asked for them.

        Each further request that needs them would open a browser again.

        Args:
            scopes: The scopes; None if the authorization is not for more of them.

        Raises:
            AuthError: They were refused before; the same error.
        """
        wanted = None if scopes is None else frozenset(scopes)
        if wanted in self._declined:
            before = self._declined[wanted]
            raise AuthError(str(before), before.error)
        try:
            yield
        except AuthError as error:
            if wanted is not None and error.error in DECLINED:
                self._declined[wanted] = error
            raise

    def forget_declined(self) -> None:
        """Ask for scopes again that were refused: the program logs in by itself."""
        self._declined.clear()

"""Source of a JWT of somebody else: a text, a file, or a function."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import msgspec

from mcp_gen.auth.flows.assertion_grants import MAX_ASSERTION_CHARS, is_compact_jwt
from mcp_gen.auth.proofs.keys import decode_base64url
from mcp_gen.core.errors import AuthError, UsageError

__all__ = ["AssertionSource", "JwtSource", "jwt_subject"]

AssertionSource: TypeAlias = "str | Path | Callable[[], str] | Callable[[], Awaitable[str]]"
"""A JWT, a Path of the file that has it, or a function that returns it."""


class JwtSource:
    """Reads a JWT anew for each use: who issues it replaces it. Its repr has no secret.

    Args:
        source: The JWT, the Path of a file, or a function, which may be async.
        what: What the JWT is, for errors.
    """

    def __init__(self, source: AssertionSource, what: str) -> None:
        if not (isinstance(source, str | Path) or callable(source)):
            raise UsageError(
                f"{what}: expected a JWT, a Path or a function, got {type(source).__name__}"
            )
        self._source = source
        self._what = what

    async def read(self) -> str:
        """Return the JWT as it is now.

        Raises:
            AuthError: The file cannot be read, or there is no JWT.
        """
        if isinstance(self._source, str):
            text = self._source
        elif isinstance(self._source, Path):
            text = self._read_file(self._source)
        else:
            given = self._source()
            text = await given if inspect.isawaitable(given) else given
        text = str(text).strip()
        if not is_compact_jwt(text):
            # Never the text: it may be a secret all the same.
            raise AuthError(
                f"{self._what}: expected a signed JWT (three parts with dots between), got "
                "something else; check where it comes from"
            )
        return text

    def _read_file(self, path: Path) -> str:
        try:
            with path.open(encoding="ascii") as file:
                return file.read(MAX_ASSERTION_CHARS + 2)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not ASCII"
            raise AuthError(f"{self._what}: {path} cannot be read: {reason}") from None

    def __repr__(self) -> str:
        return f"JwtSource({self._what})"


def jwt_subject(jwt: str) -> str:
    """Return a name for who a JWT is about, to tell callers apart; it is not verified.

    Args:
        jwt: A JWT of our own.
    """
    try:
        claims = msgspec.json.decode(decode_base64url(jwt.split(".")[1]), type=dict[str, object])
        issuer, subject = claims["iss"], claims["sub"]
    except (KeyError, ValueError, RecursionError):
        return hashlib.sha256(jwt.encode()).hexdigest()
    return msgspec.json.encode([issuer, subject]).decode()

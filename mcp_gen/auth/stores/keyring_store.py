"""Token store in the keyring of the operating system, by the package `keyring`."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, cast

import msgspec

from mcp_gen.auth.stores.file_locks import FileLocks
from mcp_gen.auth.stores.private_files import default_path
from mcp_gen.auth.stores.token_store import StoredCredentials
from mcp_gen.core.errors import AuthError, UsageError

__all__ = ["KeyringTokenStore"]

SERVICE = "mcp-gen"


class Keyring(Protocol):
    """A backend of the package `keyring`."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return a password; None if there is none."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a password."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Remove a password that is there."""
        ...


class KeyringTokenStore:
    """Token store in the keyring of the operating system; needs the extra `keyring`.

    Each server has one entry, in JSON. Backends limit its size: the Credential Manager of Windows
    takes 2560 bytes, which tokens in the form of JWTs exceed; then saving raises AuthError. The
    lock that processes share is a file: keyrings have none.

    Args:
        service: Name under which the entries are kept.
        backend: A backend of `keyring`; None for the one that it chooses.
    """

    def __init__(self, service: str = SERVICE, *, backend: Keyring | None = None) -> None:
        self._service = service
        self._backend = backend
        self._locks = FileLocks(default_path("keyring.locks"))

    async def load(self, key: str) -> StoredCredentials | None:
        """Return the credentials of a key; None if there are none, or none that can be read.

        Args:
            key: The key.

        Raises:
            AuthError: The keyring is locked, or there is none.
            UsageError: The package `keyring` is not installed.
        """
        found = await self._ask("get_password", key)
        try:
            return None if found is None else msgspec.json.decode(found, type=StoredCredentials)
        except msgspec.MsgspecError:
            return None

    async def save(self, key: str, credentials: StoredCredentials) -> None:
        """Replace the credentials of a key.

        Args:
            key: The key.
            credentials: What to keep.

        Raises:
            AuthError: The keyring refuses it: it is locked, or the entry is too large for it.
            UsageError: The package `keyring` is not installed.
        """
        await self._ask("set_password", key, msgspec.json.encode(credentials).decode())

    async def delete(self, key: str) -> None:
        """Forget the credentials of a key.

        Args:
            key: The key.

        Raises:
            AuthError: The keyring is locked, or there is none.
            UsageError: The package `keyring` is not installed.
        """
        # Backends raise an error for what is not there, each another one.
        if await self._ask("get_password", key) is not None:
            await self._ask("delete_password", key)

    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """Return a context in which no other process, and nobody else here, has this lock.

        Args:
            key: The key.
        """
        return self._locks.lock(f"{self._service} {key}")

    async def _ask(self, act: str, key: str, *given: str) -> Any:
        # In a thread: a keyring may ask the user for its password.
        return await asyncio.to_thread(self._ask_now, act, key, *given)

    def _ask_now(self, act: str, key: str, *given: str) -> Any:
        backend = _chosen() if self._backend is None else self._backend
        try:
            return getattr(backend, act)(self._service, key, *given)
        except Exception as error:
            # Neither its text nor its traceback is shown: it may quote what was to be stored.
            name = f"{type(backend).__module__}.{type(backend).__name__}"
            size = f" of {len(given[0])} characters, which some keyrings limit" if given else ""
            raise AuthError(
                f"the keyring {name} refused {act}{size} ({type(error).__name__}); "
                "unlock it, or use FileTokenStore"
            ) from None

    def __repr__(self) -> str:
        return f"KeyringTokenStore({self._service!r})"


def _chosen() -> Keyring:
    try:
        # Imported with its first use: most programs have no use for it.
        import keyring
    except ImportError:
        raise UsageError("KeyringTokenStore needs `pip install 'mcp-gen[keyring]'`") from None
    backend: Any = keyring.get_keyring()
    return cast("Keyring", backend)

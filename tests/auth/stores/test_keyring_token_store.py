"""The token store in a keyring: a thin wrapper, whose errors quote no secret."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from mcp_gen.auth.stores.keyring_store import KeyringTokenStore
from mcp_gen.auth.stores.token_store import StoredCredentials
from mcp_gen.core.errors import AuthError, UsageError

KEY = "https://api.example/mcp"
CREDENTIALS = StoredCredentials(
    issuer="https://as.example", client_id="client", access_token="the-access-token"
)


class Ring:
    """Backend in memory, with a limit of its own."""

    def __init__(self, limit: int = 10_000) -> None:
        self.held: dict[tuple[str, str], str] = {}
        self._limit = limit

    def get_password(self, service: str, username: str) -> str | None:
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password) > self._limit:
            raise OSError(1783, f"stub received bad data: {password}")
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.held[service, username]


async def test_what_was_saved_is_loaded_and_what_was_deleted_is_not() -> None:
    store = KeyringTokenStore(backend=Ring())
    await store.save(KEY, CREDENTIALS)
    loaded = await store.load(KEY)
    await store.delete(KEY)
    await store.delete(KEY)
    assert (loaded, await store.load(KEY)) == (CREDENTIALS, None)


async def test_an_entry_stands_under_the_service_and_the_key() -> None:
    ring = Ring()
    await KeyringTokenStore("mine", backend=ring).save(KEY, CREDENTIALS)
    assert list(ring.held) == [("mine", KEY)]


async def test_an_entry_of_another_form_is_none() -> None:
    ring = Ring()
    ring.held["mcp-gen", KEY] = '{"of": "the future"}'
    assert await KeyringTokenStore(backend=ring).load(KEY) is None


async def test_an_entry_that_is_too_large_for_the_keyring_is_an_error_without_its_text() -> None:
    with pytest.raises(AuthError) as caught:
        await KeyringTokenStore(backend=Ring(20)).save(KEY, CREDENTIALS)
    said = str(caught.value)
    assert "refused set_password of " in said
    assert "which some keyrings limit (OSError); unlock it, or use FileTokenStore" in said
    assert "the-access-token" not in said
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


async def test_the_package_chooses_the_backend_where_none_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ring = Ring()
    monkeypatch.setattr("keyring.get_keyring", lambda: ring)
    await KeyringTokenStore().save(KEY, CREDENTIALS)
    assert await KeyringTokenStore().load(KEY) == CREDENTIALS
    assert list(ring.held) == [("mcp-gen", KEY)]


async def test_without_the_package_the_next_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(UsageError, match=r"needs `pip install 'mcp-gen\[keyring\]'`"):
        await KeyringTokenStore().load(KEY)


async def test_one_lock_of_a_key_is_held_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    held = most = 0

    async def hold() -> None:
        nonlocal held, most
        async with KeyringTokenStore(backend=Ring()).lock(KEY):
            held += 1
            most = max(most, held)
            await asyncio.sleep(0)
            held -= 1

    async with asyncio.timeout(30):
        await asyncio.gather(*(hold() for _ in range(3)))
    assert most == 1

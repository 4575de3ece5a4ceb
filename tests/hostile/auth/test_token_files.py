"""Token files that others could read, have put there, or have broken."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mcp_gen.auth import FileTokenStore, StoredCredentials
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import HONEST, URL, opened_world

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and owners of POSIX")

Spoil = Callable[[Path], object]


def nothing(path: Path) -> None:
    """Leave the file as it is."""


def mode(bits: int) -> Spoil:
    return lambda path: path.chmod(bits)


def link(path: Path) -> None:
    """Replace it by a link to the same file."""
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


def pipe(path: Path) -> None:
    """Replace it by a pipe, whose reader waits for its writer."""
    path.unlink()
    os.mkfifo(path, 0o600)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir(0o700)


def content(text: bytes) -> Spoil:
    return lambda path: path.write_bytes(text)


def with_entry(change: Callable[[dict[str, object]], object]) -> Spoil:
    def spoil(path: Path) -> None:
        found = msgspec.json.decode(path.read_bytes())
        change(found["credentials"][URL])
        path.write_bytes(msgspec.json.encode(found))

    return spoil


@attacks(
    "a token file",
    Attack("that the group may read", mode(0o640), mode(0o600), "others may read it"),
    Attack("that all may read", mode(0o604), mode(0o600), "others may read it"),
    Attack("that the group may write", mode(0o620), mode(0o600), "others may read it"),
    Attack("that is a link", link, nothing, "is a symbolic link"),
    Attack("that is a pipe", pipe, nothing, "expected a file"),
    Attack("that is a folder", folder, nothing, "expected a file|directory"),
    Attack("that is broken JSON", content(b'{"version": 1, "cred'), nothing, "no token file"),
    Attack("that is empty", content(b""), nothing, "no token file"),
    Attack("that is deep JSON", content(b"[" * 100_000), nothing, "no token file"),
    Attack("that is huge", content(b" " * 5_000_000), nothing, "at most 4194304 bytes"),
    Attack("of another version", content(b'{"version": 2}'), nothing, "is of version 2"),
    Attack("that is no UTF-8", content(b'{"version": 1, "\xff": 1}'), nothing, "no token file"),
)
async def test_a_file_that_cannot_be_trusted_gives_no_token(
    case: Case[Spoil], tmp_path: Path
) -> None:
    async with opened_world() as world:
        path = tmp_path / "private" / "tokens.json"
        first = world.oauth(store=FileTokenStore(path))
        assert await world.call(auth=first) == PASSED
        await first.aclose()
        before = len(world.net.log)
        case.given(path)
        second = world.oauth(store=FileTokenStore(path), interactive=False)
        outcome = await world.call(auth=second)
        case.judge(outcome, [one for one in world.net.log[before:] if one.token])
        await second.aclose()


@attacks(
    "owner of a token file",
    Attack("another user", 1, 0, "belongs to another user"),
)
async def test_a_file_of_another_user_gives_no_token(
    case: Case[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened_world() as world:
        path = tmp_path / "private" / "tokens.json"
        first = world.oauth(store=FileTokenStore(path))
        assert await world.call(auth=first) == PASSED
        await first.aclose()
        before = len(world.net.log)
        me = os.geteuid() + case.given
        monkeypatch.setattr(os, "geteuid", lambda: me)
        second = world.oauth(store=FileTokenStore(path), interactive=False)
        outcome = await world.call(auth=second)
        case.judge(outcome, [one for one in world.net.log[before:] if one.token])
        await second.aclose()


@attacks(
    "folder of a token file",
    Attack("that the group may write", 0o770, 0o700, "others may replace its files"),
    Attack("that all may write", 0o707, 0o700, "others may replace its files"),
)
async def test_no_token_is_written_where_others_can_replace_it(
    case: Case[int], tmp_path: Path
) -> None:
    async with opened_world() as world:
        folder = tmp_path / "private"
        folder.mkdir()
        folder.chmod(case.given)
        auth = world.oauth(store=FileTokenStore(folder / "tokens.json"))
        outcome = await world.call(auth=auth)
        written = [one for one in folder.iterdir() if one.is_file()]
        case.judge(outcome, written)
        assert all(one.stat().st_mode & 0o077 == 0 for one in written)
        await auth.aclose()


def other_issuer(entry: dict[str, object]) -> None:
    entry["issuer"] = "https://evil.example"


def same(entry: dict[str, object]) -> None:
    """Leave it as it is."""


@attacks(
    "an entry that was changed",
    Attack("of another issuer", other_issuer, same, "."),
    Attack("of another type", lambda entry: entry.update(issuer=5), same, "."),
)
async def test_a_client_with_a_configured_issuer_uses_no_credentials_of_another(
    case: Case[Callable[[dict[str, object]], object]], tmp_path: Path
) -> None:
    async with opened_world() as world:
        path = tmp_path / "private" / "tokens.json"
        first = world.oauth(store=FileTokenStore(path), issuer=HONEST)
        assert await world.call(auth=first) == PASSED
        await first.aclose()
        before = len(world.net.log)
        with_entry(case.given)(path)
        second = world.oauth(store=FileTokenStore(path), issuer=HONEST, interactive=False)
        outcome = await world.call(auth=second)
        case.judge(outcome, [one for one in world.net.log[before:] if one.token])
        assert world.sent("https://evil.example") == []
        await second.aclose()


@attacks(
    "credentials of another server",
    Attack("a path beside", "https://api.example/mcp-evil", URL, "no token"),
    Attack("another host", "https://evil.example/mcp", URL, "no token"),
    Attack("the same host by http", "http://api.example/mcp", URL, "no token|is not safe"),
)
async def test_a_shared_store_gives_a_server_its_own_token_alone(case: Case[str]) -> None:
    async with opened_world() as world:
        assert await world.call() == PASSED
        other = world.oauth(interactive=False)
        try:
            lines = await other.headers("POST", case.given)
            outcome = PASSED if lines else "no token"
        except Exception as error:
            lines, outcome = (), str(error)
        case.judge(outcome, lines)
        await other.aclose()


def test_the_repr_of_stored_credentials_has_no_token() -> None:
    found = StoredCredentials(issuer=HONEST, client_id="a", access_token="planted-secret")
    assert "planted-secret" not in repr(found)

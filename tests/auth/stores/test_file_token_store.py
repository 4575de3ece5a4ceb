"""The token store in a file: private, whole at any moment, and shared by processes."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.auth.stores import file_store
from mcp_gen.auth.stores.file_store import MAX_FILE_BYTES, FileTokenStore
from mcp_gen.auth.stores.private_files import default_path
from mcp_gen.auth.stores.token_store import StoredCredentials
from mcp_gen.core.errors import AuthError
from tests.auth.stores import renewing

KEY = "https://api.example/mcp"
OTHER = "https://other.example/mcp"
BOUND_S = 60.0

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes of files are of POSIX")


def credentials(token: str = "the-access-token") -> StoredCredentials:
    return StoredCredentials(
        issuer="https://as.example", client_id="client", access_token=token, scopes=["mcp"]
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "tokens.json"


def written(path: Path) -> Any:
    """Return the content of the file as JSON; None if there is none."""
    return json.loads(path.read_bytes()) if path.exists() else None


def write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_second_store_of_the_file_loads_what_the_first_one_saved(path: Path) -> None:
    await FileTokenStore(path).save(KEY, credentials())
    assert await FileTokenStore(path).load(KEY) == credentials()


async def test_a_file_below_a_file_is_told_as_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(AuthError, match=r"tokens\.json: Not a directory;"):
        await FileTokenStore(tmp_path / "data" / "tokens.json").load(KEY)


async def test_a_file_that_has_not_changed_is_not_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileTokenStore(path)
    await store.save(KEY, credentials())
    assert await store.load(KEY) == credentials()

    def read(*_: object) -> None:
        pytest.fail("the file was read again")

    monkeypatch.setattr(file_store, "read_private", read)
    assert await store.load(KEY) == credentials()


async def test_a_store_sees_what_another_one_wrote_after_it_had_read(path: Path) -> None:
    store, other = FileTokenStore(path), FileTokenStore(path)
    await store.save(KEY, credentials("first"))
    assert await store.load(KEY) == credentials("first")
    await other.save(KEY, credentials("again"))
    seen = await store.load(KEY)
    await other.delete(KEY)
    assert (seen, await store.load(KEY)) == (credentials("again"), None)


async def test_saving_one_server_keeps_the_others(path: Path) -> None:
    await FileTokenStore(path).save(KEY, credentials("a"))
    await FileTokenStore(path).save(OTHER, credentials("b"))
    await FileTokenStore(path).delete(KEY)
    assert await FileTokenStore(path).load(OTHER) == credentials("b")


async def test_stores_that_save_at_once_lose_nothing(path: Path) -> None:
    keys = [f"https://{number}.example" for number in range(20)]
    await asyncio.gather(*(FileTokenStore(path).save(one, credentials(one)) for one in keys))
    store = FileTokenStore(path)
    assert [await store.load(one) for one in keys] == [credentials(one) for one in keys]


async def test_the_file_and_its_folders_are_the_owners_alone(path: Path) -> None:
    old = os.umask(0)
    try:
        store = FileTokenStore(path)
        await store.save(KEY, credentials())
        async with store.lock(KEY):
            locks = path.parent / "tokens.json.locks"
            found = [mode(one) for one in (path.parent, path, locks, *locks.iterdir())]
    finally:
        os.umask(old)
    assert found == [0o700, 0o600, 0o700, *[0o600] * (len(found) - 3)]
    assert len(found) > 3


async def test_nothing_is_made_by_looking(path: Path) -> None:
    store = FileTokenStore(path)
    await store.delete(KEY)
    assert await store.load(KEY) is None
    assert not path.parent.exists()


def widened(path: Path) -> None:
    path.chmod(0o640)


def linked(path: Path) -> None:
    path.rename(path.with_name("real.json"))
    path.symlink_to(path.with_name("real.json"))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


def no_json(path: Path) -> None:
    path.write_text("{")


def another_json(path: Path) -> None:
    path.write_text('{"mcpServers": {}}')


def newer(path: Path) -> None:
    path.write_text('{"version": 2, "credentials": {}}')


def too_large(path: Path) -> None:
    path.write_text(" " * (MAX_FILE_BYTES + 1))


REFUSED = [
    (widened, r"others may read it; run `chmod 600 .*tokens\.json`"),
    (linked, "is a symbolic link; name the file itself"),
    (a_folder, "name another"),
    (a_pipe, "expected a file"),
    (no_json, "is no token file of mcp-gen"),
    (another_json, "is no token file of mcp-gen"),
    (newer, "is of version 2, this program reads 1"),
    (too_large, f"expected at most {MAX_FILE_BYTES} bytes"),
]


@pytest.mark.parametrize(("spoil", "says"), REFUSED, ids=lambda one: getattr(one, "__name__", ""))
@pytest.mark.parametrize("act", ["load", "save", "delete"])
async def test_a_file_is_refused_that_is(path: Path, spoil: Any, says: str, act: str) -> None:
    store = FileTokenStore(path)
    await store.save(KEY, credentials())
    assert await store.load(KEY) == credentials()
    spoil(path)
    given = (credentials("b"),) if act == "save" else ()
    async with asyncio.timeout(BOUND_S):
        with pytest.raises(AuthError, match=says) as caught:
            await getattr(store, act)(KEY, *given)
    assert "\n" not in str(caught.value)
    assert "the-access-token" not in str(caught.value)


async def test_a_folder_is_refused_in_which_others_may_replace_the_file(path: Path) -> None:
    path.parent.mkdir(mode=0o777)
    path.parent.chmod(0o777)
    with pytest.raises(AuthError, match="others may replace its files; run `chmod 700"):
        await FileTokenStore(path).save(KEY, credentials())
    assert written(path) is None


async def test_an_entry_of_another_form_is_none_and_stays_for_who_can_read_it(path: Path) -> None:
    store = FileTokenStore(path)
    await store.save(OTHER, credentials())
    file = written(path)
    file["credentials"][KEY] = {"of": "the future"}
    write(path, file)
    assert await store.load(KEY) is None
    await store.delete(OTHER)
    assert written(path)["credentials"] == {KEY: {"of": "the future"}}


async def test_a_file_that_cannot_be_written_stays_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileTokenStore(path)
    await store.save(KEY, credentials("a"))

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AuthError, match="No space left on device"):
        await store.save(KEY, credentials("b"))
    monkeypatch.undo()
    assert await FileTokenStore(path).load(KEY) == credentials("a")
    assert [one.name for one in path.parent.iterdir() if one.is_file()] == ["tokens.json"]


async def test_what_is_being_saved_is_saved_though_nobody_waits_any_more(path: Path) -> None:
    store = FileTokenStore(path)
    saving = asyncio.create_task(store.save(KEY, credentials()))
    await asyncio.sleep(0)
    saving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saving
    assert await store.load(KEY) == credentials()


async def test_one_lock_of_a_key_is_held_at_a_time_and_two_of_two_keys(path: Path) -> None:
    store, held, most = FileTokenStore(path), 0, 0

    async def hold() -> None:
        nonlocal held, most
        async with FileTokenStore(path).lock(KEY):
            held += 1
            most = max(most, held)
            await asyncio.sleep(0)
            held -= 1

    async with asyncio.timeout(BOUND_S), store.lock(OTHER):
        await asyncio.gather(*(hold() for _ in range(4)))
    assert most == 1


async def test_a_lock_is_free_after_one_who_waited_was_cancelled(path: Path) -> None:
    store = FileTokenStore(path)

    async def wait() -> None:
        async with store.lock(KEY):
            raise AssertionError("it is held")

    async with asyncio.timeout(BOUND_S):
        async with store.lock(KEY):
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
        async with store.lock(KEY):
            pass


async def _renewing(path: Path, *words: str) -> asyncio.subprocess.Process:
    root = Path(__file__).parents[3]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", renewing.__name__, str(path), KEY, *words),
        cwd=root,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def test_two_processes_that_find_an_old_token_renew_it_once(path: Path) -> None:
    await FileTokenStore(path).save(KEY, credentials("old"))
    async with asyncio.timeout(BOUND_S):
        processes = [await _renewing(path) for _ in range(2)]
        for one in processes:
            # Both have read the old token before one of them may renew it.
            assert one.stdout is not None
            assert (await one.stdout.readline()).strip() == b"read old"
        said = [await one.communicate(b"go\n") for one in processes]
    texts = sorted(out.decode().split()[0] for out, _ in said)
    assert texts == ["found", "renewed"]
    tokens = {out.decode().split()[1] for out, _ in said}
    assert len(tokens) == 1
    loaded = await FileTokenStore(path).load(KEY)
    assert loaded is not None
    assert {loaded.access_token} == tokens


async def test_a_lock_ends_with_its_process(path: Path) -> None:
    await FileTokenStore(path).save(KEY, credentials("old"))
    async with asyncio.timeout(BOUND_S):
        process = await _renewing(path, "hold")
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdout.readline()
        process.stdin.write(b"go\n")
        assert (await process.stdout.readline()).strip() == b"held"
        process.kill()
        async with FileTokenStore(path).lock(KEY):
            pass
        await process.wait()


def test_the_default_is_in_the_data_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert FileTokenStore().path == tmp_path / ".local/share/mcp-gen/tokens.json"
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert FileTokenStore().path == Path("/data/mcp-gen/tokens.json")
    # A relative path is to be ignored.
    monkeypatch.setenv("XDG_DATA_HOME", "data")
    assert FileTokenStore().path == tmp_path / ".local/share/mcp-gen/tokens.json"


@pytest.mark.parametrize(
    ("platform", "where"),
    [
        ("darwin", "Library/Application Support/mcp-gen/a"),
        ("win32", "AppData/Local/mcp-gen/a"),
    ],
)
def test_each_platform_has_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, where: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    assert default_path("a") == tmp_path / where


async def test_a_repr_names_the_file_alone(path: Path) -> None:
    store = FileTokenStore(path)
    await store.save(KEY, credentials())
    await store.load(KEY)
    assert repr(store) == f"FileTokenStore({str(path)!r})"


async def test_the_file_is_json_that_says_its_version(path: Path) -> None:
    await FileTokenStore(path).save(KEY, credentials())
    file = written(path)
    assert file["version"] == 1
    assert file["credentials"][KEY]["issuer"] == "https://as.example"

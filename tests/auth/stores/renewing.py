"""A process that renews an old token once: `python -m tests.auth.stores.renewing FILE KEY`.

It says what it has read, and waits for a line. With a third word it takes the lock and keeps it.
"""

from __future__ import annotations

import asyncio
import os
import sys

import msgspec

from mcp_gen.auth.stores.file_store import FileTokenStore


async def _renew(path: str, key: str, hold: bool) -> None:
    store = FileTokenStore(path)
    seen = await store.load(key)
    assert seen is not None
    print("read", seen.access_token, flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    async with store.lock(key):
        if hold:
            print("held", flush=True)
            await asyncio.Event().wait()
        now = await store.load(key)
        assert now is not None
        if now.access_token == seen.access_token:
            new = msgspec.structs.replace(now, access_token=f"new-{os.getpid()}")
            await store.save(key, new)
            print("renewed", new.access_token)
        else:
            print("found", now.access_token)


if __name__ == "__main__":
    asyncio.run(_renew(sys.argv[1], sys.argv[2], len(sys.argv) > 3))

"""Acts with tasks: clients start tasks, and fetch or abandon their results."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_wire.extensions.tasks import EXTENSION
from tests.soak.traffic.act import Act
from tests.soak.traffic.peers import Peer, Wrong, expect, text
from tests.soak.traffic.wire import WAIT_S

__all__ = ["TASK_ACTS"]

LONG_MS = 60_000
KEPT_MS, LEFT_MS = 10_000, 100
"""`ttl` of tasks that are fetched, and of abandoned ones, in milliseconds."""


async def await_a_task(peer: Peer) -> None:
    """Wait for a result with `tasks/result` where it exists; else poll."""
    word = f"w{peer.rng.random()}"
    id = await _begun(peer, peer.rng.choice((0, 1, 20, 60)), word)
    if peer.profile.tasks == "core" and peer.rng.random() < 0.7:
        found = await _ask(peer, "tasks/result", id)
    else:
        found = await _seen(peer, id)
    expect(text(found) == word, f"expected {word!r}, got {found}")


async def cancel_a_task(peer: Peer) -> None:
    id = await _begun(peer, LONG_MS, "never")
    await _ask(peer, "tasks/cancel", id)
    found = await _ask(peer, "tasks/get", id)
    expect(found["status"] == "cancelled", f"it is not cancelled: {found}")


async def leave_a_task(peer: Peer) -> None:
    """Abandon a task: its `ttl` expires, finished or not."""
    await _begun(peer, peer.rng.choice((0, 20, LONG_MS)), "left", ttl_ms=LEFT_MS)


async def _begun(peer: Peer, ms: int, word: str, ttl_ms: int = KEPT_MS) -> str:
    params: dict[str, Any] = {"name": "job", "arguments": {"ms": ms, "text": word}}
    if peer.profile.tasks == "core":
        made = (await peer.result("tools/call", **params, task={"ttl": ttl_ms}))["task"]
    else:
        made = await peer.result("tools/call", **params, _meta=_meta(peer))
        expect(made["resultType"] == "task", f"it is no task: {made}")
    return str(made["taskId"])


async def _seen(peer: Peer, id: str) -> Any:
    async with asyncio.timeout(WAIT_S):
        found = await _ask(peer, "tasks/get", id)
        while found["status"] == "working":
            await asyncio.sleep(0.01)
            found = await _ask(peer, "tasks/get", id)
    if found["status"] != "completed":
        raise Wrong(f"it has not completed: {found}")
    return found.get("result") or await _ask(peer, "tasks/result", id)


async def _ask(peer: Peer, method: str, id: str) -> Any:
    more = {"_meta": _meta(peer)} if peer.profile.tasks == "extension" else {}
    return await peer.result(method, taskId=id, **more)


def _meta(peer: Peer) -> dict[str, Any]:
    """Return the request `_meta` of a client with the tasks extension."""
    return {str(peer.profile.client_capabilities_key): {"extensions": {EXTENSION.identifier: {}}}}


TASK_ACTS = tuple(
    Act(does, 2, lambda profile: profile.tasks != "none")
    for does in (await_a_task, cancel_a_task, leave_a_task)
)

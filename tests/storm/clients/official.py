"""Clients of the official SDK, in a process of their own: they print a line for each call.

`python -m tests.storm.clients.official PORT NUMBER SEED`; the end of stdin ends them.
"""

from __future__ import annotations

import json
import random
import sys
import time
import warnings
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp import Client, MCPDeprecationWarning

__all__ = ["main"]

LIMIT_S = 20.0
MODES = ("legacy", "auto")


class Life:
    """One client."""

    def __init__(self, port: int, number: int, seed: int) -> None:
        self._url = f"http://127.0.0.1:{port}/mcp"
        self._rng = random.Random(f"{seed} official {number}")
        self._mode = MODES[number % len(MODES)]
        self._mark = f"mark-{self._rng.getrandbits(48):012x}"
        self._number = 0
        self._has_said = False
        """True if the failure that ends the connection has been printed."""
        self._began_s = time.monotonic()

    async def _elicit(self, context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"word": params.message})

    async def run(self, leaving: anyio.Event) -> None:
        """Call until the storm is over; connect again after each failure."""
        while not leaving.is_set():
            self._began_s = began_s = time.monotonic()
            self._has_said = False
            try:
                with anyio.fail_after(LIMIT_S) as limit:
                    async with Client(
                        self._url, mode=self._mode, elicitation_callback=self._elicit
                    ) as client:
                        limit.deadline = float("inf")
                        while not leaving.is_set():
                            await self._act(client)
                            await anyio.sleep(self._rng.uniform(0, 1.5))
            except Exception as error:
                if not self._has_said:
                    self._say("connection", began_s, ok=False, error=_told(error))
                await anyio.sleep(0.5)

    async def _act(self, client: Client) -> None:
        self._number += 1
        what = self._rng.choice(("count", "steps", "ask"))
        effect, steps = f"{self._mark} {self._number}", self._rng.randint(2, 8)
        heard: list[int] = []

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append(round(progress))

        arguments: dict[str, Any] = {"effect": effect}
        if what == "steps":
            arguments |= {"steps": steps, "pause_s": 0.2}
        elif what == "ask":
            arguments["word"] = self._mark
        began_s = time.monotonic()
        try:
            with anyio.fail_after(LIMIT_S):
                result = await client.call_tool(what, arguments, progress_callback=hear)
        except BaseException as error:
            # A connection that breaks may cancel the call: what it did counts all the same.
            self._say(what, began_s, ok=False, effect=effect, error=_told(error))
            self._has_said = True
            raise
        text = str(getattr(result.content[0], "text", "")) if result.content else ""
        more: dict[str, Any] = {"steps": heard, "expected": [*range(1, steps + 1)]}
        ok = effect in text and (what != "ask" or text.endswith(self._mark))
        self._say(
            what,
            began_s,
            ok=ok,
            wrong=not ok,
            effect=effect,
            text=text,
            **(more if what == "steps" else {}),
        )

    def _say(self, what: str, began_s: float, **more: Any) -> None:
        now_s = time.monotonic()
        said = {"what": what, "mark": self._mark, "mode": self._mode, "seconds": now_s - began_s}
        print(json.dumps({**said, "session_s": now_s - self._began_s, **more}), flush=True)


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return repr(error)[:300]


async def main() -> None:
    """Run all clients."""
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    port, number, seed = (int(word) for word in sys.argv[1:])
    leaving = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for one in range(number):
            tasks.start_soon(Life(port, one, seed).run, leaving)
        await anyio.to_thread.run_sync(sys.stdin.read)
        leaving.set()


if __name__ == "__main__":
    anyio.run(main)

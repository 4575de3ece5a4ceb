"""A client process that is killed: `python -m tests.soak.killed_client URL`.

It makes calls over HTTP and to a command of its own until it is killed. It writes a line for each
wrong answer, and one with the number of answers about every second.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time

import mcp_wire
from mcp_gen import Client
from mcp_gen.client.session.session import ClientSession
from mcp_gen.transports.command import CommandTransport

__all__ = ["MARK", "words"]

MARK = "MCP_GEN_SOAK"
"""Environment variable that marks all processes of one soak."""
AT_ONCE = 4

STREAMABLE = [
    one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).http_transport != "sse_pair"
]


def words(name: str, revision: str) -> list[str]:
    """Return the command of a server of the manager's soak."""
    code = (
        "import sys; from tests.soak.manager import a_server; "
        "a_server(sys.argv[1], (sys.argv[2],)).run('stdio')"
    )
    return [sys.executable, "-c", code, name, revision]


class _Caller:
    def __init__(self) -> None:
        self._answers = 0
        self._said_s = 0.0

    async def add(self, session: ClientSession, seed: str) -> None:
        """Make one call after the other."""
        chance = random.Random(seed)
        while True:
            a, b = chance.randrange(10**6), chance.randrange(10**6)
            found = await session.call_tool("add", {"a": a, "b": b}, returns=int)
            self._answered(found, a + b)

    async def who(self, session: ClientSession, name: str) -> None:
        """Make one call after the other to the command."""
        number = 0
        while True:
            number += 1
            found = await session.call_tool("who", {"text": str(number)}, returns=str)
            self._answered(found, f"{name}: {number}")

    def _answered(self, found: object, expected: object) -> None:
        if found != expected:
            print(f"wrong: {found!r} where {expected!r} is right", flush=True)
        self._answers += 1
        if time.monotonic() - self._said_s > 1:
            print(self._answers, flush=True)
            self._answers, self._said_s = 0, time.monotonic()


async def main(url: str) -> None:
    """Make calls for ever, or until one fails."""
    revision, caller = random.choice(STREAMABLE), _Caller()
    own_words = words("own", random.choice(mcp_wire.REVISIONS))
    try:
        async with Client("killed") as client:
            web = await client.connect(url, revision=revision)
            own = await client.connect(CommandTransport(own_words, env=os.environ))
            async with asyncio.TaskGroup() as tasks:
                for number in range(AT_ONCE):
                    tasks.create_task(caller.add(web, f"{revision} {number}"))
                    tasks.create_task(caller.who(own, "own"))
    except BaseException as error:
        print(f"wrong: a call over {revision} failed: {error!r}", flush=True)
        raise


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

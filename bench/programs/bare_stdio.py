"""Bare stdio loop: reads the available lines and answers them in one write."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from bench.programs.bare import answering


class Lines(asyncio.Protocol):
    """Answers each line of the input."""

    def __init__(
        self, answer: Callable[[bytes], bytes], out: asyncio.WriteTransport, end: asyncio.Event
    ) -> None:
        self._answer = answer
        self._out = out
        self._end = end
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        answers = [self._answer(line) for line in lines]
        answers.append(b"")
        self._out.write(b"\n".join(answers))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.set()


async def main(revision: str) -> None:
    """Answer until stdin ends."""
    loop = asyncio.get_running_loop()
    end = asyncio.Event()
    out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    await loop.connect_read_pipe(lambda: Lines(answering(revision), out, end), sys.stdin)
    await end.wait()
    out.close()


if __name__ == "__main__":
    if "--uvloop" in sys.argv:
        import uvloop

        uvloop.run(main(sys.argv[1]))
    else:
        asyncio.run(main(sys.argv[1]))

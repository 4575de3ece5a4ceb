"""Copies the bytes between its pipes and those of our server, whose revision is its argument.

It is on the same event loop as a bridge, and does nothing but read and write.
"""

import asyncio
import os
import subprocess
import sys


def main() -> None:
    """Copy until the client has gone."""
    command = [sys.executable, "-m", "bench.programs.only_stdio", sys.argv[1]]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    ended = asyncio.Event()

    def copy(source: int, target: int) -> None:
        data = os.read(source, 1 << 16)
        if data:
            os.write(target, data)
        else:
            ended.set()

    async def copying(stdin: int, stdout: int) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(0, copy, 0, stdin)
        loop.add_reader(stdout, copy, stdout, 1)
        await ended.wait()

    asyncio.run(copying(process.stdin.fileno(), process.stdout.fileno()))
    process.terminate()


if __name__ == "__main__":
    if "--uvloop" in sys.argv:
        import uvloop

        uvloop.install()
    main()

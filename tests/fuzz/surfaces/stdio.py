"""Surface: the server as a real process, over its pipes.

There is one process per revision for all blocks, so that its memory can be compared. Now and then a
new one is asked, too.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.fuzz.findings import Block, Findings
from tests.fuzz.surfaces.duplex import Line
from tests.fuzz.surfaces.surface import ANSWER_S

__all__ = ["TARGET", "Stdio", "framed"]

ROOT = Path(__file__).parents[3]
TARGET = "tests.fuzz.target"
ENDS_S = 20.0
LONGEST_LINE = 256 * 1024 * 1024
NEW_EVERY = 200
"""Number of blocks after which a new process is asked."""


def framed(data: bytes, random: Random) -> tuple[bytes, list[bytes]]:
    """Return an input as lines of a stream, and the messages that a reader finds in them."""
    end = random.choice((b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\n \t\r\n"))
    before = b"\n" if random.random() < 0.03 else b""
    sent = before + data + end
    return sent, [line for line in sent.split(b"\n") if line.strip()]


class Piped(Line):
    """Session over the pipes of a process."""

    def put(self, data: bytes, index: int, random: Random) -> None:
        """Send an input as lines."""
        sent, messages = framed(data, random)
        self._findings.inputs[index] = sent
        for message in messages:
            self._note(message, index)
        self._send(sent)


class Child:
    """A server process with its session."""

    def __init__(self, process: asyncio.subprocess.Process, revision: str) -> None:
        self.process = process
        self.complaints: list[str] = []
        self.line = Piped(revision, self._write)
        self.changed = False
        """True if an input may have made the session one of another revision."""
        loop = asyncio.get_running_loop()
        self._reading = [loop.create_task(self._read()), loop.create_task(self._listen())]
        self._random = Random(revision)

    @classmethod
    async def start(cls, revision: str, module: str, said: str) -> Child:
        pipe = asyncio.subprocess.PIPE
        words = (sys.executable, "-W", "default", "-m", module, said)
        process = await asyncio.create_subprocess_exec(
            *words, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE
        )
        return cls(process, revision)

    def _write(self, data: bytes) -> None:
        assert self.process.stdin
        if not data.endswith(b"\n"):
            data += b"\n"
        if self.line.ended.is_set():
            return
        self.changed = self.changed or b"initialize" in data
        # A message may come in pieces: the pipe of the process is not read in between.
        at = self._random.randrange(len(data))
        self.process.stdin.write(data[:at])
        self.process.stdin.write(data[at:])

    async def pause(self) -> None:
        """Let the pipe take what was written."""
        assert self.process.stdin
        with suppress(ConnectionError):
            await self.process.stdin.drain()

    async def _read(self) -> None:
        assert self.process.stdout
        async for line in self.process.stdout:
            self.line.came(line)
        self.line.hung_up()

    async def _listen(self) -> None:
        assert self.process.stderr
        async for line in self.process.stderr:
            text = line.decode(errors="replace").rstrip()
            if text and not text.startswith("WARNING "):
                self.complaints.append(text)

    async def stop(self) -> int | None:
        """Close its input, and return its exit status; None if it had to be killed."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            async with asyncio.timeout(ENDS_S):
                status: int | None = await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
            status = None
        await asyncio.wait(self._reading, timeout=ANSWER_S)
        return status


class Stdio:
    """The server as a process."""

    def __init__(self, module: str = TARGET) -> None:
        self._module = module
        self._children: dict[str, Child] = {}
        self._blocks = 0
        self._said = TemporaryDirectory()
        """Folder in which each process writes how much memory it uses."""

    async def __aenter__(self) -> Stdio:
        return self

    async def __aexit__(self, *exc: object) -> None:
        for child in self._children.values():
            await child.stop()
        self._said.cleanup()

    def live_kb(self) -> int | None:
        # The greatest: a process that was started anew has used little yet.
        said = [Path(self._said.name, str(one.process.pid)) for one in self._children.values()]
        found = [int(path.read_text()) for path in said if path.exists()]
        return max(found, default=None)

    async def run(self, block: Block, findings: Findings) -> None:
        self._blocks += 1
        if self._blocks % NEW_EVERY == 0:
            new = await self._start(block.revision)
            await new.line.talk(block.only(()), findings, new.pause)
            self._report(new, await new.stop(), findings)
        child = self._children.get(block.revision)
        if child is None:
            child = self._children[block.revision] = await self._start(block.revision)
        await child.line.talk(block, findings, child.pause)
        if child.line.ended.is_set() or (child.changed and not child.line.speaker.opening):
            del self._children[block.revision]
            self._report(child, await child.stop(), findings)
        elif child.complaints:
            self._report(child, 0, findings)

    async def _start(self, revision: str) -> Child:
        return await Child.start(revision, self._module, self._said.name)

    def _report(self, child: Child, status: int | None, findings: Findings) -> None:
        if status != 0:
            findings.add("ended", f"the process ended with {status}")
        if child.complaints:
            text = "\n".join(child.complaints)
            findings.add("traceback", text)
            child.complaints.clear()

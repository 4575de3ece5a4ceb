"""Memory that reading a long resource takes, and what is left of it."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.server.resources.reading_server import SIZE_BYTES
from tests.support.frames import PER_REQUEST, Speaker
from tests.support.http.asgi import headers_of

PROGRAM = "tests.server.resources.reading_server"
WAIT_S = 60.0
ROUNDS = 10
"""Rounds before the middle, and as many after it."""
READS_PER_ROUND = 10
LEFT_BYTES = 20_000
"""Most that may be left of all the reads."""
LEFT_BYTES_PER_READ = 50
"""Most that may be left of each one."""
WARM_BYTES = 20_000
"""Long enough for the encoders to be loaded."""

# In its debug mode asyncio remembers where callbacks come from.
EXACT = {"MALLOC_MMAP_THRESHOLD_": "65536", "PYTHONASYNCIODEBUG": ""}
"""glibc returns what is freed of this size at once, so resident is what is allocated."""

SPEAKER = Speaker(PER_REQUEST)


class Reading:
    """Client of a server in a process of its own, that keeps nothing of an answer."""

    def __init__(self, process: subprocess.Popen[bytes], over: str) -> None:
        assert process.stdin
        assert process.stdout
        self._stdin, self._stdout = process.stdin, process.stdout
        self._web: http.client.HTTPConnection | None = None
        if over == "http":
            port = int(self._stdout.readline())
            self._web = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)

    def ask(self, message: bytes) -> bytes:
        """Return the answer to a request."""
        if self._web is None:
            self._stdin.write(message + b"\n")
            self._stdin.flush()
            return self._stdout.readline()
        headers = {"accept": "application/json, text/event-stream"}
        headers |= {"content-type": "application/json", **headers_of(SPEAKER, message)}
        self._web.request("POST", "/mcp", message, headers)
        return self._web.getresponse().read()

    def read(self, kind: str, size: int = SIZE_BYTES) -> None:
        """Read a resource of a size."""
        uri = f"{kind}://{size}"
        answer = self.ask(SPEAKER.request(1, "resources/read", {"uri": uri}))
        assert len(answer) > size

    def ask_tool(self, name: str) -> Any:
        """Return what a tool of the server tells of its memory."""
        answer = msgspec.json.decode(self.ask(SPEAKER.call(1, name)))
        return msgspec.json.decode(answer["result"]["content"][0]["text"])

    def allocated_bytes(self) -> int:
        """Return the number of bytes that the server holds at rest."""
        self.ask_tool("allocated")  # over HTTP, the answer before is held until the next request
        return int(self.ask_tool("allocated"))

    def peak_kb(self, kind: str) -> int:
        """Return the resident memory that one read takes at most."""
        self.ask_tool("resident")
        before_kb, _ = self.ask_tool("resident")
        self.read(kind)
        _, peak_kb = self.ask_tool("resident")
        return int(peak_kb - before_kb)

    def close(self) -> None:
        """Disconnect."""
        if self._web is not None:
            self._web.close()


@pytest.fixture(scope="module", params=["http-fast", "http-plain", "stdio-fast", "stdio-plain"])
def client(request: pytest.FixtureRequest) -> Iterator[Reading]:
    """Client of a server that has loaded all it needs."""
    over, encoders = request.param.split("-")
    with subprocess.Popen(
        [sys.executable, "-m", PROGRAM, over, encoders],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **EXACT},
    ) as process:
        limit = threading.Timer(WAIT_S, process.kill)
        limit.start()
        try:
            client = Reading(process, over)
            for kind in ("text", "blob"):
                client.read(kind, WARM_BYTES)
            yield client
            client.close()
        finally:
            limit.cancel()
            process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("kind", ["text", "blob"])
def test_a_read_takes_three_times_its_size_at_most(client: Reading, kind: str) -> None:
    assert client.peak_kb(kind) * 1024 <= 3 * SIZE_BYTES


def test_nothing_is_left_of_many_reads(client: Reading) -> None:
    before_bytes = client.allocated_bytes()
    marks_bytes: list[int] = []
    for _ in range(2 * ROUNDS):
        for number in range(READS_PER_ROUND):
            client.read("text" if number % 2 else "blob")
        marks_bytes.append(client.allocated_bytes())
    # What is held for a moment, such as a buffer or a table that has doubled, is not at each mark.
    middle_bytes, end_bytes = min(marks_bytes[:ROUNDS]), min(marks_bytes[ROUNDS:])
    assert end_bytes - before_bytes < LEFT_BYTES
    assert end_bytes - middle_bytes < LEFT_BYTES_PER_READ * READS_PER_ROUND * ROUNDS

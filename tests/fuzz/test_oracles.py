"""A target with a planted fault is found out: one fault for each kind of finding."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from mcp_gen.core.transport.protocols import Duplex, Receiver
from tests.fuzz.findings import BLOCK, Block, Finding, Findings
from tests.fuzz.growth import growth
from tests.fuzz.surfaces import duplex
from tests.fuzz.surfaces.duplex import Line
from tests.fuzz.surfaces.memory import Memory
from tests.fuzz.surfaces.surface import Complaints
from tests.fuzz.target import make_server
from tests.fuzz.values import is_object
from tests.fuzz.worker import Done, Order, fuzz, run_block
from tests.soak.figures import live_kb

INDEXES = tuple(range(2 * BLOCK, 2 * BLOCK + 20))

Plant = Callable[["Tampering", dict[str, Any]], list[dict[str, Any]] | None]
"""Returns what is sent in the place of a response; None to close the connection."""


class Tampering:
    """Transport of a server that does not always send what the server says.

    Args:
        inner: The transport.
        plant: The fault; it gets every tenth response.
    """

    def __init__(self, inner: Duplex, plant: Plant) -> None:
        self._inner = inner
        self._plant = plant
        self._seen = 0

    async def start(self, receiver: Receiver) -> None:
        await self._inner.start(receiver)

    def send(self, message: bytes) -> None:
        frame = json.loads(message)
        if is_object(frame) and str(frame.get("id", "")).startswith("probe"):
            self._inner.send(message)
            return
        is_response = is_object(frame) and "result" in frame
        self._seen += is_response
        if not is_response or self._seen % 3:
            self._inner.send(message)
            return
        said = self._plant(self, frame)
        for one in said or ():
            self._inner.send(json.dumps(one).encode())
        if said is None:
            asyncio.get_running_loop().create_task(self._inner.aclose())

    async def drain(self) -> None:
        await self._inner.drain()

    async def aclose(self) -> None:
        await self._inner.aclose()


class Planted:
    """Server behind a tampering transport."""

    def __init__(self, plant: Plant) -> None:
        self._server = make_server()
        self._plant = plant

    async def serve(self, transport: Duplex) -> None:
        await self._server.serve(Tampering(transport, self._plant))

    async def aclose(self) -> None:
        await self._server.aclose()


async def found_with(plant: Plant) -> list[Finding]:
    """Fuzz a server with a fault, and return the findings."""
    complaints = Complaints()
    with complaints.installed():
        async with Memory(Planted(plant)) as surface:
            return await run_block(surface, Block(7, "memory", INDEXES), complaints)


def kinds(findings: list[Finding]) -> set[str]:
    return {one.kind for one in findings}


async def never_awaited() -> None:
    """Do nothing; nobody waits for it."""


def warns(_: Tampering, frame: dict[str, Any]) -> list[dict[str, Any]]:
    forgotten: object = never_awaited()
    del forgotten
    return [frame]


def logs(_: Tampering, frame: dict[str, Any]) -> list[dict[str, Any]]:
    try:
        raise ValueError("planted")
    except ValueError:
        logging.getLogger("planted").exception("failed")
    return [frame]


def loses_an_error(_: Tampering, frame: dict[str, Any]) -> list[dict[str, Any]]:
    asyncio.get_running_loop().call_soon(lambda: 1 / 0)
    return [frame]


PLANTS: dict[str, tuple[Plant, str]] = {
    "answers twice": (lambda _, frame: [frame, frame], "unasked"),
    "answers with another id": (lambda _, frame: [frame, {**frame, "id": 10**8}], "unasked"),
    "sends an error for nothing": (
        lambda _, frame: [frame] + [{"jsonrpc": "2.0", "error": {"code": 1, "message": "m"}}] * 20,
        "unasked",
    ),
    "never answers": (lambda _, frame: [], "unanswered"),
    "has an internal error": (
        lambda _, frame: [
            {"jsonrpc": "2.0", "id": frame["id"], "error": {"code": -32603, "message": "m"}}
        ],
        "internal",
    ),
    "sends a key that the revision lacks": (
        lambda _, frame: [{**frame, "result": {**frame["result"], "new": 1}}],
        "invalid",
    ),
    "sends another frame": (lambda _, frame: [{**frame, "extra": 1}], "invalid"),
    "hangs up": (lambda _, frame: None, "ended"),
    "logs a traceback": (logs, "traceback"),
    "raises in the event loop": (loses_an_error, "traceback"),
    "forgets to await": (warns, "traceback"),
}


@pytest.mark.parametrize(("plant", "kind"), PLANTS.values(), ids=PLANTS)
async def test_a_target_with_a_fault_is_found(
    plant: Plant, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplex, "ANSWER_S", 0.3)
    assert kind in kinds(await found_with(plant))


async def test_a_target_without_a_fault_is_good() -> None:
    assert await found_with(lambda _, frame: [frame]) == []


async def test_a_session_that_answers_no_more_is_found_by_its_probe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(duplex, "ANSWER_S", 0.2)

    class Deaf(Line):
        def put(self, data: bytes, index: int, random: Any) -> None:
            self._send = ignore

    findings = Findings(Block(7, "memory", INDEXES))
    line = Deaf(findings.block.revision, lambda data: answered(line, data))
    await line.talk(findings.block, findings, lambda: asyncio.sleep(0))
    assert "probe" in kinds(findings.found)


def answered(line: Line, data: bytes) -> None:
    """Answer every request with a valid result of `echo`."""
    frame = json.loads(data)
    if "id" in frame:
        result: Any = {"content": [{"type": "text", "text": "alive"}]}
        if frame["method"] == "initialize":
            result = {
                "protocolVersion": line.speaker.revision,
                "capabilities": {},
                "serverInfo": {"name": "s", "version": "1"},
            }
        line.came(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}).encode())


def ignore(data: bytes) -> None:
    """Send nothing."""


class Leaking:
    """Surface that keeps some memory of each block."""

    def __init__(self, bytes_per_block: int) -> None:
        self._kept: list[bytes] = []
        self._size = bytes_per_block

    async def __aenter__(self) -> Leaking:
        return self

    async def __aexit__(self, *exc: object) -> None:
        pass

    async def run(self, block: Block, findings: Findings) -> None:
        self._kept.append(bytes(b"x" * self._size))

    def live_kb(self) -> int | None:
        return live_kb()


@pytest.mark.parametrize(("bytes_per_block", "is_too_much"), [(200_000, True), (0, False)])
async def test_memory_that_grows_is_found(bytes_per_block: int, is_too_much: bool) -> None:
    told: list[Done] = []
    order = Order("memory", 7, count=500)
    await fuzz(Leaking(bytes_per_block), order, told.append)
    grown = growth([done.live_kb for done in told if done.live_kb is not None])
    assert grown is not None
    assert grown.is_too_much == is_too_much


SMALL_LEAK = """
from tests.soak.figures import live_kb
before = live_kb()
free = [bytes([n % 256]) * 40 for n in range(100_000)]
kept = [free.pop() for _ in range(50_000)]
del free
print(live_kb() - before)
"""


def test_small_objects_that_are_kept_are_measured_and_those_that_are_freed_are_not() -> None:
    words = (sys.executable, "-c", SMALL_LEAK)
    env = {**os.environ, "PYTHONMALLOC": "malloc", "PYTHONPATH": os.pathsep.join(sys.path)}
    # An object of 40 bytes takes about 80, and its place in the list 8: 4,300 KB.
    assert 4_000 < int(subprocess.check_output(words, env=env, timeout=30.0)) < 6_000


def test_growth_is_from_the_second_tenth_to_the_last_and_only_of_many_samples() -> None:
    samples = [1] * 100 + [130, *[100] * 99] + [50] * 700 + [*[104] * 99, 130]
    grown = growth(samples)
    assert grown is not None
    assert (round(grown.part, 3), grown.is_too_much) == (0.04, False)
    assert growth(samples[:19]) is None


async def test_a_warning_is_a_complaint_although_tests_turn_warnings_into_errors() -> None:
    complaints = Complaints()
    with complaints.installed():
        warnings.warn("planted", ResourceWarning, stacklevel=1)
    assert [line.split(" - at ")[0] for line in complaints.take()] == ["ResourceWarning: planted"]

"""Runs workers, one per surface, and collects what they tell."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from tests.fuzz.findings import BLOCK, Finding
from tests.fuzz.growth import Growth, growth
from tests.fuzz.results import Results
from tests.fuzz.surfaces.all import SURFACES
from tests.fuzz.worker import STALLED_S, Done, Order

__all__ = ["Ran", "orders_for", "run_all"]

ROOT = Path(__file__).parents[2]
SILENT_S = STALLED_S * 3
"""Seconds without a word after which a worker is killed."""


class Ran(msgspec.Struct):
    """Outcome of one worker.

    Args:
        surface: The surface.
        inputs: Number of inputs of this run.
        growth: Growth of the target's memory; None for too few inputs.
    """

    surface: str
    inputs: int
    growth: Growth | None


def orders_for(
    surfaces: Sequence[str],
    seed: int,
    done: dict[str, int],
    *,
    count: int | None = None,
    seconds: float | None = None,
    jobs: int = 2,
) -> list[Order]:
    """Return what the workers are to do.

    Args:
        surfaces: Names of the surfaces.
        seed: Seed of the run.
        done: Number of blocks that are done already, by surface.
        count: Number of inputs of all surfaces together, those done before among them.
        seconds: Seconds for all together, in the place of a count.
        jobs: Workers at the same time.
    """
    shares = sum(SURFACES[name].share for name in surfaces)
    found: list[Order] = []
    for name in surfaces:
        part, first = SURFACES[name].share / shares, done.get(name, 0)
        if seconds is not None:
            # The starts of the workers are not counted: they are a second each.
            each = seconds * min(jobs, len(surfaces)) / len(surfaces)
            found.append(Order(name, seed, first, seconds=each))
            continue
        blocks = -(-round((count or 0) * part) // BLOCK)
        if blocks > first:
            found.append(Order(name, seed, first, count=blocks - first))
    return found


def run_all(
    orders: Sequence[Order],
    results: Results,
    tell: Callable[[str, Done], None],
    jobs: int = 2,
) -> list[Ran]:
    """Run all orders, some at the same time; what is told is written down at once."""
    lock = threading.Lock()
    workers: list[_Worker] = []

    def one(order: Order) -> Ran:
        def heard(done: Done) -> None:
            with lock:
                results.add(order.surface, done)
            tell(order.surface, done)

        with lock:
            worker = _Worker(order)
            workers.append(worker)
        return worker.run(heard)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            return list(pool.map(one, orders))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            with lock:
                for worker in workers:
                    worker.stop()
            raise


class _Worker:
    """One worker process."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the worker
        words = (sys.executable, "-m", "tests.fuzz.worker")
        # The C library tells how much memory is used, Python's own allocator does not.
        env = {**os.environ, "PYTHONMALLOC": "malloc"}
        self._process = subprocess.Popen(
            words,
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def stop(self) -> None:
        """End the process at once."""
        self._process.kill()

    def run(self, heard: Callable[[Done], None]) -> Ran:
        """Hand out the order, and read what the worker tells until it ends."""
        order, process = self._order, self._process
        assert process.stdin
        assert process.stdout
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        process.stdin.close()
        inputs, samples, last = 0, list[int](), order.first - 1
        silence = threading.Timer(SILENT_S, process.kill)
        silence.start()
        for line in process.stdout:
            silence.cancel()
            done = msgspec.json.decode(line, type=Done)
            inputs, last = inputs + done.inputs, done.block
            if done.live_kb is not None:
                samples.append(done.live_kb)
            heard(done)
            silence = threading.Timer(SILENT_S, process.kill)
            silence.start()
        silence.cancel()
        process.stdout.close()
        status = process.wait()
        # In a short run the caches are still being filled.
        grown = growth(samples) if order.seconds is None else None
        faults = self._faults(status, last + 1, grown)
        self._log.close()
        if faults:
            heard(Done(last + 1 if status else last, 0, None, faults))
        return Ran(order.surface, inputs, grown)

    def _faults(self, status: int, block: int, grown: Growth | None) -> list[Finding]:
        """Return the faults of the worker as a whole."""
        name, found = self._order.surface, list[Finding]()
        first = block * BLOCK
        words = f"{name}:{first}-{first + BLOCK - 1}"
        if status:
            self._log.seek(0)
            text = self._log.read()[-3000:].decode(errors="replace")
            what = f"the worker ended with {status} in the block after {first - 1}:\n{text}"
            found.append(
                Finding(surface=name, index=first, kind="ended", what=what, reproduce=words)
            )
        if grown is not None and grown.is_too_much:
            what = f"the target's memory grows from {grown}"
            found.append(
                Finding(surface=name, index=first, kind="memory", what=what, reproduce=name)
            )
        return found

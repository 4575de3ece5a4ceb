"""Profile of a child, and its steps: the modules of a call in the order of the first."""

from __future__ import annotations

import ast
import json
import os
import signal
import sysconfig
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from msgspec import Struct, structs

import mcp_gen
import mcp_wire
from bench.about import About
from bench.child import ROOT, Child

__all__ = ["BENCH", "LOOP", "Profile", "Report", "Route", "Step", "Sums", "profile", "route_of"]

WAIT_S = 20.0
TRACED_CALLS = 4
_HOMES = {str(Path(one.__path__[0])): one.__name__ for one in (mcp_gen, mcp_wire)}
_LIBRARY = sysconfig.get_paths()["stdlib"]
_SITE = "site-packages"
LOOP = "event loop and kernel"
BENCH = "the caller, and the tool"
UNNAMED = "code without a file"
_DOES = {
    LOOP: "waits for bytes, wakes tasks; all that is outside of Python functions",
    BENCH: "the function of the user; of a client the loop that calls it",
    UNNAMED: "functions that dataclasses and tuples with names write",
    "asyncio": "tasks, timers, pipes; where it is the event loop, waiting too",
    "selectors": "waits for bytes",
    "uvicorn": "the ASGI server: parses requests, writes responses",
    "httpcore2": "the HTTP client's connections",
    "contextlib": "`with` blocks",
}
"""Modules that are not ours."""


class Step(Struct, frozen=True):
    """One module, or one library."""

    name: str
    does: str
    frames: float
    """Python functions that run for one call; a coroutine counts each time it goes on."""
    us: float

    @property
    def is_ours(self) -> bool:
        """Return True for a module of `mcp_gen` or `mcp_wire`."""
        return self.name.endswith(".py")


class Route(Struct, frozen=True, kw_only=True):
    """Steps of one way of calling a tool."""

    name: str
    placed: str
    total_us: float
    """CPU time of the process for one call, without a profiler."""
    steps: list[Step]


class Report(Struct, frozen=True, kw_only=True):
    """All routes of a run, with its circumstances."""

    about: About
    routes: list[Route]


class Sums(NamedTuple):
    """Figures of one file or one step, for one call."""

    frames: float = 0
    us: float = 0
    """Time of its functions without what they call, as the profiler tells it."""
    calls: float = 0
    """Functions that they call."""

    def plus(self, other: Sums) -> Sums:
        """Return the sums of both."""
        return Sums(*(one + more for one, more in zip(self, other, strict=True)))


class Profile(NamedTuple):
    """One profile of some calls."""

    order: list[str]
    """Files in the order of their first frames."""
    found: dict[str, Sums]
    """Figures of each file."""
    overhead: tuple[float, float]
    """Shares of the profiler's own time that it tells as that of the callee, and of the caller."""
    us: float
    """CPU time of one call with the profiler."""

    def steps(self, total_us: float) -> dict[str, Sums]:
        """Return the figures of each step, without what the profiler takes.

        Args:
            total_us: CPU time of one call without the profiler: what it takes more with it, is
                spread evenly over all frames.
        """
        sums: dict[str, Sums] = {}
        for file, figures in self.found.items():
            step = _step_of(file)
            sums[step] = sums.get(step, Sums()).plus(figures)
        frames = sum(one.frames for one in sums.values())
        added_us = max(0.0, self.us - total_us) / frames
        of_callee, of_caller = (added_us * share for share in self.overhead)
        found = {
            step: one._replace(us=max(0.0, one.us - one.frames * of_callee - one.calls * of_caller))
            for step, one in sums.items()
        }
        seen_us = sum(one.us for one in self.found.values())
        # The caller of some frames is the event loop, whose time the profiler does not tell.
        from_outside = max(0.0, frames - sum(one.calls for one in self.found.values()))
        unseen_us = frames * (added_us - of_callee - of_caller) + from_outside * of_caller
        rest_us = max(0.0, self.us - seen_us - unseen_us)
        return {**found, LOOP: Sums(us=rest_us)}


def profile(child: Child, folder: Path, ask: Callable[[int], float], calls: int) -> Profile:
    """Profile some calls of a child that runs under `bench.programs.profiled`.

    Args:
        child: The program.
        folder: Folder of its files.
        ask: Makes a number of calls, and returns those per second of the child's CPU.
        calls: Number of calls.
    """
    phases = _Phases(child, folder)
    phases.next()
    for _ in range(TRACED_CALLS):
        ask(1)
    phases.next()
    us = 1e6 / ask(calls)
    told = json.loads(phases.next())
    found = {
        name: Sums(frames / calls, s / calls * 1e6, called / calls)
        for name, (frames, s, called) in told["found"].items()
    }
    callee, caller = told["overhead"]
    return Profile(told["order"], found, (callee, caller), us)


class _Phases:
    def __init__(self, child: Child, folder: Path) -> None:
        self._child = child
        self._folder = folder

    def next(self) -> str:
        """Begin the next phase; return what its file says."""
        number = 1 + max((int(one.name) for one in self._folder.glob("[0-9]*")), default=0)
        told = self._folder / str(number)
        os.kill(self._child.pid, signal.SIGUSR1)
        until_s = time.monotonic() + WAIT_S
        while not told.exists():
            if time.monotonic() > until_s:
                raise TimeoutError(f"{self._child.name} does not answer SIGUSR1")
            time.sleep(0.002)  # between two looks of a bounded wait
        return told.read_text()


def route_of(
    name: str, placed: str, totals_us: Sequence[float], profiles: Sequence[Profile]
) -> Route:
    """Return the steps of a route: medians of some profiles.

    Args:
        name: Name of the route.
        placed: Event loop, parser, allocator and processors.
        totals_us: CPU time of a call, as measured without a profiler.
        profiles: Profiles of the same calls.
    """
    total_us = median(totals_us)
    order = list(dict.fromkeys(_step_of(file) for one in profiles for file in one.order))
    each = [one.steps(us) for one, us in zip(profiles, totals_us, strict=True)]
    steps = []
    for name_of_step in sorted({step for one in each for step in one}, key=partial(_place, order)):
        figures = [one.get(name_of_step, Sums()) for one in each]
        frames = median(one.frames for one in figures)
        # What runs once in a while is no step of a call.
        if frames >= 0.5 or name_of_step == LOOP:
            us = median(one.us for one in figures)
            steps.append(Step(name_of_step, _does(name_of_step), round(frames, 1), us))
    # Medians of parts do not add up to the median of the whole.
    scale = total_us / sum(step.us for step in steps)
    steps = [structs.replace(step, us=step.us * scale) for step in steps]
    return Route(name=name, placed=placed, total_us=total_us, steps=steps)


def _place(order: list[str], step: str) -> tuple[int, str]:
    """Return the place of a step: those that were not seen in order come last, then the loop."""
    if step == LOOP:
        return len(order) + 1, step
    return (order.index(step) if step in order else len(order)), step


def _step_of(file: str) -> str:
    """Return the name of the step that a file belongs to."""
    for home, name in _HOMES.items():
        if file.startswith(home + os.sep):
            inside = Path(file).relative_to(home).as_posix()
            return inside if name == "mcp_gen" else f"{name}/{inside}"
    if _SITE in file:
        return file.partition(_SITE + os.sep)[2].partition(os.sep)[0].removesuffix(".py")
    if file.startswith(str(ROOT / "bench")):
        return BENCH
    inside = file.removeprefix(_LIBRARY + os.sep).partition(os.sep)[0]
    return inside.removesuffix(".py") if file.startswith(_LIBRARY) else UNNAMED


def _does(step: str) -> str:
    """Return the first sentence of a module of ours; for others what they are."""
    for home, name in _HOMES.items():
        inside = step.removeprefix(f"{name}/")
        path = Path(home) / inside
        if path.is_file() and (name == "mcp_gen") == (inside == step):
            text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            return text.partition("\n")[0].split(". ")[0].rstrip(".")
    return _DOES.get(step, "library")

"""Run another program of this package, and profile it when told: `FOLDER MODULE ARGUMENTS...`.

SIGUSR1 begins the next of three phases, and a file in FOLDER with the number of the phase says that
it has begun: 1 notes the order in which modules are entered, 2 profiles, 3 has written what was
found to the file.
"""

from __future__ import annotations

import cProfile
import json
import runpy
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

__all__ = ["Overhead", "Profiler"]

CALIBRATIONS = 100_000


class Overhead(NamedTuple):
    """Shares of the time that the profiler itself adds to a call."""

    callee: float
    """Share that is told as time of the called function."""
    caller: float
    """Share that is told as time of the calling function."""

    @classmethod
    def found(cls) -> Overhead:
        """Profile a function that does nothing."""

        def nothing() -> None:
            return None

        def caller() -> None:
            for _ in range(CALIBRATIONS):
                nothing()

        caller()
        started = time.thread_time()
        caller()
        plain_s = time.thread_time() - started
        profile = _new_profile()
        started = time.thread_time()
        profile.enable()
        caller()
        profile.disable()
        added_s = time.thread_time() - started - plain_s
        own_s = {_name(one.code): one.inlinetime for one in profile.getstats()}
        # Of an empty function all but the call itself is the profiler's.
        callee = own_s["nothing"] / added_s
        return cls(callee, min(1 - callee, max(0.0, (own_s["caller"] - plain_s) / added_s)))


class Profiler:
    """The three phases of a profile."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._phase = 0
        self._order: dict[str, None] = {}
        self._profile: cProfile.Profile | None = None
        self._overhead = Overhead.found()

    def go_on(self, *_: object) -> None:
        """Begin the next phase, and say so."""
        phases: list[Callable[[], str]] = [self._note_order, self._begin, self._end]
        text = phases[self._phase % len(phases)]()
        self._phase += 1
        told = self._folder / str(self._phase)
        # Whoever waits for the file finds all of it.
        unfinished = told.with_suffix(".part")
        unfinished.write_text(text)
        unfinished.rename(told)

    def _note_order(self) -> str:
        def entered(frame: FrameType, event: str, _: Any) -> None:
            if event == "call":
                self._order.setdefault(frame.f_code.co_filename)

        sys.setprofile(entered)
        return ""

    def _begin(self) -> str:
        sys.setprofile(None)
        self._profile = _new_profile()
        self._profile.enable()
        return ""

    def _end(self) -> str:
        assert self._profile is not None
        self._profile.disable()
        found: dict[str, list[float]] = {}
        for one in self._profile.getstats():
            if not isinstance(one.code, CodeType) or one.code.co_filename == __file__:
                continue
            sums = found.setdefault(one.code.co_filename, [0, 0.0, 0])
            sums[0] += one.callcount
            sums[1] += one.inlinetime
            sums[2] += sum(sub.callcount for sub in one.calls or ())
        order = list(self._order)
        self._order.clear()
        return json.dumps({"order": order, "found": found, "overhead": self._overhead})


def _new_profile() -> cProfile.Profile:
    # By CPU time: what waits, and what other programs take meanwhile, is no step of a call.
    return cProfile.Profile(time.thread_time_ns, 1e-9, builtins=False)


def _name(code: Any) -> str:
    return code.co_name if isinstance(code, CodeType) else str(code)


if __name__ == "__main__":
    folder, module, *words = sys.argv[1:]
    # Kept by the handler for as long as the program runs.
    signal.signal(signal.SIGUSR1, Profiler(Path(folder)).go_on)
    sys.argv = [module, *words]
    runpy.run_module(f"bench.programs.{module}", run_name="__main__", alter_sys=False)

"""Call events of one request: which functions of the runtime it enters, and in which rooms."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import mcp_gen
import mcp_wire

__all__ = ["Step", "Walk", "traced"]

_HOMES = {Path(one.__path__[0]): one.__name__ for one in (mcp_gen, mcp_wire)}
_RESUME_AT_START = 0


class Step(NamedTuple):
    """One call event: a function of the runtime has been entered."""

    room: str
    function: str


class Walk(list[Step]):
    """The call events of one request, in order.

    A room is a folder of `mcp_gen`; `mcp_wire` is one room. Coroutines count once, when they start.
    """

    @property
    def frames(self) -> int:
        """Number of call events."""
        return len(self)

    @property
    def rooms(self) -> int:
        """Number of different rooms."""
        return len({step.room for step in self})

    @property
    def changes(self) -> int:
        """Number of call events in another room than the call event before."""
        return max(0, len([*groupby(self, key=lambda step: step.room)]) - 1)

    def without(self, *files: str) -> Walk:
        """The walk without the functions of these files, paths inside `mcp_gen`."""
        return Walk(one for one in self if not any(one.function.startswith(f) for f in files))

    def __str__(self) -> str:
        lines = [f"{self.frames} frames, {self.rooms} rooms, {self.changes} room changes"]
        room = ""
        for step in self:
            lines.append(f"  {step.room if step.room != room else '':28} {step.function}")
            room = step.room
        return "\n".join(lines)


@contextmanager
def traced() -> Iterator[Walk]:
    """Record the call events of the current thread.

    Only Python functions in the files of `mcp_gen` and `mcp_wire` count.
    """
    walk = Walk()

    def on_event(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (step := _step(frame)) is not None:
            walk.append(step)

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        yield walk
    finally:
        sys.setprofile(before)


def _step(frame: FrameType) -> Step | None:
    code = frame.f_code
    # The call event stands at a RESUME instruction; its argument says what it resumes.
    if frame.f_lasti >= 0 and code.co_code[frame.f_lasti + 1] & 3 != _RESUME_AT_START:
        return None
    file = Path(code.co_filename)
    for home, name in _HOMES.items():
        if file.is_relative_to(home):
            inside = file.relative_to(home)
            room = name if name == "mcp_wire" else str(Path(name) / inside.parent)
            return Step(room, f"{inside}: {code.co_qualname}")
    return None

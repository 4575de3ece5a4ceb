"""Replay: plays a recording against a server, and reports what differs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

import mcp_wire
from mcp_gen.compat.recordings.lines import read_recording
from mcp_gen.compat.recordings.pointers import read_pointer
from mcp_gen.compat.recordings.redactor import Redactor
from mcp_gen.compat.recordings.replaying.differences import Difference
from mcp_gen.compat.recordings.replaying.expectations import Expectations
from mcp_gen.compat.recordings.replaying.live_values import LiveValues
from mcp_gen.compat.recordings.replaying.playing import ExchangePlayer, MessagePlayer
from mcp_gen.compat.recordings.replaying.restating import Restated
from mcp_gen.compat.wire.http import HttpWire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import select

if TYPE_CHECKING:
    from mcp_gen.compat.wire.wire import Wire

__all__ = ["TIMEOUT_S", "ReplayReport", "replay"]

TIMEOUT_S = 5.0
"""Default of the longest wait for a message, in seconds."""
_FILLED = re.compile(r"<?(?:redacted-(?:number-)?)?(\d+)>?")


class ReplayReport(Struct, frozen=True, kw_only=True):
    """Outcome of a replay.

    Args:
        recording: The file.
        revision: The revision of the recording; None if it is not known.
        at: The revision that was spoken in the replay.
        compared: Number of server messages that were compared.
        differences: What the server did otherwise.
        losses: What could not be restated at another revision.
        left_out: What was not played.
    """

    recording: str
    revision: str | None
    at: str
    compared: int
    differences: tuple[Difference, ...] = ()
    losses: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """True if nothing differs."""
        return not self.differences

    def __str__(self) -> str:
        is_restated = self.revision not in (None, self.at)
        at = f"{self.revision}, restated at {self.at}" if is_restated else self.at
        head = f"{self.recording} ({at}): {self.compared} messages compared"
        number = len(self.differences)
        tail = "equal" if not number else f"{number} difference{'s' * (number > 1)}"
        return "\n".join(
            [
                *map(str, self.differences),
                *(f"lost: {one}" for one in self.losses),
                *(f"not played: {one}" for one in self.left_out),
                f"{head}, {tail}",
            ]
        )


async def replay(
    path: str | Path,
    opens: Callable[[str], Wire],
    *,
    revision: str | None = None,
    timeout_s: float = TIMEOUT_S,
    ignored: Sequence[str] = (),
    filled: Mapping[str, str] | None = None,
) -> ReplayReport:
    """Play the client's side of a recording against a server, and compare what comes.

    Args:
        path: The file.
        opens: Makes a wire to the server for a revision.
        revision: The revision at which the conversation is restated; None: as it was recorded.
        timeout_s: Longest wait for a message, in seconds.
        ignored: JSON pointers to what may differ, in each message of the server.
        filled: Secrets for placeholders of the recording, by their numbers.

    Raises:
        UsageError: the file is no recording, or an argument is wrong.
        TransportError: the server cannot be reached.
    """
    recording = read_recording(path)
    pointers = [read_pointer(one) for one in ignored]
    secrets = {
        form: value for name, value in (filled or {}).items() for form in _placeholders(name)
    }
    redactor = Redactor(recording.head.redacted, secrets.values())
    bindings = LiveValues(secrets)
    left_out = ["the recording has no end"] if recording.is_cut else []
    if revision is not None:
        [revision] = select([revision])
        restated = Restated(recording, revision, bindings, redactor, pointers)
        await restated.play(opens(revision), timeout_s)
        return ReplayReport(
            recording=str(path),
            revision=recording.revision,
            at=revision,
            compared=restated.compared,
            differences=tuple(restated.found),
            losses=tuple(dict.fromkeys(restated.losses)),
            left_out=(*left_out, *restated.left_out),
        )
    at = recording.revision or mcp_wire.LATEST
    wire = opens(at)
    expectations = Expectations(
        wire.transcript, bindings, redactor, timeout_s=timeout_s, ignored=pointers
    )
    try:
        if isinstance(wire, HttpWire) and recording.transport == "http":
            exchanges = ExchangePlayer(recording, wire, expectations)
            await exchanges.play()
            left_out += exchanges.left_out
        else:
            await MessagePlayer(recording, wire, expectations, at).play()
    finally:
        await wire.aclose()
    return ReplayReport(
        recording=str(path),
        revision=recording.revision,
        at=at,
        compared=expectations.compared,
        differences=tuple(expectations.found),
        left_out=tuple(left_out),
    )


def _placeholders(name: str) -> tuple[str, str]:
    found = _FILLED.fullmatch(name)
    if found is None:
        raise UsageError(f"expected the number of a placeholder, such as 3, got {name!r}")
    return f"<redacted-{found[1]}>", f"<redacted-number-{found[1]}>"

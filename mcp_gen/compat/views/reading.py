"""Reading of transcripts: places of frames, and answers with their requests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.compat.json_values import Json, is_array, is_object, is_same_id

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.compat.transcript import Transcript, WireEvent

__all__ = ["AnswerFrame", "Placed", "answers", "is_answer", "placed"]


class Placed(NamedTuple):
    """One frame, with its JSON path in its message: `$`, or `$[2]` in a batch."""

    event: WireEvent
    where: str
    frame: Json


class AnswerFrame(NamedTuple):
    """An answer, with the request that it answers: None for an answer to no open request."""

    event: WireEvent
    where: str
    frame: Json
    asked: Placed | None

    @property
    def events(self) -> tuple[WireEvent, ...]:
        """The request and the answer, as evidence."""
        return (self.asked.event, self.event) if self.asked else (self.event,)


def placed(transcript: Transcript, sender: Sender | None = None) -> list[Placed]:
    """Return the frames of one side, or of both, with their places."""
    return transcript.derived(_placed, sender)


def _placed(transcript: Transcript, sender: Sender | None) -> list[Placed]:
    return list(_places(transcript, sender))


def _places(transcript: Transcript, sender: Sender | None) -> Iterator[Placed]:
    for event in transcript.messages(sender):
        if is_array(event.message):
            for number, entry in enumerate(event.message):
                if is_object(entry):
                    yield Placed(event, f"$[{number}]", entry)
        elif is_object(event.message):
            yield Placed(event, "$", event.message)


def is_answer(frame: Json) -> bool:
    """Return True for a frame with a result or an error."""
    return "method" not in frame and ("result" in frame or "error" in frame)


def answers(transcript: Transcript, sender: Sender = "server") -> list[AnswerFrame]:
    """Return the answers of one side, in the order in which they came.

    Args:
        transcript: The transcript.
        sender: The side that answers.
    """
    return transcript.derived(_answers, sender)


def _answers(transcript: Transcript, sender: Sender) -> list[AnswerFrame]:
    found: list[AnswerFrame] = []
    waiting: list[Placed] = []
    for one in placed(transcript):
        if one.event.sender != sender:
            if "method" in one.frame and "id" in one.frame:
                waiting.append(one)
        elif is_answer(one.frame):
            found.append(AnswerFrame(*one, _taken(waiting, one.frame.get("id"))))
    return found


def _taken(waiting: list[Placed], id: Any) -> Placed | None:
    """Return the first open request with an id, and take it off the list."""
    for number, asked in enumerate(waiting):
        if is_same_id(asked.frame["id"], id):
            return waiting.pop(number)
    return None

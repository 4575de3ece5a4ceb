"""Verdict on a cell: from what the client says, how it ended, and what passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mcp_gen.compat.checks.judging import applicable, judge, outcome_of
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.matrix.model import BrokenRule, Cell, ConversationResult
from mcp_gen.compat.method_names import openings
from mcp_gen.compat.report.bounds import cut

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import Ended
    from mcp_gen.compat.matrix.recorded import Talk
    from mcp_gen.compat.report.model import Side, Verdict

__all__ = ["ClientEnd", "judged", "said_conversations"]

MAX_WHY_CHARS = 300
MAX_CONVERSATIONS = 200
SIDES: tuple[Side, ...] = ("server", "client")


class ClientEnd(Struct, frozen=True, kw_only=True):
    """End of a run of a client.

    Args:
        ended: How it ended.
        stdout: The beginning of what it wrote to stdout.
        last_line: The last line that it wrote to stderr.
    """

    ended: Ended
    stdout: bytes
    last_line: str

    @property
    def why(self) -> str:
        """Its end, in one line."""
        return f"{self.ended}{f': {self.last_line}' if self.last_line else ''}"


def judged(cell: Cell, end: ClientEnd, talks: Sequence[Talk]) -> Cell:
    """Return a cell with its verdict.

    Args:
        cell: What it is a cell of.
        end: The end of the client.
        talks: Its connections.
    """
    conversations = said_conversations(end.stdout)
    broken = _broken(cell, talks)
    why = "" if any(one.agreed == cell.revision for one in talks) else _no_session(end, talks)
    if not why:
        conversations = _with_end(conversations, end)
        is_failed = any(one.verdict == "failed" for one in conversations)
        is_broken = any(one.outcome.level == "must" for one in broken)
        return msgspec.structs.replace(
            cell,
            verdict="failed" if is_failed or is_broken else "passed",
            conversations=conversations,
            broken=broken,
            took_s=end.ended.took_s,
        )
    # A hang is no refusal, and neither is a client that a signal has ended.
    has_failed = end.ended.hung or (end.ended.exit_code or 0) < 0
    verdict = "failed" if has_failed else "not tested"
    failed = (ConversationResult(name="connect", verdict="failed", why=cut(why, MAX_WHY_CHARS)),)
    return msgspec.structs.replace(
        cell,
        verdict=verdict,
        why="" if has_failed else cut(why, MAX_WHY_CHARS),
        conversations=failed if has_failed else (),
        took_s=end.ended.took_s,
    )


def said_conversations(stdout: bytes) -> tuple[ConversationResult, ...]:
    """Return the conversations of the lines that a client wrote; other lines are not read."""
    found: list[ConversationResult] = []
    for line in stdout.split(b"\n"):
        try:
            made: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if not is_object(made) or "conversation" not in made:
            continue
        try:
            one = msgspec.convert({**made, "name": made["conversation"]}, ConversationResult)
        except msgspec.ValidationError:
            continue
        why = cut(one.why, MAX_WHY_CHARS)
        found.append(ConversationResult(name=cut(one.name, 80), verdict=one.verdict, why=why))
    return tuple(found[:MAX_CONVERSATIONS])


def _with_end(
    conversations: tuple[ConversationResult, ...], end: ClientEnd
) -> tuple[ConversationResult, ...]:
    """Return conversations with the end of the client as the last, where that tells something."""
    if conversations and end.ended.well:
        return conversations
    verdict: Verdict = "passed" if end.ended.well else "failed"
    why = "" if end.ended.well else cut(end.why, MAX_WHY_CHARS)
    return (*conversations, ConversationResult(name="end", verdict=verdict, why=why))


def _broken(cell: Cell, talks: Sequence[Talk]) -> tuple[BrokenRule, ...]:
    """Return the requirements that were broken in the connections at the revision."""
    transcripts = [one.transcript for one in talks if one.agreed == cell.revision]
    if not transcripts:
        return ()
    found: list[BrokenRule] = []
    for side in SIDES:
        checks = applicable(side, cell.revision, cell.transport)
        rules = [one for one in checks if one.rule is not None]
        for check, one in judge(rules, transcripts):
            if one.findings:
                outcome = outcome_of(check, one, cell.revision)
                found.append(BrokenRule(side=side, outcome=outcome))
    return tuple(found)


# --- why there was no session ---


def _no_session(end: ClientEnd, talks: Sequence[Talk]) -> str:
    """Return why there was no session at the revision."""
    agreed = [one.agreed for one in talks if one.agreed]
    refusals = [text for one in talks for text in _refusals(one)]
    if refusals:
        return f"the server refused: {refusals[-1]}"
    if agreed:
        return f"they agreed on {agreed[-1]}"
    if not talks:
        return f"the client did not connect, and {end.why}"
    return f"nothing was agreed, and {end.why}"


def _refusals(talk: Talk) -> Iterator[str]:
    """Yield the errors that requests were answered with which open a connection."""
    asked: list[Any] = []
    for frame in talk.transcript.frames():
        if frame.event.sender == "client" and frame.members.get("method") in openings():
            asked.append(frame.members.get("id"))
        elif frame.event.sender == "server" and frame.members.get("id") in asked:
            error = frame.members.get("error")
            if is_object(error):
                yield f"{error.get('code')} {error.get('message')}"
            elif member(frame.members, "result", "protocolVersion") is not None:
                version = member(frame.members, "result", "protocolVersion")
                if version != talk.transcript.revision:
                    yield f"it offers {version}"
    for event in talk.refused.events:
        if event.kind == "response":
            yield f"status {event.status}"

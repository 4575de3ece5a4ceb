"""Text of a failure: findings with their requirement, its link, and the frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.compat.plugin.conversation import SideOutcome
    from mcp_gen.compat.report.model import Evidence, Finding

__all__ = ["failure_text"]

MAX_SHOWN = 3
"""Maximum number of findings that are shown of one requirement."""
MAX_FRAMES = 4
"""Maximum number of frames that are shown of one finding."""


def failure_text(found: Sequence[SideOutcome], transport: str) -> str:
    """Return the text that a test fails with; empty without findings."""
    if not found:
        return ""
    number = len(found)
    first = found[0].outcome.requirement
    broken = f"{first} is" if number == 1 else f"{number} requirements are"
    revision = found[0].outcome.revision
    lines = [f"{broken} broken at {revision} over {transport}"]
    for one in found:
        lines += ["", *_lines(one)]
    return "\n".join(lines)


def _lines(one: SideOutcome) -> Iterator[str]:
    outcome = one.outcome
    yield f"{outcome.level.upper()} {outcome.requirement} (the {one.side}): {outcome.says}"
    yield f"  {outcome.link}"
    for finding in outcome.findings[:MAX_SHOWN]:
        yield from _finding_lines(finding)
    more = len(outcome.findings) - MAX_SHOWN
    if more > 0:
        yield f"  and {more} more"


def _finding_lines(finding: Finding) -> Iterator[str]:
    where = f" at {finding.where}" if finding.where else ""
    yield f"  expected: {finding.expected}"
    yield f"  came{where}: {finding.came}"
    for event in finding.evidence[-MAX_FRAMES:]:
        yield f"    {_frame(event)}"
    if finding.times > 1:
        places = "place" if finding.times == 2 else "places"
        yield f"    the same at {finding.times - 1} more {places}"


def _frame(event: Evidence) -> str:
    text = event.text.replace("\n", "\n      ") or f"({event.kind})"
    left_out = f" … and {event.left_out_bytes} bytes" if event.left_out_bytes else ""
    return f"{event.at_s:.3f} s {event.sender}: {text}{left_out}"

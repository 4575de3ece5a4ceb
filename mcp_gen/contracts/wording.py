"""Texts of findings: the same difference is told otherwise for arguments and for results."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.contracts.subsumption.comparing import Direction
    from mcp_gen.contracts.subsumption.findings import FindingKind, SchemaFinding

__all__ = ["finding_text"]

_ARGUMENTS: dict[FindingKind, str] = {
    "excluded": "is not taken any more",
    "kind": "does not take {says} any more",
    "multiple": "takes {says} only",
    "names": "does not take this name any more",
    "not compared": "cannot be compared: {says}",
    "opaque": "has another {says}",
    "pattern": "takes {says} only",
    "range": "takes {says} only",
    "required": "is required now",
    "size": "takes {says} only",
    "unique": "takes {says} only",
    "values": "does not take {says} any more",
}
_RESULTS: dict[FindingKind, str] = {
    "excluded": "can be there, and was not promised",
    "kind": "can be {says}",
    "multiple": "can be other than {says}",
    "names": "can have this name",
    "not compared": "cannot be compared: {says}",
    "opaque": "does not keep {says}",
    "pattern": "can be other than {says}",
    "range": "can be other than {says}",
    "required": "can be missing",
    "size": "can be other than {says}",
    "unique": "can have equal items",
    "values": "can be {says}",
}
_OF_BOTH: dict[Direction, dict[FindingKind, str]] = {"arguments": _ARGUMENTS, "results": _RESULTS}


def finding_text(finding: SchemaFinding, direction: Direction) -> str:
    """Return a finding as a sentence that begins with its place.

    Args:
        finding: The finding.
        direction: Who sends the values.
    """
    kind = finding.kind
    says = finding.says
    if kind == "values" and says.startswith("only "):
        told = f"takes {says}" if direction == "arguments" else f"can be other than {says[5:]}"
    else:
        told = _OF_BOTH[direction][kind].format(says=says)
    unsure = "" if finding.is_certain or kind == "not compared" else "perhaps "
    return f"{direction}{finding.where} {unsure}{told}"

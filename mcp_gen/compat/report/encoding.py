"""JSON form of a report, for programs: written and read."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from mcp_gen.compat.json_values import member
from mcp_gen.compat.report.model import Report

__all__ = ["FORMAT", "decode_report", "encode_report"]

FORMAT = 1
"""Number of the format: a later one may rename and remove members, this one only gets more."""


def encode_report(report: Report) -> str:
    """Return a report as indented JSON in ASCII.

    The members are those of `Report`, in its order, after `format`, which is 1. Programs ignore
    members that they do not know.
    """
    # In ASCII: control characters of a peer do not reach a terminal.
    return json.dumps({"format": FORMAT, **msgspec.to_builtins(report)}, indent=2) + "\n"


def decode_report(text: str | bytes) -> Report:
    """Return the report of a JSON form.

    Args:
        text: What `encode_report` has written.

    Raises:
        ValueError: it is no report, or one of another format.
    """
    made: Any = msgspec.json.decode(text)
    given = member(made, "format")
    if given != FORMAT:
        raise ValueError(f"expected a report of format {FORMAT}, got {given!r}")
    return msgspec.convert(made, Report)

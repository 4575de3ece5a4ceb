"""The demo: one conversation with a server per revision."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp_gen.compat.demo import converse, quickstart
from tests.support.frames import every_revision


@every_revision
async def test_a_conversation_begins_as_the_lifecycle_of_its_revision_says(
    revision: str, tmp_path: Path
) -> None:
    with (tmp_path / "stderr").open("w+") as stderr:
        row = await converse([sys.executable, str(quickstart())], revision, stderr)
    begins = "initialize" if revision < "2026-07-28" else "per_request"
    assert (row.lifecycle, row.result, row.problems) == (begins, "3", ())

"""Locks of servers that others have made, and of ours: `mcp-gen lock`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.contracts.lock import RevisionPromise, read_lock
from mcp_gen.contracts.subsumption.document import (
    ARRAYS_OF_SCHEMAS,
    MAPS_OF_SCHEMAS,
    SINGLE_SCHEMAS,
)
from tests.cli.running import run
from tests.contracts.test_pairs import MET_IN_TOOLS

EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
OURS = Path(__file__).parents[3] / "examples/everything_server.py"


def command_of(server: str) -> str:
    """Return the target of a server."""
    return {
        "everything": f"node {Path(os.environ['PEERS_SERVERS']) / EVERYTHING}",
        "time": f"{sys.executable} -m mcp_server_time --local-timezone UTC",
        "ours": str(OURS),
    }[server]


def keywords(schema: Any) -> set[str]:
    """Return the keywords of a schema."""
    if not isinstance(schema, dict):
        return set()
    found = {*schema}
    for keyword, value in schema.items():
        if keyword in MAPS_OF_SCHEMAS | {"$defs", "definitions"}:
            found |= {one for part in value.values() for one in keywords(part)}
        elif keyword in ARRAYS_OF_SCHEMAS and isinstance(value, list):
            found |= {one for part in value for one in keywords(part)}
        elif keyword in SINGLE_SCHEMAS:
            found |= keywords(value)
    return found


def keywords_of(promise: RevisionPromise) -> set[str]:
    schemas = ("inputSchema", "outputSchema")
    return {
        one
        for tool in promise.tools.values()
        for name in schemas
        for one in keywords(tool.get(name))
    }


@pytest.mark.timeout(120)
@pytest.mark.few_cases(2)
@pytest.mark.parametrize("server", ["everything", "time", "ours"])
def test_a_server_keeps_its_lock_and_has_it_again_byte_for_byte(
    server: str, tmp_path: Path
) -> None:
    files = [tmp_path / name for name in ("one.json", "other.json")]
    for path in files:
        ran = run("lock", command_of(server), "-o", str(path), "--timeout", "30")
        assert ran.exit_code == 0, ran.stderr
    one, other = (path.read_bytes() for path in files)
    assert one == other
    again = ("lock", command_of(server), "-o", str(files[0]), "--timeout", "30")
    checked = run(*again, "--check", "--strict")
    assert (checked.exit_code, checked.stderr) == (0, "")
    for promise in read_lock(files[0]).revisions.values():
        assert promise.tools
        assert keywords_of(promise) - MET_IN_TOOLS == set()

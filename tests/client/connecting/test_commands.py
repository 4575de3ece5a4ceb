"""Commands that exit on the `server/discover` probe, or are given as one string."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from mcp_gen import Client, SessionLost
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.processes.living import lives

OLD = f"""
import json, sys
print("started", file=open(sys.argv[1], "a"))
for line in sys.stdin:
    frame = json.loads(line)
    if frame["method"] == "initialize":
        info = {{"name": "old", "version": "1"}}
        result = {{"protocolVersion": {HANDSHAKE!r}, "capabilities": {{}}, "serverInfo": info}}
        answer = {{"jsonrpc": "2.0", "id": frame["id"], "result": result}}
        print(json.dumps(answer), flush=True)
    elif "id" in frame:
        sys.exit(3)
"""


@pytest.mark.parametrize("one_line", [False, True])
async def test_a_command_that_ends_over_the_question_is_started_again_and_not_asked(
    tmp_path: Path, one_line: bool
) -> None:
    seen = tmp_path / "seen"
    words = [sys.executable, "-S", "-c", OLD, str(seen)]
    async with Client("test") as client:
        session = await client.connect(shlex.join(words) if one_line else words)
        assert session.revision == HANDSHAKE
        assert len(seen.read_text().splitlines()) == 2
        await client.connect(words)
        assert len(seen.read_text().splitlines()) == 3


REPLACED = f"""
import json, os, sys
handshake = not os.path.exists(sys.argv[1])
print(os.getpid(), file=open(sys.argv[1], "a"), flush=True)
for line in sys.stdin:
    frame = json.loads(line)
    if "id" not in frame:
        continue
    answer = {{"jsonrpc": "2.0", "id": frame["id"]}}
    info = {{"name": "replaced", "version": "1"}}
    if frame["method"] == "initialize" and handshake:
        said = {{"protocolVersion": {HANDSHAKE!r}, "capabilities": {{}}, "serverInfo": info}}
        answer["result"] = said
    elif frame["method"] == "server/discover" and not handshake:
        said = {{"supportedVersions": [{PER_REQUEST!r}], "capabilities": {{}}, "serverInfo": info}}
        answer["result"] = said | {{"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}}
    else:
        answer["error"] = {{"code": -32601, "message": "unknown"}}
    print(json.dumps(answer), flush=True)
"""


async def test_a_command_that_no_longer_speaks_what_is_remembered_is_ended(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    words = [sys.executable, "-S", "-c", REPLACED, str(seen)]
    async with Client("test") as client:
        assert (await client.connect(words)).revision == HANDSHAKE
        assert (await client.connect(words)).revision == PER_REQUEST
        assert [lives(int(one)) for one in seen.read_text().split()] == [True, False, True]


async def test_a_command_that_always_ends_says_how_it_ended() -> None:
    async with Client("test") as client:
        with pytest.raises(SessionLost, match="exit status 3"):
            await client.connect([sys.executable, "-S", "-c", "raise SystemExit(3)"])

"""Checks the hooks of examples/hooks_server.py as a real process, in order, at every revision."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tests.support.frames import Speaker, every_revision
from tests.support.processes.child import started

EXAMPLE = Path(__file__).parents[1] / "examples/hooks_server.py"

# Output of the hooks for the conversation below, after the opening; one row per message.
SAID = [
    ["asked tools/list", "success tools/list"],
    ["asked tools/call", "timed greet", "success tools/call"],
    ["asked tools/call", "timed fail", "error tools/call McpError"],
    ["asked tools/call", "waiting"],
    ["cancelled 4", "timed wait", "error tools/call CancelledError"],
    ["asked tools/call", "timed greet", "success tools/call"],
    ["asked tools/call", "error tools/call McpError"],
    ["closed"],
]


def said(stderr: str) -> list[str]:
    """Return the lines of the server, without the duration of the calls."""
    return [re.sub(r" \d+\.\d{3} s$", "", line) for line in stderr.splitlines()]


def text(answer: Any) -> list[str]:
    return [block["text"] for block in answer["result"]["content"]]


@every_revision
def test_the_hooks_hear_of_a_conversation_in_its_order(revision: str) -> None:
    speaker = Speaker(revision)
    with started([sys.executable, str(EXAMPLE)]) as child:

        def ask(id: int, message: bytes) -> Any:
            child.send(message)
            return child.answer(id)

        if speaker.opening:
            ask(0, speaker.opening[0])
            child.send(speaker.opening[1])
        ask(1, speaker.request(1, "tools/list"))
        assert text(ask(2, speaker.call(2, "greet", name=" Ada "))) == ["hello Ada", "(greet)"]
        failed = ask(3, speaker.call(3, "fail"))
        assert failed["error"] == {"code": -31001, "message": "as was to be expected"}
        child.send(speaker.call(4, "wait"))
        child.says("waiting")
        child.send(speaker.cancel(4))
        child.says("CancelledError")
        assert text(ask(5, speaker.call(5, "greet", name="Bob"))) == ["hello Bob", "(greet)"]
        refused = ask(6, speaker.call(6, "greet", name="Eve"))
        assert refused["error"] == {"code": -31000, "message": "4 calls are enough"}
        child.close_stdin()
        assert child.ended() == 0
    opening = ["asked initialize", "success initialize"] if speaker.opening else []
    assert said(child.stderr) == [*opening, "opened", *(line for told in SAID for line in told)]

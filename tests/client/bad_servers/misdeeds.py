"""Faults of bad servers, for any transport. Also a program: `misdeeds.py NAME REVISION`.

It imports the standard library alone, so that the program starts fast.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["HANG_UP", "MISDEEDS", "Flood", "Half", "Misdeed", "Step", "steps_of"]

FLOOD = 3000
"""Number of notifications in a flood that ends."""
_HAVE_NO_HANDSHAKE = ("2026-07-28",)


class Half(bytes):
    """Sends the first half of a message, then nothing more."""


class Flood(bytes):
    """Sends this message repeatedly, without end."""


class HangUp:
    """Closes the connection. A program exits, too."""


HANG_UP = HangUp()

Step = bytes | HangUp
Misdeed = Callable[[Any, bytes], "list[Step] | None"]
"""Function of a request and its valid response; None means a valid response."""


# --- a server that behaves ---


def right(frame: Any, revision: str) -> bytes:
    """Return the valid response to a request."""
    method, per_request = frame["method"], revision in _HAVE_NO_HANDSHAKE
    results: dict[str, dict[str, Any]] = {
        "tools/call": {"content": [{"type": "text", "text": "right"}]},
        "tools/list": {"tools": []},
    }
    if per_request:
        hints = {"ttlMs": 0, "cacheScope": "private"}
        results["tools/list"].update(hints)
        results["server/discover"] = {
            "supportedVersions": [revision],
            "capabilities": {"tools": {}},
            **hints,
        }
    else:
        results["initialize"] = {
            "protocolVersion": revision,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bad", "version": "1"},
        }
    if method not in results:
        return failure(frame, -32601, "Method not found")
    result = results[method]
    return answer(frame, {"resultType": "complete", **result} if per_request else result)


def message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def answer(frame: Any, result: Any) -> bytes:
    return message(id=frame["id"], result=result)


def failure(frame: Any, code: int, text: str, data: Any = None) -> bytes:
    more = {} if data is None else {"data": data}
    return message(id=frame["id"], error={"code": code, "message": text, **more})


# --- servers that do not ---


def at(method: str, does: Misdeed) -> Misdeed:
    """Return a misdeed that applies to one method alone."""
    return lambda frame, right: does(frame, right) if frame["method"] == method else None


def says(*steps: Step) -> Misdeed:
    return lambda frame, right: list(steps)


def under_id(id: Callable[[Any], Any]) -> Misdeed:
    """Return a misdeed that responds under another id than the request's."""

    def does(frame: Any, right: bytes) -> list[Step]:
        return [message(**{**json.loads(right), "id": id(frame["id"])})]

    return does


def pages(frame: Any, right: bytes) -> list[Step]:
    """Respond with one more page after each page."""
    cursor = int(frame.get("params", {}).get("cursor", "0"))
    whole = json.loads(right)
    whole["result"]["nextCursor"] = str(cursor + 1)
    return [json.dumps(whole).encode()]


def claims(revision: str) -> Misdeed:
    """Return a misdeed that claims a protocol version that does not exist."""

    def does(frame: Any, right: bytes) -> list[Step] | None:
        if frame["method"] not in ("initialize", "server/discover"):
            return None
        return [right.replace(revision.encode(), b"2099-01-01")]

    return does


LOG = message(method="notifications/message", params={"level": "info", "data": "x"})
STRANGE = message(method="notifications/x", params={"a": [1]})
CALL = "tools/call"
ASKED = "server/discover"


def refuses(frame: Any, right: bytes) -> list[Step]:
    return [failure(frame, -32602, "Invalid request parameters")]


def refuses_what_it_lists(frame: Any, right: bytes) -> list[Step]:
    data = {"supported": ["2099-01-01"], "requested": "2026-07-28"}
    return [failure(frame, -32022, "Unsupported protocol version", data)]


MISDEEDS: dict[str, Callable[[str], Misdeed]] = {
    "exits when it is asked what it speaks": lambda _: at(ASKED, says(HANG_UP)),
    "exits whatever it is asked": lambda _: says(HANG_UP),
    "exits when its tool is called": lambda _: at(CALL, says(HANG_UP)),
    "is silent": lambda _: says(),
    "is silent when its tool is called": lambda _: at(CALL, says()),
    "answers everything with -32602": lambda _: refuses,
    "answers a call with -32602": lambda _: at(CALL, refuses),
    "breaks off after a notification": lambda _: at(CALL, says(LOG, HANG_UP)),
    "says half of the result, then nothing any more": lambda _: at(
        CALL, lambda frame, right: [Half(right)]
    ),
    "answers twice": lambda _: at(CALL, lambda frame, right: [right, right]),
    "answers under the same id as a string": lambda _: at(CALL, under_id(str)),
    "answers under null": lambda _: at(CALL, under_id(lambda id: None)),
    "answers a request that there was not": lambda _: at(CALL, under_id(lambda id: 4711)),
    "has one more page behind each": lambda _: at("tools/list", pages),
    "floods with notifications": lambda _: at(
        CALL, lambda frame, right: [*[LOG, STRANGE] * (FLOOD // 2), right]
    ),
    "floods with notifications for ever": lambda _: at(CALL, says(Flood(LOG))),
    "answers in a batch": lambda _: at(CALL, lambda frame, right: [b"[" + right + b"]"]),
    "claims a revision that there is not": claims,
    "refuses in a call the revision that it lists": lambda _: at(CALL, refuses_what_it_lists),
}


def steps_of(name: str, revision: str, frame: Any) -> list[Step]:
    """Return the steps with which this server responds to a request."""
    whole = right(frame, revision)
    found = MISDEEDS[name](revision)(frame, whole)
    return [whole] if found is None else found


def main(name: str, revision: str) -> None:
    """Serve stdin and stdout."""
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        if "id" not in frame or "method" not in frame:
            continue
        for step in steps_of(name, revision, frame):
            if isinstance(step, HangUp):
                os._exit(3)
            if isinstance(step, Half):
                out.write(step[: len(step) // 2])
                out.flush()
                os._exit(3)
            out.write(step + b"\n")
            out.flush()
            while isinstance(step, Flood):
                out.write(step + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

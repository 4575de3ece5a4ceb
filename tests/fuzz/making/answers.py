"""Fuzzed answers of a client to the requests of the server."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.fuzz.making.messages import ODD_IDS
from tests.fuzz.making.shapes import Shapes
from tests.fuzz.making.texts import as_json, bent
from tests.fuzz.values import is_object

__all__ = ["answer_to", "input_responses"]

RESULTS = {
    "elicitation/create": "ElicitResult",
    "sampling/createMessage": "CreateMessageResult",
    "roots/list": "ListRootsResult",
}
"""Type of the result of each request of a server."""

GOOD: dict[str, tuple[Any, ...]] = {
    "elicitation/create": (
        {"action": "accept", "content": {"word": "w", "number": 2, "kind": "b"}},
        {"action": "accept", "content": {"word": "far too long a word", "number": "x"}},
        {"action": "accept"},
        {"action": "decline"},
    ),
}


def result_for(method: str, shapes: Shapes, random: Random) -> Any:
    """Return a result for a request of the server: valid, or a step away."""
    name = RESULTS.get(method, "EmptyResult")
    known = shapes.has(name)
    if method in GOOD and (not known or random.random() < 0.6):
        found: Any = random.choice(GOOD[method])
    else:
        found = shapes.instance(name, random) if known else {}
    return shapes.changed(found, random) if random.random() < 0.5 else found


def answer_to(asked: dict[str, Any], shapes: Shapes, random: Random) -> bytes:
    """Return the bytes of an answer to a request of the server."""
    whole: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
    roll = random.random()
    if roll < 0.75:
        whole["result"] = result_for(str(asked.get("method")), shapes, random)
    elif roll < 0.9:
        code = random.choice((-1, -32602, -32042, 0, 2**40, "x", None, 1.5, "@1e999@"))
        whole["error"] = {"code": code, "message": random.choice(("no", 1, None)), "data": {}}
    elif roll < 0.95:
        whole["id"] = random.choice((*ODD_IDS, str(asked["id"]), 10**6))
        whole["result"] = {}
    if random.random() < 0.08:
        return bent(as_json(whole, random), random)
    return as_json(whole, random)


def input_responses(asked: Any, shapes: Shapes, random: Random) -> dict[str, Any]:
    """Return answers to the questions of an `input_required` result, by key."""
    found: dict[str, Any] = {}
    for key, question in asked.items() if is_object(asked) else ():
        method = question.get("method") if is_object(question) else ""
        if random.random() < 0.95:
            found[key] = result_for(str(method), shapes, random)
    if random.random() < 0.05:
        found["nobody"] = {}
    return found

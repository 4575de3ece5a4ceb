"""Frames of an extension are checked with its own types, and no more leniently."""

from __future__ import annotations

from typing import Any

import mcp_wire
from mcp_gen.compat.frame_check import FrameChecker
from mcp_gen.core.extensions.extensions import Extensions
from tests.extensions.shop import DECLARED, EXTENSION
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, decoded, encoded

WITH = Extensions([EXTENSION])


def wrong(
    revision: str, asked: bytes, result: Any = None, extensions: Extensions | None = WITH
) -> list[str]:
    """Return the violations in a request, and in its result if there is one."""
    checker = FrameChecker(mcp_wire.profile(revision), extensions)
    found = checker.check(asked, "client")
    if result is not None:
        frame = {"jsonrpc": "2.0", "id": decoded([asked])[0]["id"], "result": result}
        found += checker.check(encoded(frame), "server")
    return [str(one) for one in found]


def tracking(**params: Any) -> bytes:
    more = {"parcelId": "p1", "_meta": DECLARED, **params}
    return Speaker(PER_REQUEST).request(1, "parcels/track", more)


def test_a_request_and_its_answer_are_right() -> None:
    result = {"resultType": "complete", "state": "moving", "stops": [{"place": "Oslo"}]}
    assert wrong(PER_REQUEST, tracking(), result) == []


def test_without_the_extension_its_method_is_none() -> None:
    (found,) = wrong(PER_REQUEST, tracking(), extensions=None)
    assert "has no 'parcels/track'" in found


def test_a_key_that_the_extension_does_not_have_is_found() -> None:
    assert wrong(PER_REQUEST, tracking(weight=3)) == [
        f"$.params.weight: not a key at {PER_REQUEST}"
    ]


def test_a_result_of_another_shape_is_found() -> None:
    assert wrong(PER_REQUEST, tracking(), {"resultType": "complete", "state": "lost", "stops": []})


def test_what_a_call_may_also_be_answered_with_is_right() -> None:
    call = Speaker(PER_REQUEST).call(1, "order")
    parcel = {"resultType": "parcel", "parcelId": "p1"}
    assert wrong(PER_REQUEST, call, parcel) == []
    assert wrong(PER_REQUEST, call, {**parcel, "weight": 3})
    assert wrong(PER_REQUEST, call, parcel, extensions=None)


def test_what_a_handshake_says_is_held_to_its_revision() -> None:
    hello = decoded([Speaker(HANDSHAKE).initialize(1)])[0]
    hello["params"]["capabilities"] = {"experimental": {EXTENSION.identifier: {}}}
    assert wrong(HANDSHAKE, encoded(hello)) == []
    # A capability that the revision does not name is the client's own, and may be anything.
    hello["params"]["capabilities"] = {"extensions": {EXTENSION.identifier: {}}, "roots": {"x": 1}}
    (found,) = wrong(HANDSHAKE, encoded(hello))
    assert "$.params.capabilities.roots.x: not a key" in found

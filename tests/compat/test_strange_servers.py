"""A server may answer with anything: the examination goes on, and reports it."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest

import mcp_wire
from mcp_gen.compat.json_values import Json, is_array, is_object
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.server import ReferenceServer
from tests.compat.examining import examined
from tests.support.frames import PER_REQUEST

STRANGE: dict[str, Any] = {
    "null": None,
    "a number": 1.5,
    "a text": "strange",
    "a list": [[]],
    "an object": {"strange": {}},
    "objects": [{"name": {}, "uri": [], "role": {}}],
}
CASES = [
    (what, depth, revision)
    for (what, depth), revision in zip(
        [(what, depth) for what in STRANGE for depth in (1, 2, 3, 4, 5)],
        cycle(mcp_wire.REVISIONS[::-1]),
        strict=False,
    )
]


def replaced(value: Any, depth: int, by: Any) -> Any:
    """Return a JSON value in which all values at a depth are another one."""
    if depth == 0:
        return by
    if is_object(value):
        return {key: replaced(one, depth - 1, by) for key, one in value.items()}
    if is_array(value):
        return [replaced(one, depth - 1, by) for one in value]
    return value


@pytest.mark.parametrize(("what", "depth", "revision"), CASES)
async def test_a_server_whose_results_hold_strange_values_is_judged_all_the_same(
    what: str, depth: int, revision: str
) -> None:
    class StrangeServer(ReferenceServer):
        def result_frame(self, call: ReferenceCall, result: Json) -> Json:
            opening = self.profile.handshake or self.profile.discover
            assert opening is not None
            is_opening = call.method == opening.name
            made = result if is_opening else replaced(result, depth, STRANGE[what])
            return super().result_frame(call, made)

    report = await examined(StrangeServer, revision)
    assert report.openings[0].agreed == revision
    assert report.failed() != ()


class RefusesBriefly(ReferenceEndpoint):
    """Refuses a revision that it does not speak, with a status alone."""

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        header = mcp_wire.profile(PER_REQUEST).version_header
        if request.headers.get(str(header).lower(), PER_REQUEST) not in mcp_wire.REVISIONS:
            return EndpointResponse(status=400)
        return await super().respond(request)


async def test_a_refusal_without_an_error_is_told_by_the_rule_about_http_alone() -> None:
    id = "lifecycle:versions:unsupported"
    report = await examined(RefusesBriefly, PER_REQUEST, id, transport="http")
    (outcome,) = [one for one in report.outcomes if one.requirement == id]
    assert (outcome.verdict, outcome.why) == ("not tested", "it was refused without an error")

"""Members of other revisions: what a revision without a method has, it does not have either."""

import msgspec

from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.checks.judging import judge
from mcp_gen.compat.transcript import Transcript

REVISION = "2025-11-25"


def faults(*frames: tuple[str, dict[str, object]]) -> list[str]:
    """Return the places at which a server used another revision than the agreed one."""
    transcript = Transcript(REVISION, "stdio")
    for sender, frame in frames:
        data = msgspec.json.encode({"jsonrpc": "2.0", **frame})
        transcript.add("client" if sender == "client" else "server", "message", data)
    ((_, found),) = judge([checks()["lifecycle:operation:revision"]], [transcript])
    return [one.where for one in found.findings]


def test_an_unnamed_member_is_not_of_a_revision_without_the_method() -> None:
    form = {"type": "object", "properties": {}, "title": "Loan"}
    params = {"message": "Which title?", "requestedSchema": form}
    request = {"id": 1, "method": "elicitation/create", "params": params}
    assert faults(("server", request)) == []


def test_an_unnamed_member_of_an_answer_is_not_of_a_revision_without_the_method() -> None:
    request = {"id": 1, "method": "tasks/list", "params": {}}
    answer = {"id": 1, "result": {"tasks": [{"taskId": "7", "colour": "red"}]}}
    assert faults(("client", request), ("server", answer)) == []


def test_a_member_of_a_later_revision_is_found() -> None:
    request = {"id": 1, "method": "tools/list", "params": {}}
    answer = {"id": 1, "result": {"tools": [], "ttlMs": 5}}
    assert faults(("client", request), ("server", answer)) == ["$.result.ttlMs"]

"""Closed check: finds each key, value and frame that a revision does not define."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, Server
from mcp_gen.compat.frame_check import ClosedViolation, FrameChecker, Sender, differences
from mcp_gen.compat.recording import Frame, RecordingTransport
from mcp_gen.transports.memory import memory_pair
from tests.support.frames import (
    Speaker,
    each_lifecycle,
    every_revision,
    with_batches,
    with_handshake,
    without_batches,
)
from tests.support.requirement import requirement

without_handshake = pytest.mark.parametrize(
    "revision", [one for one in mcp_wire.REVISIONS if not mcp_wire.profile(one).handshake]
)
OLDEST = mcp_wire.REVISIONS[0]

TOOL = {"name": "add", "description": "Adds.", "inputSchema": {"type": "object", "x-any": {}}}


def of_revision(revision: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with the members that this revision requires in each."""
    if mcp_wire.profile(revision).lifecycle == "initialize":
        return result
    return {"resultType": "complete", **result}


def listed(revision: str, **tool: Any) -> bytes:
    """Return the response to request 1, a `tools/list`, with one tool."""
    result = of_revision(revision, {"tools": [{**TOOL, **tool}]})
    if mcp_wire.profile(revision).cache_hints:
        result |= {"ttlMs": 0, "cacheScope": "private"}
    return answer(1, result)


def called(revision: str, **result: Any) -> bytes:
    """Return the response to request 1, a `tools/call`."""
    content = [{"type": "text", "text": "3"}]
    return answer(1, of_revision(revision, {"content": content, **result}))


def answer(id: Any, result: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "result": result})


def frame(**members: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})


class Conversation:
    """Checks frames one after the other."""

    def __init__(self, revision: str) -> None:
        self.speaker = Speaker(revision)
        self._checker = FrameChecker(mcp_wire.profile(revision))

    def client(self, data: bytes) -> list[str]:
        return self._check(data, "client")

    def server(self, data: bytes) -> list[str]:
        return self._check(data, "server")

    def _check(self, data: bytes, sender: Sender) -> list[str]:
        return [str(one) for one in self._checker.check(data, sender)]


def listing(revision: str) -> Conversation:
    """Return a conversation in which `tools/list` was requested, with id 1."""
    talk = Conversation(revision)
    assert talk.client(talk.speaker.request(1, "tools/list")) == []
    return talk


def calling(revision: str) -> Conversation:
    """Return a conversation in which a tool was called, with id 1."""
    talk = Conversation(revision)
    assert talk.client(talk.speaker.call(1, "add", a=1, b=2)) == []
    return talk


# --- valid values ---


def quickstart(revision: str) -> Server:
    server = Server("good", "1.0.0", instructions="Adds.", revisions=[revision])

    @server.tool(title="Add", meta={"any": {"key": 1}})
    async def add(a: int, b: float) -> float:
        """Add two numbers."""
        return a + b

    return server


async def conversation(revision: str) -> list[Frame]:
    """Return all frames between our client and our server."""
    ours, theirs = memory_pair()
    recorded = RecordingTransport(ours)
    serving = asyncio.create_task(quickstart(revision).serve(theirs))
    async with Client("good", "1.0.0", title="Good") as client:
        session = await client.connect(recorded, revision=revision)
        await session.list_tools()
        await session.call_tool("add", {"a": 1, "b": 1.5}, meta={"any": ["thing"]})
    await serving
    return recorded.frames


@requirement(
    "base:frames:valid",
    "base:frames:named",
    "base:client:frames:valid",
    "base:client:frames:named",
)
@every_revision
async def test_a_conversation_of_our_client_and_our_server_is_right(revision: str) -> None:
    checker = FrameChecker(mcp_wire.profile(revision))
    found: list[ClosedViolation] = []
    for one in await conversation(revision):
        found += checker.check(one.data, one.sender)
    assert found == []


@every_revision
def test_a_list_of_tools_is_right(revision: str) -> None:
    assert listing(revision).server(listed(revision)) == []


@every_revision
def test_a_result_of_a_call_is_right(revision: str) -> None:
    assert calling(revision).server(called(revision, isError=False)) == []


@every_revision
def test_what_meta_arguments_and_json_schemas_hold_is_open(revision: str) -> None:
    talk = Conversation(revision)
    meta = {**talk.speaker.meta, "example.org/any": {"icons": [1, None]}}
    params = {"name": "add", "arguments": {"icons": {"a": [True, 1]}}, "_meta": meta}
    assert talk.client(frame(id=1, method="tools/call", params=params)) == []


@every_revision
def test_an_error_is_right(revision: str) -> None:
    error = {"code": -32602, "message": "unknown tool", "data": [1]}
    assert calling(revision).server(frame(id=1, error=error)) == []


@every_revision
def test_an_error_without_an_id_is_right(revision: str) -> None:
    error = {"code": -32700, "message": "not JSON"}
    assert Conversation(revision).server(frame(error=error)) == []


@every_revision
def test_ids_of_two_kinds_are_two_requests(revision: str) -> None:
    talk = listing(revision)
    assert talk.client(talk.speaker.request("1", "tools/list")) == []


@every_revision
def test_an_id_may_be_used_again_after_its_answer(revision: str) -> None:
    talk = listing(revision)
    talk.server(listed(revision))
    assert talk.client(talk.speaker.request(1, "tools/list")) == []


@with_handshake
def test_both_sides_may_use_the_same_id_at_once(revision: str) -> None:
    talk = listing(revision)
    assert talk.server(frame(id=1, method="ping")) == []


@with_batches
def test_a_batch_is_right_where_there_are_batches(revision: str) -> None:
    talk = Conversation(revision)
    asked = [talk.speaker.request(1, "tools/list"), talk.speaker.request(2, "ping")]
    assert talk.client(b"[" + b",".join(asked) + b"]") == []
    assert talk.server(b"[" + answer(2, {}) + b"," + listed(revision) + b"]") == []


# --- errors in parts of frames ---


def test_icons_on_a_tool_are_none_of_the_oldest_revision() -> None:
    found = listing(OLDEST).server(listed(OLDEST, icons=[{"src": "a"}]))
    assert found == [f"$.result.tools[0].icons: not a key at {OLDEST}"]


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS[3:])
def test_icons_on_a_tool_are_right_where_tools_have_icons(revision: str) -> None:
    assert listing(revision).server(listed(revision, icons=[{"src": "a"}])) == []


@every_revision
def test_a_key_that_no_revision_has_is_found(revision: str) -> None:
    found = listing(revision).server(listed(revision, colour="red"))
    assert found == [f"$.result.tools[0].colour: not a key at {revision}"]


@every_revision
def test_a_key_beside_the_arguments_of_a_call_is_found(revision: str) -> None:
    talk = Conversation(revision)
    params = {"name": "add", "argument": {}, "_meta": talk.speaker.meta}
    found = talk.client(frame(id=1, method="tools/call", params=params))
    assert found == [f"$.params.argument: not a key at {revision}"]


@every_revision
def test_a_boolean_that_became_an_integer_is_found(revision: str) -> None:
    (found,) = calling(revision).server(called(revision, isError=1))
    assert found.startswith(f"$.result: not valid at {revision}: ")
    assert "$.isError" in found


@every_revision
def test_a_required_key_that_is_missing_is_found(revision: str) -> None:
    talk = Conversation(revision)
    params = {"arguments": {}, "_meta": talk.speaker.meta}
    (found,) = talk.client(frame(id=1, method="tools/call", params=params))
    assert found.startswith(f"$.params: not valid at {revision}: ")
    assert "`name`" in found


@every_revision
def test_a_null_where_a_key_may_only_be_absent_is_found(revision: str) -> None:
    (found,) = listing(revision).server(listed(revision, annotations=None))
    assert found.startswith("$.result")


@every_revision
def test_an_unknown_kind_of_content_is_found(revision: str) -> None:
    content = [{"type": "hologram", "data": "AA=="}]
    (found,) = calling(revision).server(called(revision, content=content))
    assert found.startswith(f"$.result: not valid at {revision}: ")


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS[:2])
def test_a_kind_of_content_of_a_later_revision_is_found(revision: str) -> None:
    content = [{"type": "resource_link", "uri": "file:///a", "name": "a"}]
    (found,) = calling(revision).server(called(revision, content=content))
    assert found.startswith(f"$.result: not valid at {revision}: ")


@every_revision
def test_params_that_are_missing_are_found(revision: str) -> None:
    found = Conversation(revision).client(frame(id=1, method="tools/call"))
    assert found == ["$.params: missing"]


# --- errors of frames ---


@every_revision
def test_an_unknown_method_is_found(revision: str) -> None:
    found = Conversation(revision).client(frame(id=1, method="tools/destroy"))
    assert found == [f"$.method: {revision} has no 'tools/destroy'"]


@every_revision
@pytest.mark.parametrize("method", [1, None, [], {}])
def test_a_method_that_is_no_string_is_found(revision: str, method: Any) -> None:
    found = Conversation(revision).client(frame(method=method))
    assert found == [f"$.method: {revision} has no {method!r}"]


@with_handshake
def test_a_method_of_a_later_revision_is_found(revision: str) -> None:
    found = Conversation(revision).client(frame(id=1, method="server/discover"))
    assert found == [f"$.method: {revision} has no 'server/discover'"]


@every_revision
def test_an_answer_to_an_unknown_method_is_found(revision: str) -> None:
    talk = Conversation(revision)
    talk.client(frame(id=1, method="tools/destroy"))
    found = talk.server(answer(1, {}))
    assert found == ["$.result: answers a method that the revision lacks"]


@every_revision
def test_the_refusal_of_an_unknown_method_is_right(revision: str) -> None:
    talk = Conversation(revision)
    talk.client(frame(id=1, method="tools/destroy"))
    refusal = {"code": -32601, "message": "Method not found"}
    assert talk.server(frame(id=1, error=refusal)) == []


@without_handshake
def test_a_request_that_does_not_name_its_revision_is_found(revision: str) -> None:
    talk = Conversation(revision)
    (found,) = talk.client(frame(id=1, method="tools/call", params={"name": "add"}))
    assert found.startswith(f"$.params: not valid at {revision}: ")


@every_revision
def test_a_method_that_the_other_side_sends_is_found(revision: str) -> None:
    talk = Conversation(revision)
    assert "$.method: 'tools/list' is not for a server to send" in talk.server(
        talk.speaker.request(1, "tools/list")
    )


@every_revision
def test_a_request_without_an_id_is_found(revision: str) -> None:
    talk = Conversation(revision)
    data = msgspec.json.decode(talk.speaker.request(1, "tools/list"))
    del data["id"]
    assert talk.client(msgspec.json.encode(data)) == ["$.id: 'tools/list' is a request"]


@every_revision
def test_a_notification_with_an_id_is_found(revision: str) -> None:
    cancelled = {"requestId": 1}
    data = frame(id=1, method="notifications/cancelled", params=cancelled)
    found = Conversation(revision).client(data)
    assert found == ["$.id: 'notifications/cancelled' is a notification"]


@pytest.mark.parametrize("id", [None, 1.5, True, [1]], ids=str)
@each_lifecycle
def test_an_id_that_is_no_string_and_no_integer_is_found(revision: str, id: Any) -> None:
    talk = Conversation(revision)
    found = talk.client(talk.speaker.request(id, "tools/list"))
    assert found == ["$.id: expected a string or an integer"]


@every_revision
def test_an_id_of_a_request_that_is_still_open_is_found(revision: str) -> None:
    talk = listing(revision)
    found = talk.client(talk.speaker.request(1, "tools/list"))
    assert found == ["$.id: belongs to a request that is still open"]


@every_revision
def test_an_answer_that_nobody_asked_for_is_found(revision: str) -> None:
    assert Conversation(revision).server(listed(revision)) == ["$.id: answers no request"]


@every_revision
def test_a_second_answer_is_found(revision: str) -> None:
    talk = listing(revision)
    talk.server(listed(revision))
    assert talk.server(listed(revision)) == ["$.id: answers no request"]


@every_revision
def test_an_answer_to_ones_own_request_is_found(revision: str) -> None:
    assert listing(revision).client(listed(revision)) == ["$.id: answers no request"]


@every_revision
def test_an_answer_whose_id_is_of_another_kind_is_found(revision: str) -> None:
    found = listing(revision).server(listed(revision).replace(b'"id":1', b'"id":"1"'))
    assert found == ["$.id: answers no request"]


@every_revision
def test_an_error_that_nobody_asked_for_is_found(revision: str) -> None:
    found = Conversation(revision).server(frame(id=1, error={"code": 1, "message": ""}))
    assert found == ["$.id: answers no request"]


@pytest.mark.parametrize(
    "error",
    [{"code": 1}, {"message": "m"}, {"code": "1", "message": "m"}, {"code": True, "message": "m"}],
    ids=str,
)
@each_lifecycle
def test_an_error_without_its_code_and_message_is_found(revision: str, error: Any) -> None:
    found = calling(revision).server(frame(id=1, error=error))
    assert found == ["$.error: expected an integer `code` and a string `message`"]


@each_lifecycle
def test_a_member_that_errors_do_not_have_is_found(revision: str) -> None:
    found = calling(revision).server(frame(id=1, error={"code": 1, "message": "", "stack": ""}))
    assert found == ["$.error.stack: no member of an error"]


@each_lifecycle
def test_an_error_that_is_no_object_is_found(revision: str) -> None:
    assert calling(revision).server(frame(id=1, error="bad")) == ["$.error: expected an object"]


@each_lifecycle
def test_a_member_that_frames_do_not_have_is_found(revision: str) -> None:
    talk = Conversation(revision)
    data = msgspec.json.decode(talk.speaker.request(1, "tools/list"))
    found = talk.client(msgspec.json.encode({**data, "timeout": 1}))
    assert found == ["$.timeout: no member of this kind of frame"]


@each_lifecycle
def test_a_frame_with_a_result_and_an_error_is_found(revision: str) -> None:
    data = msgspec.json.decode(called(revision))
    both = msgspec.json.encode({**data, "error": {"code": 1, "message": "m"}})
    assert calling(revision).server(both) == ["$.error: no member of this kind of frame"]


@pytest.mark.parametrize("version", ["1.0", 2.0, None], ids=str)
@each_lifecycle
def test_another_version_of_json_rpc_is_found(revision: str, version: Any) -> None:
    talk = Conversation(revision)
    data = msgspec.json.decode(talk.speaker.request(1, "tools/list"))
    found = talk.client(msgspec.json.encode({**data, "jsonrpc": version}))
    assert found == ['$.jsonrpc: expected "2.0"']


@without_batches
def test_a_batch_is_found_where_there_are_none(revision: str) -> None:
    talk = Conversation(revision)
    found = talk.client(b"[" + talk.speaker.request(1, "tools/list") + b"]")
    assert found == [f"$: {revision} has no batches"]


@with_batches
def test_what_is_wrong_in_a_batch_is_found_with_its_place(revision: str) -> None:
    talk = Conversation(revision)
    asked = [talk.speaker.request(1, "ping"), talk.speaker.request(2, "tools/destroy")]
    found = talk.client(b"[" + b",".join(asked) + b"]")
    assert found == [f"$[1].method: {revision} has no 'tools/destroy'"]


@pytest.mark.parametrize("data", [b"{", b"\xff", b'{"a":"\xff"}', b""], ids=str)
@each_lifecycle
def test_what_is_no_json_is_found(revision: str, data: bytes) -> None:
    (found,) = Conversation(revision).server(data)
    assert found.startswith("$: not JSON")


@pytest.mark.parametrize("data", [b"1", b'"text"', b"null"], ids=str)
@each_lifecycle
def test_what_is_no_object_is_found(revision: str, data: bytes) -> None:
    assert Conversation(revision).server(data) == ["$: expected an object"]


# --- differences of two JSON values ---


@pytest.mark.parametrize(
    ("given", "again", "found"),
    [
        (1, 1.0, []),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
        (True, 1, [("$", "True became 1")]),
        (0, False, [("$", "0 became False")]),
        ({"a": 1}, {}, [("$.a", "not a key")]),
        ({}, {"a": 1}, [("$.a", "missing")]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [("$.a[1]", "2 became 3")]),
        ([1], [1, 2], [("$", "[1] became [1, 2]")]),
        ({}, [], [("$", "{} became []")]),
    ],
)
def test_where_two_values_differ_is_told(
    given: Any, again: Any, found: list[tuple[str, str]]
) -> None:
    assert list(differences(given, again, "$")) == found

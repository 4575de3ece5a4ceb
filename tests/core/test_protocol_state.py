"""ProtocolState: bytes in, events out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

import mcp_wire
from mcp_gen.core import envelope, protocol_state
from mcp_gen.core.envelope import TooComplex
from mcp_gen.core.errors import InvalidRequest, McpError, ParseError
from mcp_gen.core.protocol_state import (
    Batch,
    ErrorReceived,
    Event,
    MessageRejected,
    NotificationReceived,
    ProtocolState,
    RequestReceived,
    ResponseReceived,
)
from tests.support.frames import HANDSHAKE, every_revision, with_batches, without_batches

NOTHING = Raw(b"")


def frame(**members: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})


def batch(*entries: bytes) -> bytes:
    return b"[" + b",".join(entries) + b"]"


def at(revision: str) -> ProtocolState[str]:
    return ProtocolState(mcp_wire.profile(revision))


def only(events: list[Event]) -> Any:
    (event,) = events
    return event


def refusal(event: Event) -> tuple[type, Any]:
    """Return the error of a rejected message, and the error frame for the peer."""
    assert isinstance(event, MessageRejected)
    return type(event.error), event.answer and msgspec.json.decode(event.answer)


@every_revision
def test_a_request_is_an_event(revision: str) -> None:
    events = at(revision).receive(frame(id=1, method="m", params={"a": 1}))
    assert events == [RequestReceived(1, "m", Raw(b'{"a":1}'))]


@every_revision
def test_a_notification_is_an_event(revision: str) -> None:
    assert at(revision).receive(frame(method="m")) == [NotificationReceived("m", NOTHING)]


@every_revision
def test_an_answer_comes_with_what_its_request_was_opened_with(revision: str) -> None:
    connection = at(revision)
    first, second = connection.open_request("first"), connection.open_request("second")
    assert connection.receive(frame(id=second, result={})) == [
        ResponseReceived("second", Raw(b"{}"))
    ]
    assert connection.receive(frame(id=first, result={})) == [ResponseReceived("first", Raw(b"{}"))]


@every_revision
def test_an_error_comes_with_what_its_request_was_opened_with(revision: str) -> None:
    connection = at(revision)
    id = connection.open_request("asked")
    event = only(connection.receive(frame(id=id, error={"code": 5, "message": "no"})))
    assert isinstance(event, ErrorReceived)
    assert isinstance(event.error, McpError)
    assert (event.waiter, event.error.code) == ("asked", 5)


@every_revision
@pytest.mark.parametrize(
    "answer",
    [
        {"id": 99, "result": {}},
        {"id": "1", "result": {}},
        {"id": True, "result": {}},
        {"id": 99, "error": {"code": 1, "message": "m"}},
        {"id": None, "error": {"code": 1, "message": "m"}},
        {"error": {"code": 1, "message": "m"}},
        {"result": {}},
    ],
)
def test_an_answer_to_no_open_request_is_refused(revision: str, answer: Any) -> None:
    connection = at(revision)
    connection.open_request("asked")
    assert isinstance(only(connection.receive(frame(**answer))), MessageRejected)


@every_revision
@pytest.mark.parametrize("id", [99, "1", None])
def test_an_answer_to_no_open_request_is_never_answered(revision: str, id: Any) -> None:
    connection = at(revision)
    event = only(connection.receive(frame(id=id, result={})))
    assert refusal(event) == (InvalidRequest, None)


BROKEN_ANSWERS = [
    {"jsonrpc": "1.0", "result": {}},
    {"jsonrpc": "2.0"},
    {"result": {}},
]


@pytest.mark.parametrize("broken", BROKEN_ANSWERS)
def test_a_broken_answer_with_the_id_of_an_open_request_fails_it(broken: dict[str, Any]) -> None:
    connection = at(mcp_wire.LATEST)
    id = connection.open_request("asked")
    event = only(connection.receive(msgspec.json.encode({"id": id, **broken})))
    assert isinstance(event, ErrorReceived)
    assert (event.waiter, type(event.error).__bases__) == ("asked", (InvalidRequest,))


def test_a_broken_answer_to_no_open_request_is_never_answered() -> None:
    event = only(at(mcp_wire.LATEST).receive(b'{"jsonrpc":"1.0","id":7,"result":{}}'))
    assert isinstance(event, MessageRejected)
    assert event.answer is None


def test_a_broken_request_with_the_id_of_an_open_request_leaves_that_open() -> None:
    connection = at(mcp_wire.LATEST)
    id = connection.open_request("asked")
    broken = msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": 5})
    assert isinstance(only(connection.receive(broken)), MessageRejected)
    assert connection.receive(frame(id=id, result={})) == [ResponseReceived("asked", Raw(b"{}"))]


def test_a_second_answer_to_one_request_is_refused() -> None:
    connection = at(mcp_wire.LATEST)
    id = connection.open_request("asked")
    connection.receive(frame(id=id, result={}))
    assert refusal(only(connection.receive(frame(id=id, result={})))) == (InvalidRequest, None)


def test_a_forgotten_request_takes_no_answer() -> None:
    connection = at(mcp_wire.LATEST)
    id = connection.open_request("asked")
    connection.forget_request(id)
    assert isinstance(only(connection.receive(frame(id=id, result={}))), MessageRejected)


def test_what_is_abandoned_is_everything_that_is_waited_for() -> None:
    connection = at(mcp_wire.LATEST)
    answered = connection.open_request("answered")
    connection.open_request("one")
    connection.open_request("two")
    connection.receive(frame(id=answered, result={}))
    assert connection.abandon() == ["one", "two"]
    assert connection.abandon() == []


def test_no_two_open_requests_have_one_id() -> None:
    connection = at(mcp_wire.LATEST)
    assert len({connection.open_request("asked") for _ in range(100)}) == 100


@every_revision
@pytest.mark.parametrize("id", [0, 1, "1", ""])
def test_the_id_of_a_request_that_is_open_is_refused_with_that_id(revision: str, id: Any) -> None:
    connection = at(revision)
    connection.in_flight[id] = "a task"
    error, answer = refusal(only(connection.receive(frame(id=id, method="m"))))
    assert (error, answer["id"], answer["error"]["code"]) == (InvalidRequest, id, -32600)


@every_revision
def test_ids_of_two_json_types_are_two_ids(revision: str) -> None:
    connection = at(revision)
    connection.in_flight[1] = "a task"
    assert connection.receive(frame(id="1", method="m")) == [RequestReceived("1", "m", NOTHING)]


@every_revision
def test_what_is_not_json_is_answered_without_an_id(revision: str) -> None:
    error, answer = refusal(only(at(revision).receive(b"nonsense")))
    assert error is ParseError
    assert (answer.keys(), answer["error"]["code"]) == ({"jsonrpc", "error"}, -32700)


@every_revision
def test_what_is_no_frame_is_answered_with_its_id(revision: str) -> None:
    error, answer = refusal(only(at(revision).receive(frame(id=7, method=1))))
    assert error is InvalidRequest
    assert (answer["id"], answer["error"]["code"]) == (7, -32600)


@every_revision
@pytest.mark.parametrize(
    "message",
    [
        b"[" * 100_000 + b"]" * 100_000,
        b"[" * 200_000,
        b'{"a":' * 40_000 + b"1" + b"}" * 40_000,
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b"[" * 200_000,
        b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"jsonrpc":"2.0","id":1,"method":"m","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_deep_nesting_is_refused(revision: str, message: bytes) -> None:
    assert isinstance(only(at(revision).receive(message)), MessageRejected)


@every_revision
@pytest.mark.parametrize(
    "message",
    [b"\xff", b"[\xff]", b'{"\xff":1}', b'{"id":"\xff"}', b'{"jsonrpc":"2.0","method":"\xff"}'],
)
def test_broken_utf_8_is_refused(revision: str, message: bytes) -> None:
    assert isinstance(at(revision).receive(message)[0], MessageRejected)


# --- batches ---


@without_batches
def test_an_array_is_refused_without_an_id_where_there_are_no_batches(revision: str) -> None:
    connection = at(revision)
    error, answer = refusal(only(connection.receive(batch(frame(id=1, method="m")))))
    assert error is InvalidRequest
    assert answer.keys() == {"jsonrpc", "error"}
    assert revision in answer["error"]["message"]


def test_an_array_is_refused_before_a_revision_is_agreed_on() -> None:
    connection: ProtocolState[str] = ProtocolState()
    assert refusal(only(connection.receive(batch(frame(id=1, method="m")))))[0] is InvalidRequest


@every_revision
def test_an_empty_array_is_refused_without_an_id(revision: str) -> None:
    error, answer = refusal(only(at(revision).receive(b" [ ] ")))
    assert (error, answer.keys()) == (InvalidRequest, {"jsonrpc", "error"})


@with_batches
def test_the_entries_of_a_batch_are_events_in_their_order(revision: str) -> None:
    connection = at(revision)
    asked = connection.open_request("asked")
    events = connection.receive(
        batch(
            frame(id=1, method="a"),
            frame(method="b"),
            b"17",
            frame(id=asked, result={}),
            frame(id="2", method="c"),
        )
    )
    kinds = [type(event) for event in events]
    assert kinds == [
        RequestReceived,
        NotificationReceived,
        MessageRejected,
        ResponseReceived,
        RequestReceived,
    ]


@with_batches
def test_a_batch_of_notifications_and_answers_is_answered_with_nothing(revision: str) -> None:
    connection = at(revision)
    asked = connection.open_request("asked")
    events = connection.receive(batch(frame(method="a"), frame(id=asked, result={})))
    assert events == [NotificationReceived("a", NOTHING), ResponseReceived("asked", Raw(b"{}"))]


@with_batches
def test_a_batch_is_answered_when_its_last_answer_is_there(revision: str) -> None:
    one, _, two = at(revision).receive(
        batch(frame(id=1, method="a"), frame(method="b"), frame(id=2, method="c"))
    )
    assert isinstance(one, RequestReceived)
    assert isinstance(two, RequestReceived)
    assert one.batch is not None
    assert one.batch is two.batch
    assert one.batch.add(b"second") is None
    assert one.batch.add(b"first") == b"[second,first]"


@with_batches
def test_what_is_no_frame_has_its_place_in_the_answer_to_a_batch(revision: str) -> None:
    wrong, right = at(revision).receive(batch(b"17", frame(id=1, method="a")))
    assert isinstance(wrong, MessageRejected)
    assert isinstance(right, RequestReceived)
    assert wrong.batch is right.batch
    assert wrong.batch is not None
    assert wrong.batch.add(wrong.answer) is None
    assert wrong.batch.add(b"right") == b"[" + (wrong.answer or b"") + b",right]"


@with_batches
def test_an_answer_to_nothing_does_not_hold_up_its_batch(revision: str) -> None:
    nobodys, asked = at(revision).receive(batch(frame(id=99, result={}), frame(id=1, method="a")))
    assert isinstance(nobodys, MessageRejected)
    assert isinstance(asked, RequestReceived)
    assert nobodys.answer is None
    assert nobodys.batch is asked.batch
    assert asked.batch is not None
    assert asked.batch.add(None) is None
    assert asked.batch.add(b"answer") == b"[answer]"


@with_batches
def test_one_id_twice_in_a_batch_is_refused_the_second_time(revision: str) -> None:
    first, second = at(revision).receive(batch(frame(id=1, method="a"), frame(id=1, method="b")))
    assert isinstance(first, RequestReceived)
    error, answer = refusal(second)
    assert (error, answer["id"]) == (InvalidRequest, 1)


@with_batches
def test_a_batch_inside_a_batch_is_refused(revision: str) -> None:
    (event,) = at(revision).receive(batch(batch(frame(id=1, method="a"))))
    assert refusal(event)[0] is InvalidRequest


def test_a_batch_whose_entries_get_no_answer_is_answered_with_nothing() -> None:
    answers = Batch()
    answers.open = 2
    assert answers.add(None) is None
    assert answers.add(None) is None


# --- too many values ---

FEW = 10
"""Limit of the connection, in keys and items."""
MANY = list(range(20))


def limited(revision: str) -> ProtocolState[str]:
    return ProtocolState(mcp_wire.profile(revision), FEW)


@every_revision
def test_a_request_with_too_many_values_is_rejected_with_its_id(revision: str) -> None:
    error, answer = refusal(only(limited(revision).receive(frame(id="a", method="m", params=MANY))))
    assert error is TooComplex
    assert (answer["id"], answer["error"]["code"]) == ("a", InvalidRequest.code)


@every_revision
def test_a_notification_with_too_many_values_is_rejected_without_an_answer(revision: str) -> None:
    event = only(limited(revision).receive(frame(method="m", params=MANY)))
    assert refusal(event) == (TooComplex, None)


@every_revision
@pytest.mark.parametrize(
    "said", [{"result": MANY}, {"error": {"code": 1, "message": "", "data": MANY}}]
)
def test_a_response_with_too_many_values_fails_the_request_that_it_belongs_to(
    revision: str, said: dict[str, Any]
) -> None:
    connection = limited(revision)
    event = only(connection.receive(frame(id=connection.open_request("asked"), **said)))
    assert isinstance(event, ErrorReceived)
    assert (event.waiter, type(event.error)) == ("asked", TooComplex)


@with_batches
def test_each_request_of_a_batch_with_too_many_values_is_rejected_with_its_id(
    revision: str,
) -> None:
    connection, asked = limited(revision), [frame(id=n, method="m", params=[n]) for n in range(5)]
    rejected = [refusal(event) for event in connection.receive(batch(*asked, frame(method="m")))]
    assert [answer and answer["id"] for _, answer in rejected] == [0, 1, 2, 3, 4, None]
    assert {error for error, _ in rejected} == {TooComplex}


@with_batches
def test_a_batch_within_the_limit_is_taken(revision: str) -> None:
    events = limited(revision).receive(batch(frame(id=1, method="m"), frame(id=2, method="m")))
    assert [type(event) for event in events] == [RequestReceived, RequestReceived]


@every_revision
def test_commas_in_strings_are_no_values(revision: str) -> None:
    event = only(limited(revision).receive(frame(id=1, method="m", params={"a": "," * 1000})))
    assert isinstance(event, RequestReceived)


def test_the_error_for_an_answer_to_nothing_quotes_a_part_of_a_long_id() -> None:
    event = only(limited(HANDSHAKE).receive(frame(id="a" * 1_000_000, result={})))
    assert isinstance(event, MessageRejected)
    assert len(str(event.error)) < 200


def test_responses_that_do_not_fit_into_their_batch_are_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol_state, "MAX_BATCH_BYTES", 1_000)
    asked, whole = Batch(), None
    asked.open = 4
    for id in (1, "two", 3, 4):
        whole = asked.add(envelope.response(id, {"a": "x" * (10 if id == 3 else 600)}))
    assert whole is not None
    answers = msgspec.json.decode(whole)
    assert [(one["id"], "error" in one) for one in answers] == [
        (1, False),
        ("two", True),
        (3, False),
        (4, True),
    ]

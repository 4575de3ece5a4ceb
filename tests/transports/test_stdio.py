"""Server on stdin and stdout, as a real process with real pipes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path
from typing import IO

import pytest

import mcp_wire
from mcp_gen import InvalidParams, InvalidRequest, MethodNotFound, ParseError
from tests.support.frames import (
    HANDSHAKE,
    PER_REQUEST,
    Speaker,
    decoded,
    each_lifecycle,
    with_batches,
    with_handshake,
    without_batches,
)
from tests.support.malformed import Malformed, each_malformed
from tests.support.processes.child import WAIT_S, Ran, command, feed, feed_fresh, running

PEER = Speaker(PER_REQUEST)
CAPABILITIES = PEER.profile.client_capabilities_key


@each_malformed([HANDSHAKE, PER_REQUEST])
def test_a_malformed_message_gets_its_error_and_the_next_request_is_served(
    revision: str, malformed: Malformed
) -> None:
    speaker = Speaker(revision)
    ran = feed([*speaker.opening, malformed.make(speaker), speaker.call("after", "echo", text="a")])
    answers = [frame for frame in ran.frames if frame.get("id") not in (0, "after")]
    assert malformed.is_answered_by(answers), answers
    assert "result" in ran.answer("after")


# --- batches ---


@without_batches
def test_a_batch_is_refused_where_the_revision_has_none(revision: str) -> None:
    speaker = Speaker(revision)
    batch = b"[" + speaker.call(1, "echo", text="a") + b"]"
    ran = feed([*speaker.opening, batch, speaker.call("after", "echo", text="a")])
    (refusal,) = [frame for frame in ran.frames if frame.get("id") not in (0, "after")]
    assert refusal["error"]["code"] == InvalidRequest.code
    assert "id" not in refusal
    assert "result" in ran.answer("after")


@with_batches
def test_a_batch_is_answered_with_one_array(revision: str) -> None:
    speaker = Speaker(revision)
    entries = [
        speaker.call("one", "echo", text="a"),
        speaker.initialized,
        b"17",
        speaker.request("two", "no/such"),
    ]
    ran = feed([*speaker.opening, b"[" + b",".join(entries) + b"]"])
    _, answers = ran.frames
    by_id = {frame.get("id"): frame for frame in answers}
    assert len(answers) == 3
    assert "result" in by_id["one"]
    assert by_id["two"]["error"]["code"] == MethodNotFound.code
    assert by_id[None]["error"]["code"] == InvalidRequest.code


# --- lines ---


@each_lifecycle
def test_a_last_line_without_its_newline_is_answered(revision: str) -> None:
    speaker = Speaker(revision)
    ran = feed(b"\n".join([*speaker.opening, speaker.call(1, "echo", text="a")]))
    assert "result" in ran.answer(1)


@each_lifecycle
def test_a_line_cut_by_the_end_of_input_is_a_parse_error(revision: str) -> None:
    speaker = Speaker(revision)
    ran = feed(b"\n".join([*speaker.opening, speaker.call(1, "echo", text="a")[:-9]]))
    assert ran.frames[-1]["error"]["code"] == ParseError.code
    assert ran.status == 0


@pytest.mark.parametrize("end", [b"\n", b""], ids=["and goes on", "and ends"])
def test_an_over_long_line_is_refused_without_an_id(end: bytes) -> None:
    long = PEER.call(1, "echo", text="a" * 2000) + end
    ran = feed(long, transport={"max_message_bytes": 1000})
    (refusal,) = ran.frames
    assert refusal["error"]["code"] == InvalidRequest.code
    assert "id" not in refusal


def test_the_line_after_an_over_long_one_is_served() -> None:
    # Longer than a pipe is deep: it comes in many pieces.
    long = PEER.call(1, "echo", text="a" * 1_000_000)
    ran = feed([long, PEER.call(2, "echo", text="a")], transport={"max_message_bytes": 1000})
    assert len(ran.frames) == 2
    assert "result" in ran.answer(2)


@pytest.mark.parametrize("blank", [b"", b" ", b"\t \r", b"\r"])
def test_a_blank_line_is_passed_over(blank: bytes) -> None:
    ran = feed([blank, PEER.call(1, "echo", text="a"), blank, blank])
    assert [frame["id"] for frame in ran.frames] == [1]


@each_lifecycle
def test_lines_may_end_in_carriage_return_and_newline(revision: str) -> None:
    speaker = Speaker(revision)
    lines = [*speaker.opening, speaker.call(1, "echo", text="a")]
    ran = feed(b"".join(line + b"\r\n" for line in lines))
    assert "result" in ran.answer(1)


@each_lifecycle
def test_a_message_in_many_pieces_is_one_message(revision: str) -> None:
    speaker = Speaker(revision)
    data = b"".join(line + b"\n" for line in [*speaker.opening, speaker.call(1, "echo", text="é")])
    with running() as server:
        for place in range(0, len(data), 7):
            server.write(data[place : place + 7])
        assert server.answer(1)["result"]["content"] == [{"type": "text", "text": "é"}]


@each_lifecycle
def test_many_messages_in_one_write_are_all_answered(revision: str) -> None:
    speaker = Speaker(revision)
    calls = [speaker.call(f"call {i}", "echo", text="a") for i in range(500)]
    ran = feed([*speaker.opening, *calls])
    assert {f["id"] for f in ran.frames} - {0} == {f"call {i}" for i in range(500)}


def test_an_answer_larger_than_a_pipe_arrives_whole() -> None:
    text = "a" * 1_000_000
    ran = feed([PEER.call(1, "echo", text=text)])
    assert ran.answer(1)["result"]["content"][0]["text"] == text


# --- stdin and stdout are the protocol's alone ---


@pytest.mark.parametrize("way", ["print", "flushed print", "descriptor", "child"])
def test_what_a_tool_writes_to_stdout_goes_to_stderr(way: str) -> None:
    ran = feed_fresh([PEER.call(1, "noise", way=way)])
    assert [frame["id"] for frame in ran.frames] == [1]
    assert "noise" in ran.stderr


@pytest.mark.parametrize("way", ["input", "child"])
def test_a_tool_that_reads_stdin_gets_none_of_the_protocols_input(way: str) -> None:
    with running() as server:
        server.send(PEER.call(1, "ask", way=way), PEER.call(2, "echo", text="a"))
        answers = {frame["id"]: frame["result"] for frame in (server.next(), server.next())}
        assert answers[1]["content"] == [{"type": "text", "text": ""}]
        assert answers[2]["content"] == [{"type": "text", "text": "a"}]


def test_stdin_and_stdout_may_be_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(PEER.call(1, "echo", text="a") + b"\n")
    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        subprocess.run(command({}), stdin=stdin, stdout=stdout, check=True, timeout=WAIT_S)
    (frame,) = decoded((tmp_path / "out").read_bytes().splitlines())
    assert frame["result"]["content"] == [{"type": "text", "text": "a"}]


def test_a_file_as_stdin_that_is_larger_than_a_read_is_answered_whole(tmp_path: Path) -> None:
    lines = [PEER.call(i, "echo", text="a" * 5000) for i in range(200)]
    (tmp_path / "in").write_bytes(b"\n".join(lines))
    with (tmp_path / "in").open("rb") as stdin:
        ran = subprocess.run(
            command({}), stdin=stdin, capture_output=True, check=True, timeout=WAIT_S
        )
    assert {frame["id"] for frame in decoded(ran.stdout.splitlines())} == set(range(200))
    assert ran.stderr == b""


# --- the end ---


def test_a_server_whose_input_has_ended_before_it_began_exits_cleanly() -> None:
    assert feed_fresh(b"") == Ran(b"", "", 0)


@each_lifecycle
def test_requests_in_flight_when_the_input_ends_are_answered(revision: str, tmp_path: Path) -> None:
    speaker, fifo = Speaker(revision), tmp_path / "fifo"
    os.mkfifo(fifo)
    with running() as server:
        server.send(*speaker.opening, speaker.call(1, "read_file", path=str(fifo)))
        server.close_stdin()
        fifo.write_text("late")
        assert server.answer(1)["result"]["content"][0]["text"] == "late"
        assert server.ended() == 0


def test_a_keyboard_interrupt_in_a_tool_ends_the_server() -> None:
    with running() as server:
        server.send(PEER.call(1, "interrupt"))
        assert server.ended() == 0
    assert "Traceback" not in server.stderr


def test_a_client_that_reads_no_answers_any_more_does_not_break_the_servers_end() -> None:
    with subprocess.Popen(
        command({}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        calls = [PEER.call(i, "echo", text="a" * 1000) + b"\n" for i in range(200)]
        _, stderr = process.communicate(b"".join(calls), timeout=WAIT_S)
    assert (process.returncode, b"Traceback" in stderr) == (0, False)


def test_of_a_client_that_reads_no_answers_no_more_requests_are_read_until_it_does() -> None:
    call = PEER.call(1, "echo", text="a" * 100_000) + b"\n"
    most_bytes, pipes = 200 * len(call), subprocess.PIPE
    with subprocess.Popen(command({}), stdin=pipes, stdout=pipes, stderr=pipes) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            os.write(process.stdin.fileno(), PEER.call(0, "echo", text="a") + b"\n")
            assert select.select([process.stdout], [], [], WAIT_S)[0]
            process.stdout.readline()
            os.set_blocking(process.stdin.fileno(), False)
            written = 0
            while written < most_bytes and _takes_more(process.stdin):
                written += os.write(process.stdin.fileno(), call[written % len(call) :])
            os.set_blocking(process.stdin.fileno(), True)
            rest = call[written % len(call) :]
            stdout, stderr = process.communicate(rest, timeout=WAIT_S)
        finally:
            process.kill()
    assert written < most_bytes
    assert len(stdout.splitlines()) == (written + len(rest)) // len(call)
    assert stderr == b""


def _takes_more(stdin: IO[bytes]) -> bool:
    """Return True if the pipe takes bytes; False if it has not for so long that nobody reads."""
    return bool(select.select([], [stdin], [], 0.5)[1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_without_a_traceback(number: signal.Signals) -> None:
    with running() as server:
        server.send(PEER.call(1, "wait_for_ever"))
        server.says("waiting")
        server.signal(number)
        assert server.ended() in (0, -number)
    assert "Traceback" not in server.stderr


# --- opening with a handshake ---


@with_handshake
def test_the_handshake_may_be_sent_together_with_what_follows(revision: str) -> None:
    speaker = Speaker(revision)
    ran = feed([speaker.initialize(0), speaker.initialized, speaker.request(1, "tools/list")])
    assert ran.answer(0)["result"]["protocolVersion"] == revision
    assert "tools" in ran.answer(1)["result"]


@with_handshake
def test_a_request_before_the_handshake_is_refused(revision: str) -> None:
    ran = feed([Speaker(revision).request(1, "tools/list")], server={"revisions": [revision]})
    assert ran.answer(1)["error"]["code"] == InvalidRequest.code


@with_handshake
def test_a_ping_before_the_handshake_is_answered(revision: str) -> None:
    ran = feed([Speaker(revision).request(1, "ping")], server={"revisions": [revision]})
    assert ran.answer(1)["result"] == {}


@with_handshake
def test_a_second_handshake_is_refused(revision: str) -> None:
    speaker = Speaker(revision)
    ran = feed([*speaker.opening, speaker.initialize(1), speaker.request(2, "ping")])
    assert ran.answer(1)["error"]["code"] == InvalidRequest.code
    assert ran.answer(2)["result"] == {}


@pytest.mark.parametrize("asked", ["1999-12-31", "", "DRAFT", PER_REQUEST])
def test_a_handshake_for_what_it_cannot_give_is_answered_with_the_newest_it_can(asked: str) -> None:
    ran = feed([Speaker(HANDSHAKE).initialize(0, asked)])
    assert ran.answer(0)["result"]["protocolVersion"] == HANDSHAKE


@with_handshake
def test_a_server_of_one_revision_offers_it_to_whatever_handshake(revision: str) -> None:
    other = next(one for one in mcp_wire.REVISIONS if one != revision)
    ran = feed([Speaker(revision).initialize(0, other)], server={"revisions": [revision]})
    assert ran.answer(0)["result"]["protocolVersion"] == revision


def test_a_handshake_with_a_server_that_has_none_is_told_what_it_speaks() -> None:
    ran = feed([Speaker(HANDSHAKE).initialize(0)], server={"revisions": [PER_REQUEST]})
    error = ran.answer(0)["error"]
    assert PER_REQUEST in error["message"]
    assert error["data"]["supported"] == [PER_REQUEST]


# --- the revision of every request ---


def test_requests_with_and_without_a_handshake_may_be_mixed() -> None:
    old = Speaker(HANDSHAKE)
    ran = feed(
        [
            PEER.call(1, "echo", text="a"),
            *old.opening,
            PEER.call(2, "echo", text="a"),
            old.call(3, "echo", text="a"),
            PEER.request(4, "server/discover"),
        ]
    )
    kinds = {frame["id"]: frame["result"].get("resultType") for frame in ran.frames}
    assert kinds == {0: None, 1: "complete", 2: "complete", 3: None, 4: "complete"}


@pytest.mark.parametrize("method", ["ping", "initialize", "logging/setLevel"])
def test_a_method_that_the_named_revision_lacks_is_unknown_even_after_a_handshake(
    method: str,
) -> None:
    ran = feed([*Speaker(HANDSHAKE).opening, PEER.request(1, method)])
    assert ran.answer(1)["error"]["code"] == MethodNotFound.code


@pytest.mark.parametrize("asked", ["1999-12-31", HANDSHAKE])
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "no/such"])
def test_a_request_for_a_revision_that_is_not_spoken_is_told_which_are(
    asked: str, method: str
) -> None:
    message = PEER.request(1, method).replace(PER_REQUEST.encode(), asked.encode())
    error = feed([message]).answer(1)["error"]
    assert error["code"] == PEER.profile.errors.unsupported_protocol_version
    assert error["data"] == {"supported": [PER_REQUEST], "requested": asked}


@pytest.mark.parametrize("key", [PEER.profile.protocol_version_key, CAPABILITIES])
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "no/such"])
def test_a_request_without_a_key_that_it_must_have_is_told_which(key: str, method: str) -> None:
    message = PEER.request(1, method).replace(key.encode(), b"another/key")
    error = feed([message], server={"revisions": [PER_REQUEST]}).answer(1)["error"]
    assert error["code"] == InvalidParams.code
    assert key in error["message"]


def test_a_request_without_the_clients_name_is_served() -> None:
    key = str(PEER.profile.client_info_key)
    message = PEER.call(1, "echo", text="a").replace(key.encode(), b"another/key")
    assert "result" in feed([message]).answer(1)


def test_a_server_without_the_named_revision_refuses_the_request() -> None:
    ran = feed([PEER.request(1, "server/discover")], server={"revisions": [HANDSHAKE]})
    assert "error" in ran.answer(1)

"""The end of a server on stdio: by each signal, by the end of its input, in each way to run it."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from mcp_gen.core.errors import ProtocolError
from tests.hostile.ending.processes import WAYS, environment, stdio
from tests.support.frames import BATCHING, HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle
from tests.support.processes.child import WAIT_S, Child

OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
each_signal = pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
END_OF_INPUT = "end of input"
each_end = pytest.mark.parametrize("end", [*(number.name for number in SIGNALS), END_OF_INPUT])
SHORT = "0.1"
"""Grace in seconds, for calls that outlast it."""
CUT_OFF = {
    "code": ProtocolError.code,
    "message": "the server broke off this request before it was answered",
}
CALLED = {
    "hold": "holding",
    "report": "reported",
    "stubborn": "stubborn",
    "wait": "waiting",
    "work": "working",
}
"""First words of tools of the program, on stderr."""


def send_end(child: Child, end: str) -> None:
    """Tell the server to end: by the signal of this name, or as a client that disconnects."""
    if end == END_OF_INPUT:
        child.close_stdin()
    else:
        child.signal(signal.Signals[end])


def begin(child: Child, speaker: Speaker, tool: str, says: str) -> None:
    """Call a tool and wait until it runs."""
    child.send(*speaker.opening, speaker.call(1, tool))
    child.says(says)


def refused(child: Child, speaker: Speaker) -> None:
    """Wait until the server has noticed that it is to end: it takes no more calls."""
    id = 100
    while True:
        child.send(speaker.call(id, "echo", text="late"))
        if "about to end" in str(child.answer(id)):
            return
        id += 1


def signals(child: Child, number: signal.Signals) -> None:
    """Send a signal again and again until the process has ended."""
    deadline = time.monotonic() + WAIT_S
    while child.process.poll() is None:
        assert time.monotonic() < deadline, "the signals have not ended the process"
        child.signal(number)
        time.sleep(0.02)


# --- calls that are open ---


@each_end
def test_a_call_that_ends_within_the_grace_is_answered(end: str) -> None:
    with stdio() as child:
        begin(child, OLD, "hold", "holding")
        send_end(child, end)
        if end != END_OF_INPUT:
            refused(child, OLD)
        child.signal(signal.SIGUSR1)
        assert child.answer(1)["result"]["content"][0]["text"] == "released"
        assert child.ended() == 0
        assert child.stderr == "holding\n"


@each_end
@each_lifecycle
def test_a_call_that_outlasts_the_grace_gets_an_error(end: str, revision: str) -> None:
    speaker = Speaker(revision)
    with stdio(GRACE_S=SHORT) as child:
        begin(child, speaker, "wait", "waiting")
        send_end(child, end)
        assert child.answer(1)["error"] == CUT_OFF
        assert child.ended() == 0
        assert child.stderr == "waiting\nstopped waiting\n"


@pytest.mark.parametrize("tool", ["report", "stubborn", "work"])
def test_what_a_call_does_does_not_keep_it_from_its_error(tool: str) -> None:
    with stdio(GRACE_S=SHORT) as child:
        begin(child, OLD, tool, CALLED[tool])
        child.signal(signal.SIGINT)
        assert child.answer(1)["error"] == CUT_OFF


def test_the_calls_of_a_batch_that_outlasts_the_grace_get_their_errors_as_one_array() -> None:
    speaker = Speaker(BATCHING[-1])
    with stdio(GRACE_S=SHORT) as child:
        calls = speaker.call(1, "wait"), speaker.call(2, "echo", text="a"), speaker.call(3, "wait")
        child.send(*speaker.opening, b"[" + b",".join(calls) + b"]")
        child.answer(0)
        child.says("waiting\nwaiting\n")
        child.signal(signal.SIGTERM)
        answers = {one["id"]: one for one in child.next()}
        assert answers[1]["error"] == answers[3]["error"] == CUT_OFF
        assert "result" in answers[2]
        assert child.ended() == 0


def test_a_call_that_its_client_has_cancelled_gets_nothing_at_the_end() -> None:
    with stdio(GRACE_S=SHORT) as child:
        begin(child, OLD, "stubborn", "stubborn")
        child.send(OLD.cancel(1))
        child.says("no\n")
        child.send(OLD.call(2, "wait"))
        child.says("waiting")
        child.signal(signal.SIGTERM)
        child.answer(0)
        assert child.next()["id"] == 2


def test_a_listen_request_ends_with_its_result() -> None:
    with stdio() as child:
        wanted = {"notifications": {"toolsListChanged": True}}
        child.send(NEW.request(1, "subscriptions/listen", wanted))
        child.next()
        child.signal(signal.SIGINT)
        assert child.answer(1)["result"]["resultType"] == "complete"
        assert child.ended() == 0
        assert child.stderr == ""


# --- a second signal ---


@each_signal
@pytest.mark.parametrize("tool", ["hold", "stubborn", "work"])
def test_a_second_signal_ends_the_process_at_once(tool: str, number: signal.Signals) -> None:
    with stdio() as child:
        begin(child, OLD, tool, CALLED[tool])
        child.signal(signal.SIGTERM)
        refused(child, OLD)
        child.signal(number)
        assert child.ended() == -number
        assert child.stderr == f"{CALLED[tool]}\n"


def test_signals_end_a_process_whose_event_loop_is_blocked() -> None:
    with stdio() as child:
        begin(child, OLD, "block", "blocking")
        signals(child, signal.SIGINT)
        assert child.ended() == -signal.SIGINT
        assert child.stderr == "blocking\n"


def test_a_second_signal_ends_a_process_whose_lifespan_hangs() -> None:
    with stdio(ON_EXIT="hang") as child:
        begin(child, OLD, "hold", "holding")
        child.signal(signal.SIGTERM)
        child.signal(signal.SIGUSR1)
        child.says("hangs at its end")
        child.signal(signal.SIGINT)
        assert child.ended() == -signal.SIGINT
        assert child.stderr == "holding\nhangs at its end\n"


def test_a_signal_that_the_process_was_started_to_ignore_stays_ignored() -> None:
    with stdio("nohup") as child:
        begin(child, OLD, "hold", "holding")
        child.signal(signal.SIGHUP)
        child.signal(signal.SIGUSR1)
        assert child.answer(1)["result"]["content"][0]["text"] == "released"


# --- ways to run it ---


@each_signal
def test_mcp_gen_run_ends_in_the_same_way(number: signal.Signals) -> None:
    with stdio("mcp-gen run", GRACE_S=SHORT) as child:
        begin(child, OLD, "wait", "waiting")
        child.signal(number)
        assert child.answer(1)["error"] == CUT_OFF
        assert child.ended() == 0
        assert child.stderr == "waiting\nstopped waiting\n"


# --- what ends it beside signals ---


def test_threads_that_do_not_end_do_not_keep_a_process_whose_client_has_gone() -> None:
    with stdio(GRACE_S=SHORT) as child:
        begin(child, OLD, "work", "working")
        child.close_stdin()
        assert child.answer(1)["error"] == CUT_OFF
        assert child.ended() == 0


def test_a_client_that_reads_nothing_any_more_ends_the_process() -> None:
    pipes = subprocess.PIPE
    with subprocess.Popen(
        WAYS["server.run"], stdin=pipes, stdout=pipes, stderr=pipes, env=environment(GRACE_S=SHORT)
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.close()
            # Its stdin stays open.
            assert process.wait(WAIT_S) == 0
        finally:
            process.kill()
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


def test_an_output_that_takes_nothing_any_more_ends_the_process() -> None:
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen(
            WAYS["server.run"],
            stdin=subprocess.PIPE,
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
        ) as process,
    ):
        try:
            assert process.stdin is not None
            process.stdin.write(OLD.initialize(0) + b"\n")
            process.stdin.flush()
            assert process.wait(WAIT_S) == 0
        finally:
            process.kill()
        assert process.stderr is not None
        written = process.stderr.read().decode()
        assert "No space left on device" in written
        assert "Traceback" not in written


@pytest.mark.parametrize("tool", ["leave", "leave_thread"])
def test_a_tool_that_exits_fails_alone(tool: str) -> None:
    with stdio() as child:
        child.send(*OLD.opening, OLD.call(1, tool), OLD.call(2, "echo", text="a"))
        answers = {one["id"]: one for one in (child.next(), child.next(), child.next())}
        assert answers[1]["result"]["isError"]
        assert "result" in answers[2]


def test_an_interrupt_in_a_tool_ends_the_process_with_an_error_for_each_open_call() -> None:
    with stdio(GRACE_S=SHORT) as child:
        begin(child, OLD, "wait", "waiting")
        child.send(OLD.call(2, "interrupt"))
        errors = {one["id"]: one["error"] for one in (child.answer(2), child.answer(1))}
        assert errors == {1: CUT_OFF, 2: CUT_OFF}
        assert child.ended() == 0
        assert child.stderr == "waiting\nstopped waiting\n"


def test_a_lifespan_that_fails_at_its_end_is_an_error_after_the_answers() -> None:
    with stdio(ON_EXIT="fail", GRACE_S=SHORT) as child:
        begin(child, OLD, "wait", "waiting")
        child.signal(signal.SIGTERM)
        assert child.answer(1)["error"] == CUT_OFF
        assert child.ended() == 1
        assert "its lifespan failed: OSError: no database to close" in child.stderr

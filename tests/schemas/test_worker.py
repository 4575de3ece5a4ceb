"""The worker process: deadlines, deaths, garbage, queues, loops, and what it leaves behind."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from mcp_gen.core.errors import SchemaNotChecked
from mcp_gen.schemas import process
from mcp_gen.schemas import worker as worker_process
from mcp_gen.schemas.messages import CheckRequest, PipeClosed, read_message
from mcp_gen.schemas.process import SchemaWorker
from mcp_gen.schemas.schema import UNEXPLAINED, UNREADABLE, BadSchema, JsonSchema, Misfit

WAIT_S = 30.0
RECURSIVE = JsonSchema({"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}})
ERRORS = JsonSchema({"anyOf": [{"items": {"type": "string"}}] * 20})
"""A schema whose errors take far longer to find than the verdict."""


def endless(number: int = 0) -> JsonSchema:
    """Return a schema that takes exponential time; each number gives another one."""
    part: Any = {"properties": {"a": True}, "maxProperties": 1_000 + number}
    for _ in range(40):
        part = {"allOf": [part], "unevaluatedProperties": False}
    return JsonSchema(part)


def scripted(script: str) -> SchemaWorker:
    """Return a worker whose process says what the script says; `say(**reply)` sends a reply."""
    return SchemaWorker(
        (
            "-c",
            "import json, os, signal, struct, sys\n"
            "def say(**reply):\n"
            "    text = json.dumps(reply).encode()\n"
            "    os.write(1, struct.pack('>I', len(text)) + text)\n" + script,
        )
    )


@pytest.fixture
def worker() -> Iterator[SchemaWorker]:
    """Yield a worker, which is closed at the end."""
    made = SchemaWorker()
    yield made
    made.close()


async def check(
    worker: SchemaWorker, schema: JsonSchema, value: Any, timeout_s: float = WAIT_S
) -> str:
    """Return the outcome of a check in a word or as its message."""
    async with asyncio.timeout(WAIT_S):
        try:
            await worker.check(schema, value, timeout_s)
        except (Misfit, BadSchema, SchemaNotChecked) as error:
            return f"{type(error).__name__}: {error}"
    return "fits"


# --- checks ---


def test_no_process_runs_before_the_first_check(worker: SchemaWorker) -> None:
    assert worker.pid is None


async def test_a_value_that_fits_is_taken(worker: SchemaWorker) -> None:
    assert await check(worker, RECURSIVE, [1, [2]]) == "fits"


async def test_a_value_that_does_not_fit_is_refused_with_its_place(worker: SchemaWorker) -> None:
    with pytest.raises(Misfit) as caught:
        await worker.check(RECURSIVE, [1, "two"], WAIT_S)
    assert caught.value.where == "[1]"


async def test_a_schema_that_is_none_is_said_to_be_none(worker: SchemaWorker) -> None:
    outcome = await check(worker, JsonSchema({"$ref": "http://127.0.0.1:9/x"}), 1)
    assert outcome.startswith("BadSchema: ")


async def test_all_checks_are_made_by_one_process(worker: SchemaWorker) -> None:
    await check(worker, RECURSIVE, [])
    first = worker.pid
    await asyncio.gather(*(check(worker, RECURSIVE, [at]) for at in range(20)))
    assert worker.pid == first


async def test_more_schemas_than_the_worker_keeps_are_checked(worker: SchemaWorker) -> None:
    schemas = [JsonSchema({"const": at}) for at in range(100)]
    for _ in range(2):
        outcomes = [await check(worker, one, at) for at, one in enumerate(schemas)]
        assert outcomes == ["fits"] * 100


async def test_a_message_about_a_long_key_is_short(worker: SchemaWorker) -> None:
    outcome = await check(worker, JsonSchema({"additionalProperties": False}), {"k" * 10_000: 1})
    assert len(outcome) < 400


async def test_a_value_that_is_nested_deeply_is_checked(worker: SchemaWorker) -> None:
    value: Any = []
    for _ in range(900):
        value = [value]
    outcome = await check(worker, RECURSIVE, value)
    # Older versions of the validator cannot take it.
    assert outcome in ("fits", f"Misfit: {UNREADABLE}")


# --- deadlines ---


async def test_a_check_that_takes_too_long_is_given_up(worker: SchemaWorker) -> None:
    outcome = await check(worker, endless(), {"a": 1}, timeout_s=0.2)
    assert outcome == "SchemaNotChecked: the schema takes more than 0.2 s to check"


async def test_the_next_check_is_made_by_another_process(worker: SchemaWorker) -> None:
    await check(worker, endless(), {"a": 1}, timeout_s=0.2)
    assert await check(worker, RECURSIVE, [1]) == "fits"


async def test_the_verdict_stands_where_the_reason_takes_too_long(worker: SchemaWorker) -> None:
    outcome = await check(worker, ERRORS, [1] * 100_000, timeout_s=0.7)
    assert outcome == f"Misfit: {UNEXPLAINED}"


async def test_a_check_that_needs_too_much_memory_is_given_up(worker: SchemaWorker) -> None:
    outcome = await check(worker, ERRORS, [1] * 1_000_000, timeout_s=WAIT_S)
    # The verdict came before; the process has ended itself for the text.
    assert outcome == f"Misfit: {UNEXPLAINED}"


async def test_a_schema_that_takes_long_holds_up_no_other(worker: SchemaWorker) -> None:
    slow = endless()
    await check(worker, slow, {"a": 1}, timeout_s=0.2)
    # The worker takes none of them before all are there.
    with worker._changed:
        burst = [asyncio.create_task(check(worker, slow, {"a": 1})) for _ in range(3)]
        other = asyncio.create_task(check(worker, RECURSIVE, [1]))
        await asyncio.sleep(0)
    assert await other == "fits"
    assert not any(one.done() for one in burst)
    for one in burst:
        one.cancel()
    await asyncio.wait(burst)


# --- the queue ---


async def test_more_checks_than_may_wait_are_refused(
    worker: SchemaWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_WAITING", 3)
    outcomes = await asyncio.gather(*(check(worker, RECURSIVE, [at]) for at in range(10)))
    refused = "SchemaNotChecked: too many schema checks wait for their turn"
    assert set(outcomes) == {"fits", refused}


async def test_more_bytes_than_may_wait_are_refused(
    worker: SchemaWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_WAITING_BYTES", 5_000)
    outcomes = await asyncio.gather(*(check(worker, RECURSIVE, [0] * 1_000) for _ in range(5)))
    refused = "SchemaNotChecked: too many schema checks wait for their turn"
    assert set(outcomes) == {"fits", refused}


async def test_a_value_that_is_too_long_is_refused(
    worker: SchemaWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_REQUEST_BYTES", 1_000)
    outcome = await check(worker, RECURSIVE, [0] * 1_000)
    assert outcome == "SchemaNotChecked: schema and value have more than 1000 bytes"


async def test_a_value_of_the_longest_length_is_checked(
    worker: SchemaWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = [0] * 1_000
    size_bytes = len(RECURSIVE.encoded) + len(msgspec.json.encode(value))
    monkeypatch.setattr(process, "MAX_REQUEST_BYTES", size_bytes)
    assert await check(worker, RECURSIVE, value) == "fits"


async def test_a_check_whose_turn_does_not_come_in_time_is_refused(worker: SchemaWorker) -> None:
    outcomes = await asyncio.gather(
        *(check(worker, endless(number), {"a": 1}, timeout_s=0.2) for number in range(6))
    )
    assert outcomes[-1] == (
        "SchemaNotChecked: its turn did not come in time, as other checks took too long"
    )


async def test_a_check_that_is_cancelled_while_it_waits_is_not_made(worker: SchemaWorker) -> None:
    slow = asyncio.ensure_future(check(worker, endless(), {"a": 1}, timeout_s=0.3))
    waiting = asyncio.ensure_future(check(worker, RECURSIVE, [1]))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await slow).startswith("SchemaNotChecked")
    assert await check(worker, RECURSIVE, [1]) == "fits"


async def test_a_check_that_is_cancelled_while_it_runs_harms_no_other(worker: SchemaWorker) -> None:
    await check(worker, RECURSIVE, [1])
    running = asyncio.ensure_future(check(worker, endless(), {"a": 1}, timeout_s=0.3))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await check(worker, RECURSIVE, [1], timeout_s=1) == "fits"


# --- deaths ---


async def test_a_worker_that_was_killed_while_idle_is_replaced(worker: SchemaWorker) -> None:
    await check(worker, RECURSIVE, [])
    first = worker.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert await check(worker, RECURSIVE, [1]) == "fits"
    assert worker.pid != first


def test_a_worker_that_has_ended_leaves_no_zombie(
    worker: SchemaWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "TICK_S", 0.01)
    asyncio.run(check(worker, RECURSIVE, []))
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    tick = threading.Event()
    for _ in range(round(WAIT_S / 0.01)):
        if worker.pid is None:
            break
        tick.wait(0.01)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)


READY = "say(outcome='ready')\nos.read(0, 1000)\n"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("", "the process that checks it did not start"),
        ("sys.exit(3)", "the process that checks it did not start"),
        ("say(outcome='hello')", "the process that checks it did not start"),
        ("os.write(1, b'hello world')", "the process that checks it did not start"),
        (f"{READY}sys.exit(0)", "the process that checks it has ended"),
        (f"{READY}os.kill(os.getpid(), 9)", "the process that checks it has ended"),
        (f"{READY}os.abort()", "the schema takes too much memory to check"),
        (
            f"{READY}os.kill(os.getpid(), signal.SIGSEGV)",
            "the schema takes too much memory to check",
        ),
        (f"{READY}os.write(1, b'garbage')", "the process that checks it has ended"),
        (f"{READY}os.write(1, b'\\0\\0\\0\\3abc')", "the process that checks it has ended"),
        (f"{READY}os.write(1, b'\\377\\0\\0\\0' * 99)", "the process that checks it has ended"),
        (f"{READY}say(outcome='happy')", "the process that checks it has ended"),
        (f"{READY}signal.pause()", "the schema takes more than 0.3 s to check"),
    ],
)
async def test_a_worker_that_fails_is_an_error(script: str, problem: str) -> None:
    worker = scripted(script)
    try:
        outcome = await check(worker, RECURSIVE, [1], timeout_s=0.3)
    finally:
        worker.close()
    assert outcome == f"SchemaNotChecked: {problem}"


async def test_a_worker_that_does_not_start_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "START_LIMIT_S", 0.3)
    worker = scripted("signal.pause()")
    try:
        outcome = await check(worker, RECURSIVE, [1])
    finally:
        worker.close()
    assert outcome == "SchemaNotChecked: the process that checks it did not start"


async def test_a_command_that_cannot_be_started_is_an_error(
    worker: SchemaWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "no process could be started to check it" in await check(worker, RECURSIVE, [1])


@pytest.mark.parametrize("unknown", [None, ""])
async def test_where_no_interpreter_is_known_that_is_the_error(
    worker: SchemaWorker, monkeypatch: pytest.MonkeyPatch, unknown: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", unknown)
    outcome = await check(worker, RECURSIVE, [1])
    assert outcome == "SchemaNotChecked: no interpreter is known that could check it"


async def test_a_worker_that_stopped_is_given_up_within_the_deadline(worker: SchemaWorker) -> None:
    await check(worker, RECURSIVE, [])
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGSTOP)
    outcome = await check(worker, RECURSIVE, [0] * 200_000, timeout_s=0.3)
    assert outcome == "SchemaNotChecked: the schema takes more than 0.3 s to check"


async def test_the_idle_worker_ends(worker: SchemaWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "IDLE_S", 0.05)
    monkeypatch.setattr(process, "TICK_S", 0.01)
    await check(worker, RECURSIVE, [])
    pid = worker.pid
    assert pid is not None
    await asyncio.to_thread(wait_for_end, pid)
    assert await check(worker, RECURSIVE, [1]) == "fits"


def wait_for_end(pid: int) -> None:
    """Wait until a process has ended; it need not be a child of this one."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], WAIT_S)[0], f"process {pid} still runs"
    finally:
        os.close(handle)


# --- loops, forks and ends ---


def test_two_loops_one_after_the_other_share_the_worker(worker: SchemaWorker) -> None:
    pids: list[int | None] = []

    async def in_a_loop() -> None:
        await check(worker, RECURSIVE, [1])
        pids.append(worker.pid)

    asyncio.run(in_a_loop())
    asyncio.run(in_a_loop())
    assert len(set(pids)) == 1


def test_loops_in_two_threads_share_the_worker(worker: SchemaWorker) -> None:
    outcomes: list[str] = []

    async def in_a_loop() -> None:
        outcomes.extend(await asyncio.gather(*(check(worker, RECURSIVE, [at]) for at in range(20))))

    threads = [threading.Thread(target=asyncio.run, args=(in_a_loop(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert outcomes == ["fits"] * 40


async def test_a_closed_worker_is_started_again(worker: SchemaWorker) -> None:
    await check(worker, RECURSIVE, [1])
    await asyncio.to_thread(worker.close)
    assert worker.pid is None
    assert await check(worker, RECURSIVE, [1]) == "fits"


PARENT = """
import asyncio, os, sys
from mcp_gen.schemas.process import WORKER
from mcp_gen.schemas.schema import JsonSchema

part = {"properties": {"a": True}}
for _ in range(40):
    part = {"allOf": [part], "unevaluatedProperties": False}

async def main():
    await WORKER.check(JsonSchema({"type": "integer"}), 1, 10)
    print(WORKER.pid, flush=True)
"""


def run_parent(*lines: str) -> subprocess.Popen[bytes]:
    """Start a process that uses the worker, with these lines after PARENT."""
    script = "\n".join((PARENT, *lines))
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", script]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_process_that_ends_leaves_no_worker_and_no_warning() -> None:
    with run_parent("asyncio.run(main())") as parent:
        out, err = parent.communicate(timeout=WAIT_S)
    wait_for_end(int(out))
    assert (parent.returncode, err) == (0, b"")


def test_a_process_that_ends_in_a_check_leaves_no_worker_and_no_warning() -> None:
    lines = (
        "async def slow():",
        "    await main()",
        "    task = asyncio.ensure_future(WORKER.check(JsonSchema(part), {'a': 1}, 20))",
        "    await asyncio.sleep(0.1)",
        "asyncio.run(slow())",
    )
    with run_parent(*lines) as parent:
        out, err = parent.communicate(timeout=WAIT_S)
    wait_for_end(int(out))
    assert (parent.returncode, err) == (0, b"")


@pytest.mark.parametrize("busy", [False, True])
def test_a_process_that_is_killed_leaves_no_worker(busy: bool) -> None:
    lines = (
        "async def slow():",
        "    await WORKER.check(JsonSchema({'type': 'integer'}), 1, 10)",
        f"    if {busy}:",
        "        task = asyncio.ensure_future(WORKER.check(JsonSchema(part), {'a': 1}, 2))",
        "        await asyncio.sleep(0.2)",
        "    print(WORKER.pid, flush=True)",
        "    await asyncio.Event().wait()",
        "asyncio.run(slow())",
    )
    with run_parent(*lines) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_for_end(pid)


def test_a_fork_starts_a_worker_of_its_own() -> None:
    lines = (
        "asyncio.run(main())",
        "first = WORKER.pid",
        "child = os.fork()",
        "asyncio.run(main())",
        "print(WORKER.pid == first, flush=True)",
        "if child: os.waitpid(child, 0)",
    )
    with run_parent(*lines) as parent:
        out, _ = parent.communicate(timeout=WAIT_S)
    # The parent goes on with its worker, the child has another.
    pids = {word for word in out.split() if word.isdigit()}
    assert (len(pids), out.count(b"True"), out.count(b"False")) == (2, 1, 1)


def test_the_worker_gets_a_short_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    worker = scripted(
        "say(outcome='ready')\nos.read(0, 9999)\nsay(outcome='bad_schema', "
        "message=' '.join(sorted(os.environ)))"
    )
    try:
        outcome = asyncio.run(check(worker, RECURSIVE, 1))
    finally:
        worker.close()
    names = set(outcome.removeprefix("BadSchema: ").split())
    # LC_CTYPE is set by the interpreter itself.
    assert names - {"LC_CTYPE", *process.PASSED_ON} == {"PYTHONPATH"}


@pytest.mark.parametrize(("length", "is_read"), [(64 * 1024, True), (64 * 1024 + 1, False)])
def test_of_a_worker_that_says_too_much_nothing_is_read(length: int, is_read: bool) -> None:
    file = os.memfd_create("reply")
    try:
        os.write(file, struct.pack(">I", length) + b"x" * length)
        os.lseek(file, 0, os.SEEK_SET)
        if is_read:
            assert read_message(file) == b"x" * length
        else:
            with pytest.raises(PipeClosed):
                read_message(file)
    finally:
        os.close(file)


def test_the_schemas_that_were_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "MAX_SCHEMAS", 2)
    made = worker_process.CheckWorker(-1, -1)

    def is_known(key: str, schema: bytes = b"null") -> bool:
        request = CheckRequest(key, Raw(b"1"), WAIT_S, Raw(schema))
        return made._find(request) is not None

    assert is_known("a", b"{}")
    assert is_known("b", b"{}")
    assert is_known("a")
    assert is_known("c", b"{}")
    assert [is_known(key) for key in "abc"] == [True, False, True]

"""Measurement of a program under test."""

import subprocess
import sys

import pytest

from bench.child import ROOT, Child
from tests.support.processes.living import lives

WAIT_S = 30.0

SPINS_S = 0.05
SPINNING = f"""
import sys, time
print("ready", flush=True)
for line in sys.stdin:
    print(line, end="", flush=True)
    end_s = time.process_time() + {SPINS_S}
    while time.process_time() < end_s:
        pass
"""


class Spinning(Child):
    """Program that echoes a line, and then works on."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SPINNING],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout


def test_all_the_work_is_measured_also_what_follows_the_answer() -> None:
    child = Spinning()
    try:
        child.read_line()
        started_s = child.cpu_s()
        child.ask(b"work")
        took_s = child.cpu_s() - started_s
    finally:
        child._stdin.close()
        child._process.wait(5)
        child._stdout.close()

    assert took_s >= SPINS_S


ENDED = """
from bench.child import Child, end_programs_too
end_programs_too()
with Child("http", "static") as child:
    child.read_line()
    print(child.pid, flush=True)
    input()
"""


def test_the_programs_of_a_run_that_is_ended_end_with_it() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ENDED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as run:
        assert run.stdout
        program = int(run.stdout.readline())
        assert lives(program)
        run.terminate()
        run.wait(WAIT_S)
    assert not lives(program)


def test_a_program_that_has_another_do_its_work_is_found() -> None:
    inner = f"[sys.executable, '-c', {SPINNING!r}]"
    with Child.of(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run({inner})"]
    ) as one:
        one.read_line()
        before_s = one.cpu_s()
        one.ask(b"work")
        with pytest.raises(RuntimeError, match="does it start another program"):
            one.cpu_since(before_s)

"""Checks each program of examples/batteries as a real process, at the newest of both lifecycles."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.frames import Speaker, each_lifecycle
from tests.support.processes.child import Child, started

EXAMPLES = Path(__file__).parents[1] / "examples/batteries"

Call = Callable[..., Any]


@contextmanager
def running(name: str, revision: str) -> Iterator[tuple[Child, Call]]:
    """Run an example; `call(tool, **arguments)` returns the whole response."""
    speaker, ids = Speaker(revision), iter(range(1, 100))
    with started([sys.executable, str(EXAMPLES / f"{name}.py")]) as child:
        if speaker.opening:
            child.send(speaker.opening[0])
            child.answer(0)
            child.send(speaker.opening[1])

        def call(tool: str, **arguments: Any) -> Any:
            id = next(ids)
            child.send(speaker.call(id, tool, **arguments))
            return child.answer(id)

        yield child, call


def text(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


@each_lifecycle
def test_too_many_searches_at_once_are_told_to_wait(revision: str) -> None:
    with running("rate_limit", revision) as (_, call):
        # More than the burst: a slow machine may be served a few more.
        answers = [call("search", text="bolt") for _ in range(30)]
    refused = [answer["error"] for answer in answers if "error" in answer]
    assert text(answers[0]) == "buy bolts"
    assert refused[-1]["message"].startswith("tools/call search: too many requests of this client")


@each_lifecycle
def test_the_durations_of_each_tool_are_counted(revision: str) -> None:
    with running("timing", revision) as (child, call):
        call("add", a=1, b=2)
        call("add", a=1, b=2)
        call("fail")
        child.says("fail tool_error 1")
        child.close_stdin()
    lines = child.stderr.splitlines()
    assert [line for line in lines if line.startswith("add")] == ["add ok 1", "add ok 2"]


@each_lifecycle
def test_a_request_is_one_line_of_json_without_its_arguments(revision: str) -> None:
    with running("request_log", revision) as (child, call):
        call("sign_in", user="ada", password="hunter2")
        child.says('"target":"sign_in"')
        child.close_stdin()
    record = json.loads(child.stderr.splitlines()[-1])
    assert (record["method"], record["outcome"]) == ("tools/call", "ok")
    assert "ada" not in child.stderr
    assert "hunter2" not in child.stderr


@each_lifecycle
def test_a_model_is_told_to_ask_for_fewer_lines(revision: str) -> None:
    with running("result_size", revision) as (_, call):
        few, many = call("lines", first=1, last=2), call("lines", first=1, last=999)
        whole = text(call("export"))
    assert text(few) == "line 1\nline 2"
    assert text(many).endswith("and the limit is 2000; ask for less, such as a part of it")
    assert len(whole) > 10_000


@each_lifecycle
def test_an_item_is_counted_again_after_a_write(revision: str) -> None:
    with running("tool_cache", revision) as (_, call):
        texts = [text(call("count", item="bolt")) for _ in range(2)]
        call("add", item="bolt", number=4)
        texts.append(text(call("count", item="bolt")))
    assert texts == ["3 (count 1)", "3 (count 1)", "7 (count 2)"]


def test_a_model_gets_the_results_of_its_calls() -> None:
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "model_tools.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stdout == "bolts: 12, screws: an error is True\n"


def test_every_program_is_tested_here() -> None:
    source = Path(__file__).read_text("utf-8")
    assert [path.stem for path in EXAMPLES.glob("*.py") if f'"{path.stem}' not in source] == []

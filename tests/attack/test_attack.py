"""Tests of `nox -s attack`: its report, and that it finds servers and clients that stand still."""

from __future__ import annotations

import asyncio
import io
import json

import msgspec
import pytest
from rich.console import Console

from tests.attack import __main__ as command
from tests.attack.attacker import attacking
from tests.attack.attacks import ATTACKS, Outcome
from tests.attack.line_process import LineProcess
from tests.attack.measure import Felt, calling
from tests.attack.report import Row, table_of
from tests.support.frames import encoded
from tests.support.http.loopback import Got, Line, scripted_web

IDS = "an id of 4 MB"


async def test_an_attack_is_made_once_at_least_and_its_answers_are_counted() -> None:
    async def refuse(got: Got, line: Line) -> None:
        await line.answer(413)

    async with scripted_web(refuse) as web:
        outcome = await attacking(web.port, 0.0, IDS)
    assert outcome.answers == {"413": 1, "times": 1}
    assert outcome.wrong == []


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b""), (200, encoded({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603}}))],
    ids=["a status of 500", "an internal error"],
)
async def test_a_server_that_takes_the_blame_for_its_client_is_wrong(
    status: int, body: bytes
) -> None:
    async def blame(got: Got, line: Line) -> None:
        await line.answer(status, body)

    async with scripted_web(blame) as web:
        outcome = await attacking(web.port, 0.0, IDS)
    (wrong,) = outcome.wrong
    assert wrong.startswith(str(status))


def test_a_slow_call_and_a_slow_share_of_calls_are_told() -> None:
    row = Row("server", "an attack")
    row.felt(Felt(times_ms=[1.0] * 199 + [101.0]))
    assert row.slow() == ["the slowest call took 101 ms, without the attack 0 ms"]
    row.felt(Felt(times_ms=[1.0] * 98 + [21.0, 21.0]))
    assert row.slow() == ["one call of 100 took over 21 ms, without the attack 0 ms"]


def test_calls_within_the_limits_are_not_slow() -> None:
    row = Row("server", "an attack")
    row.felt(Felt(times_ms=[20.0] * 100))
    assert row.slow() == []


def test_what_is_felt_without_the_attack_too_is_not_slow() -> None:
    row = Row("server", "an attack")
    row.felt(Felt(times_ms=[30.0] * 199 + [190.0]), Felt(times_ms=[11.0] * 199 + [91.0]))
    assert row.slow() == []
    row.felt(Felt(times_ms=[32.0] * 199 + [192.0]), Felt(times_ms=[11.0] * 199 + [91.0]))
    assert row.slow() == [
        "the slowest call took 192 ms, without the attack 91 ms",
        "one call of 100 took over 32 ms, without the attack 11 ms",
    ]


@pytest.mark.parametrize("line", ["Traceback (most recent call last):", "Task was destroyed but"])
def test_a_failure_in_the_log_is_wrong(line: str) -> None:
    row = Row("server", "an attack")
    row.logged(["WARNING refused a message", line])
    assert row.wrong == [line]
    assert row.log_lines == 2


def test_an_attack_without_an_outcome_is_wrong() -> None:
    row = Row("server", "an attack")
    row.take(b"")
    assert row.wrong == ["the attack did not come to an end"]
    row = Row("server", "an attack")
    row.take(msgspec.json.encode(Outcome({"200": 3, "times": 1}, ["late"])))
    assert (row.answers, row.times, row.wrong) == ({"200": 3}, 1, ["late"])


async def test_the_call_during_which_an_attack_ends_is_felt_too() -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    async def call(number: int) -> bool:
        began.set()
        await go_on.wait()
        return False

    async with calling(call) as felt:
        await began.wait()
        asyncio.get_running_loop().call_soon(go_on.set)
    assert felt.wrong == ["call 1 had a wrong answer"]
    assert len(felt.times_ms) == 1


async def test_a_process_that_stands_still_is_ended_and_another_one_started() -> None:
    process = LineProcess("tests.attack.attacker", "1", "0")
    try:
        # Nothing listens there: the attack ends at once. The next one has no time at all.
        assert b"no connection" in await process.ask(IDS, 30.0)
        assert await process.ask(IDS, 0.0) == b""
        assert b"no connection" in await process.ask(IDS, 30.0)
    finally:
        await process.end()


def test_the_report_has_a_row_for_each_attack() -> None:
    said = io.StringIO()
    Console(width=200, file=said).print(
        table_of([Row("server", IDS, answers={"413": 2}, slowest_ms=120.0)])
    )
    assert "2 of 413" in said.getvalue()
    assert "120.0" in said.getvalue()


def test_the_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--list"]) == 0
    assert set(ATTACKS) < set(capsys.readouterr().out.splitlines())


def test_a_name_that_no_attack_has_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.main(["--only", "nothing like it"])
    assert "--list shows them" in capsys.readouterr().err


def test_one_attack_on_a_real_server_has_its_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--smoke", "--json", "--only", "without a pause, on"]) == 0
    idle, attacked = json.loads(capsys.readouterr().out)
    assert idle["name"] == "(nothing)"
    assert attacked["answers"] == {"200": 1600}
    assert attacked["calls"] > 0

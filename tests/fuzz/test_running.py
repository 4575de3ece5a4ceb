"""Runs go on where they stopped, report what they found, and say how to see it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fuzz import __main__ as command
from tests.fuzz.findings import BLOCK, Block, Finding, shortened
from tests.fuzz.results import Results
from tests.fuzz.running import orders_for
from tests.fuzz.surfaces.all import SURFACES
from tests.fuzz.worker import Done, Order

FAULT = Finding(
    surface="memory", index=3, kind="invalid", what="key 17 is new", reproduce="memory:3"
)


def test_a_run_that_was_stopped_goes_on_after_its_last_whole_block(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = Results(path, 7)
    for number in range(3):
        results.add("memory", Done(number, BLOCK, 1000, []))
    path.write_bytes(path.read_bytes() + b'{"surface":"memory","seed":7,"do')
    done = Results(path, 7).done
    assert orders_for(["memory"], 7, done, count=10 * BLOCK) == [Order("memory", 7, 3, 7)]


def test_a_run_that_is_done_has_nothing_left_to_do() -> None:
    assert orders_for(["memory"], 7, {"memory": 10}, count=10 * BLOCK) == []


def test_another_seed_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    Results(path, 7).add("memory", Done(0, BLOCK, 1000, [FAULT]))
    other = Results(path, 8)
    assert (other.done, [*other.findings()]) == ({}, [])


def test_all_surfaces_together_get_the_count() -> None:
    orders = orders_for([*SURFACES], 7, {}, count=1_000_000)
    assert sum((order.count or 0) * BLOCK for order in orders) == 1_000_000
    assert sum(kind.share for kind in SURFACES.values()) == 100


def test_seconds_are_those_of_the_whole_run() -> None:
    orders = orders_for([*SURFACES], 7, {}, seconds=30, jobs=2)
    assert {order.seconds for order in orders} == {30 * 2 / len(SURFACES)}


def test_what_was_found_before_is_told_again_and_each_fault_once(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    results = Results(path, 7)
    again = Finding(
        surface="memory", index=9, kind="invalid", what="key 18 is new", reproduce="memory:9"
    )
    results.add("memory", Done(0, BLOCK, 1000, [FAULT, again]))
    assert [*Results(path, 7).findings()] == [FAULT]


def test_a_part_of_a_block_is_named_by_its_inputs() -> None:
    block = Block.number(7, "http", 2)
    assert block.words == "http:100-149"
    assert block.only((117,)).words == "http:117"
    assert block.only((100, 117)).words == "http:100,117"


def test_bytes_are_shortened_in_the_middle() -> None:
    assert shortened(b"\xffa\n") == r"\xffa\n"
    assert "… 600 bytes …" in shortened(b"x" * 1000)


def test_the_command_goes_on_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "CACHE", tmp_path)
    words = ["--surface", "decoders", "--count", str(2 * BLOCK), "--json"]
    assert command.main(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert command.main([*words[:2], "--count", str(3 * BLOCK), "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert (first["inputs"], second["inputs"]) == (
        {"decoders": 2 * BLOCK},
        {"decoders": 3 * BLOCK},
    )
    rows = [json.loads(line) for line in next(tmp_path.glob("*/*.jsonl")).read_text().splitlines()]
    assert [row["done"]["block"] for row in rows] == [0, 1, 2]


@pytest.mark.parametrize("words", ["memory", "nothing:1", "memory:", "memory:x", "memory:1-"])
def test_inputs_that_are_named_wrongly_are_refused(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command.main(["--only", words])
    assert "expected a surface and inputs" in capsys.readouterr().err


def test_inputs_are_named_by_one_number_a_range_or_a_list() -> None:
    assert command.indexes_in("17") == (17,)
    assert command.indexes_in("3-5") == (3, 4, 5)
    assert command.indexes_in("3,9") == (3, 9)

"""Inputs are made of the seed, the surface, the revision and their number alone."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mcp_wire
from tests.fuzz.findings import BLOCK, Block, revision_of
from tests.fuzz.making.messages import Maker
from tests.fuzz.making.requests import Place, as_text, request_for
from tests.fuzz.making.shapes import shapes_of
from tests.fuzz.making.streams import Answers
from tests.support.frames import every_revision

ROOT = Path(__file__).parents[2]
NUMBER = 5 * BLOCK


def made(seed: int, surface: str, index: int) -> bytes:
    """Return an input, the request that carries it, and an answer to it."""
    block = Block(seed, surface, (index,))
    random = block.random(index)
    message = Maker.of(block.revision, random, index).input()
    shapes = shapes_of(block.revision)
    request = request_for(shapes.profile, Place(), message, random)
    answer = Answers(shapes, random).answer({"id": 1, "method": "tools/list"})
    return message + as_text(request) + b"".join(answer.chunks)


def digest(seed: int, surface: str = "memory") -> str:
    """Return a digest of inputs of every revision."""
    whole = b"\n".join(made(seed, surface, index) for index in range(NUMBER))
    return hashlib.sha256(whole).hexdigest()


def test_the_same_seed_makes_the_same_inputs_in_every_process() -> None:
    script = "from tests.fuzz.test_inputs import digest; print(digest(7))"
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {digest(7)}


def test_another_seed_and_another_surface_make_other_inputs() -> None:
    assert len({digest(7), digest(8), digest(7, "http")}) == 3


def test_an_input_does_not_depend_on_those_before_it() -> None:
    alone = made(7, "memory", 123)
    for index in range(120, 123):
        made(7, "memory", index)
    assert made(7, "memory", 123) == alone


def test_every_revision_gets_as_many_blocks() -> None:
    assert [revision_of(number * BLOCK) for number in range(5)] == [*mcp_wire.REVISIONS]


@every_revision
def test_inputs_of_a_revision_call_each_of_its_methods(revision: str) -> None:
    start = [*mcp_wire.REVISIONS].index(revision) * BLOCK
    called: set[str] = set()
    for index in range(start, start + 1500):
        random = Block(7, "memory", (start,)).random(index)
        value = Maker.of(revision, random, index).request()
        called.add(str(value.get("method")))
    wanted = {m.name for m in mcp_wire.profile(revision).methods.values() if m.from_client}
    assert {name for name in wanted if not name.startswith("notifications/")} <= called


@pytest.mark.parametrize("kind", ["valid JSON", "not JSON", "a batch", "not UTF-8"])
def test_inputs_are_of_many_kinds(kind: str) -> None:
    found: set[str] = set()
    for index in range(2000):
        block = Block(7, "memory", (index,))
        data = Maker.of(block.revision, block.random(index), index).input()
        try:
            value = json.loads(data.decode())
            found.add("a batch" if isinstance(value, list) else "valid JSON")
        except UnicodeDecodeError:
            found.add("not UTF-8")
        except (ValueError, RecursionError):
            found.add("not JSON")
    assert kind in found

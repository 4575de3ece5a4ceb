"""Judge of the self-test: each kind of difference, on surfaces that are made up."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codegen.verify.judge import Judge, Tally
from codegen.verify.rows import DEVIATIONS, Rows
from codegen.verify.surfaces import Outcome
from tests.codegen.tiny import STRING, const, struct

OVERLAY = Path(__file__).parents[3] / "schema/overlay.toml"
DOCUMENT = {
    "$defs": {
        "Named": {
            "type": "object",
            "properties": {"kind": const("named"), "name": STRING, "title": STRING, "data": {}},
            "required": ["kind", "name"],
        },
        "Size": struct(size={"type": "integer", "maximum": 3}),
    }
}

ROWS = Rows(
    {
        "reads": [{"rule": "null"}, {"rule": "constant"}, {"rule": "unknown key"}],
        "unchecked": [{"names": ["maximum"]}],
    }
)

NAMED = {"kind": "named", "name": "a"}


@dataclass
class MadeUp:
    """A surface that does the same with every value."""

    answer: Callable[[Any], Any]
    name: str = "msgspec"

    def reads(self, definition: str) -> Callable[[bytes], Outcome]:
        if definition == "Size" and self.name == "broken":
            raise TypeError("no reader can be made")
        return self._read

    def _read(self, data: bytes) -> Outcome:
        try:
            return Outcome(back=json.dumps(self.answer(json.loads(data))).encode())
        except ValueError as error:
            return Outcome(str(error))
        except Exception as error:
            return Outcome(f"{type(error).__name__}: {error}", crashed=True)


def judged(answer: Callable[[Any], Any], value: Any, rows: Rows = ROWS) -> Tally:
    """Return the counts of one instance of `Named`, or of `Size` if it has one."""
    judge = Judge("2030-01-01", DOCUMENT, rows, [MadeUp(answer)])
    judge.of("Size" if "size" in value else "Named")(value)
    return judge.tally


def unexplained(tally: Tally) -> list[str]:
    return [what for _, _, _, what in tally.examples]


def same(value: Any) -> Any:
    return value


def refusing(value: Any) -> Any:
    raise ValueError("refused")


def crashing(value: Any) -> Any:
    raise RecursionError("too deep")


def with_kind(value: Any) -> Any:
    return {"kind": "named", **value}


def named_alone(value: Any) -> Any:
    return {key: kept for key, kept in value.items() if key in ("kind", "name")}


def test_what_all_accept_and_keep_is_counted_as_accepted() -> None:
    tally = judged(same, NAMED)
    assert (tally.instances, tally.accepted, tally.explained) == (1, 1, {})


def test_what_all_refuse_is_counted_as_refused() -> None:
    assert judged(refusing, {"name": 1}).refused == 1


@pytest.mark.parametrize(
    ("answer", "value", "row"),
    [
        (named_alone, {**NAMED, "title": None}, "reads null"),
        (named_alone, {**NAMED, "extra": 1}, "reads unknown key"),
        (with_kind, {"name": "a"}, "reads constant"),
        (same, {"size": 4}, "unchecked"),
    ],
)
def test_a_difference_is_counted_by_the_row_that_names_it(
    answer: Callable[[Any], Any], value: Any, row: str
) -> None:
    tally = judged(answer, value)
    assert (tally.differing, tally.explained, unexplained(tally)) == (1, {row: 1}, [])


@pytest.mark.parametrize(
    ("answer", "value", "row"),
    [
        (named_alone, {**NAMED, "title": None}, "reads null"),
        (named_alone, {**NAMED, "extra": 1}, "reads unknown key"),
        (with_kind, {"name": "a"}, "reads constant"),
        (same, {"size": 4}, "unchecked"),
    ],
)
def test_without_that_row_it_is_unexplained(
    answer: Callable[[Any], Any], value: Any, row: str
) -> None:
    assert judged(answer, value, ROWS.without([row])).unexplained == 1


@pytest.mark.parametrize(
    ("answer", "value", "what"),
    [
        (same, {"name": 1}, "accepted"),
        (refusing, NAMED, "refused"),
        (refusing, {"size": 4}, "refused"),
        (crashing, NAMED, "raised RecursionError"),
        (named_alone, {**NAMED, "title": "t"}, "lost `title`"),
        (named_alone, {**NAMED, "data": None}, "lost null `data`"),
        (lambda value: {**value, "name": "b"}, NAMED, "changed `name`"),
        (lambda value: {**value, "title": "t"}, NAMED, "added `title`"),
        (lambda value: {**value, "size": 2.0}, {"size": 2}, "changed `size`"),
    ],
)
def test_a_mistake_is_unexplained(answer: Callable[[Any], Any], value: Any, what: str) -> None:
    assert unexplained(judged(answer, value)) == [what]


def test_a_type_without_a_reader_is_told_for_each_instance() -> None:
    judge = Judge("2030-01-01", DOCUMENT, ROWS, [MadeUp(same, "broken")])
    judge.of("Size")({"size": 1})
    ((_, told),) = judge.tally.examples.values()
    assert (told.what, told.got) == (
        "raised TypeError",
        "refused: TypeError: no reader can be made",
    )


def test_differences_of_one_kind_are_told_once_with_the_shortest() -> None:
    judge = Judge("2030-01-01", DOCUMENT, ROWS, [MadeUp(same)])
    for name in (1000, 1, 10):
        judge.of("Named")({"kind": "named", "name": name})
    ((count, told),) = judge.tally.examples.values()
    assert (count, told.instance) == (3, '{"kind":"named","name":1}')


def test_counts_of_two_parts_add_up() -> None:
    one, other = judged(same, {"name": 1}), judged(same, {"name": 22})
    one.merge(other)
    ((count, told),) = one.examples.values()
    assert (one.instances, one.unexplained, count, told.instance) == (2, 2, 2, '{"name":1}')


def test_what_two_parts_counted_is_added_up() -> None:
    def counted(number: int, name: str) -> Tally:
        words = Counter({name: number})
        return Tally(*[number] * 4, words.copy(), words.copy(), number, never_accepted={name})

    whole = counted(2, "a")
    whole.merge(counted(3, "b"))
    assert whole == Tally(
        *[5] * 4,
        Counter(a=2, b=3),
        Counter(a=2, b=3),
        5,
        never_accepted={"a", "b"},
    )


def test_every_rule_of_reading_has_its_row_with_a_reason() -> None:
    rows = tomllib.loads(OVERLAY.read_text("utf-8"))["reads"]
    named = {f"reads {row['rule']}" for row in rows if row["reason"]}
    assert named == {kind for kind in DEVIATIONS if kind.startswith("reads ")}

"""Compares what the surfaces of one revision do with what its schema and the overlay say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from codegen.schema.json_values import is_array, is_object
from codegen.verify.as_read import AsRead, Schema, Validators, assumed, complete
from codegen.verify.known import known_difference
from codegen.verify.rows import DEVIATIONS, Rows
from codegen.verify.surfaces import Outcome, Surface

_WHOLE = 0.5
"""Stands for a number such as 1.0, which is an integer in JSON Schema and none for a surface."""


@dataclass(frozen=True)
class Difference:
    """An unexplained difference between a surface and the schema with the rows of the overlay."""

    revision: str
    definition: str
    surface: str
    what: str
    instance: str
    """The instance as JSON text."""
    published: str
    """Verdict of the upstream schema."""
    expected: str
    """Verdict of the schema with the overlay's rows."""
    got: str

    @property
    def group(self) -> tuple[str, str, str, str]:
        return self.revision, self.definition, self.surface, self.what


@dataclass
class Tally:
    """Counts of one revision, and its unexplained differences."""

    instances: int = 0
    accepted: int = 0
    """Instances that the upstream schema and both surfaces accept and that come back equal."""
    refused: int = 0
    """Instances that the upstream schema and both surfaces refuse."""
    differing: int = 0
    """Instances that differ, and a row or an entry of `KNOWN` names how."""
    explained: Counter[str] = field(default_factory=Counter[str])
    """Instances that differ, by the kind of row that names it."""
    known: Counter[str] = field(default_factory=Counter[str])
    """Instances that differ on the pydantic surface, by the entry of `KNOWN` that names it."""
    unexplained: int = 0
    """Instances that differ without a row."""
    examples: dict[tuple[str, str, str, str], tuple[int, Difference]] = field(
        default_factory=dict[tuple[str, str, str, str], tuple[int, Difference]]
    )
    """Of each group of unexplained differences the number and the shortest."""
    never_accepted: set[str] = field(default_factory=set[str])
    """Definitions of which no instance was accepted, so that nothing shows what they keep."""

    def add(self, difference: Difference) -> None:
        count, shortest = self.examples.get(difference.group, (0, difference))
        shortest = min(shortest, difference, key=lambda one: (len(one.instance), one.instance))
        self.examples[difference.group] = count + 1, shortest

    def merge(self, other: Tally) -> None:
        """Add what another part of the same revision counted."""
        self.instances += other.instances
        self.accepted += other.accepted
        self.refused += other.refused
        self.differing += other.differing
        self.unexplained += other.unexplained
        self.explained += other.explained
        self.known += other.known
        self.never_accepted |= other.never_accepted
        for group, (count, shortest) in other.examples.items():
            self.add(shortest)
            self.examples[group] = self.examples[group][0] + count - 1, self.examples[group][1]


class Reading:
    """The schema with some of the rows, and the validators of both of its forms."""

    def __init__(self, document: Schema, rows: Rows) -> None:
        self._open = Validators(AsRead(document, rows).document)
        self._closed = Validators(AsRead(document, rows, closed=True).document)
        self.whole_numbers_alone = rows.reads("integer")

    def accepts(self, definition: str, value: Any, *, plain: bool) -> bool:
        """Return True if decoding accepts a value; `plain`: no number in it ends in `.0`."""
        return self._open.of(definition).is_valid(self._seen(value, plain))

    def keeps(self, definition: str, value: Any, *, plain: bool) -> bool:
        """Return True if decoding also keeps every key of it."""
        return self._closed.of(definition).is_valid(self._seen(value, plain))

    def _seen(self, value: Any, plain: bool) -> Any:
        return value if plain or not self.whole_numbers_alone else _without_whole_floats(value)


class Judge:
    """Judges instances of one revision, and counts."""

    def __init__(
        self, revision: str, document: Schema, rows: Rows, surfaces: Sequence[Surface]
    ) -> None:
        self.tally = Tally()
        self._revision = revision
        self._document = document
        self._rows = rows
        self._surfaces = surfaces
        self._published = Validators(document)
        self._reading = Reading(document, rows)
        self._fewer: dict[int, Reading] = {}

    def of(self, definition: str) -> Callable[[Any], bool]:
        """Return a function that judges an instance, and says whether the schema accepts it."""
        published = self._published.of(definition)
        readers: list[tuple[Surface, Callable[[bytes], Outcome]]] = []
        for surface in self._surfaces:
            try:
                readers.append((surface, surface.reads(definition)))
            except Exception as error:
                # No type of the name, or one that its library cannot make a reader for.
                readers.append((surface, _unreadable(error)))

        def judge(value: Any) -> bool:
            # Sorted, so that bytes are equal where values are.
            data = msgspec.json.encode(value, order="sorted")
            valid = published.is_valid(value)
            self._judge(_Case(definition, value, data, valid), readers)
            return valid

        return judge

    def _judge(
        self, case: _Case, readers: list[tuple[Surface, Callable[[bytes], Outcome]]]
    ) -> None:
        accepts = self._reading.accepts(case.definition, case.value, plain=case.plain)
        # Of each surface what differs is counted once per instance.
        explained: set[str] = set()
        known: set[str] = set()
        wrong: list[Difference] = []
        if accepts != case.valid:
            row = self._row(case, accepts)
            if row:
                explained.add(row)
            else:
                wrong.append(self._difference(case, "overlay", "no row says so", accepts, ""))
        for surface, read in readers:
            outcome = read(case.data)
            what, rows = self._compare(case, accepts, outcome)
            explained |= rows
            if what:
                entry = known_difference(surface.name, outcome)
                if entry:
                    known.add(entry)
                else:
                    difference = self._difference(case, surface.name, what, accepts, str(outcome))
                    wrong.append(difference)
        self._count(case, explained, known, wrong)

    def _compare(self, case: _Case, accepts: bool, outcome: Outcome) -> tuple[str, set[str]]:
        """Return what is unexplained about an outcome, and the rows that explain the rest."""
        if outcome.crashed:
            return f"raised {outcome.problem.partition(':')[0]}", set()
        if accepts != (not outcome.problem):
            return "refused" if accepts else "accepted", set()
        if not accepts or outcome.back == case.data:
            return "", set()
        back = msgspec.json.decode(outcome.back)
        if msgspec.json.encode(back, order="sorted") == case.data:
            return "", set()
        return self._compare_back(case, back)

    def _compare_back(self, case: _Case, back: Any) -> tuple[str, set[str]]:
        keeps = self._reading.keeps(case.definition, case.value, plain=case.plain)
        changes = {*_changes(case.value, back)}
        rows: set[str] = set()
        for change in changes:
            row = self._row_of(case, change, keeps)
            if not row:
                return f"{change.kind} `{change.key}`", rows
            rows.add(row)
        if not self._reading.accepts(case.definition, back, plain=False):
            return "wrote what it refuses", rows
        return "", rows

    def _row_of(self, case: _Case, change: _Change, keeps: bool) -> str:
        """Return the kind of row that explains a change on the way, or nothing."""
        if change.kind == "lost null" and not self._null_is_data(case):
            return "reads null"
        if change.kind in ("lost", "lost null") and not keeps:
            if self._not_closed.keeps(case.definition, case.value, plain=case.plain):
                return "closed"
            return "reads unknown key" if self._rows.reads("unknown key") else ""
        if change.kind == "added":
            return self._added.get((change.key, change.text), "")
        return ""

    def _null_is_data(self, case: _Case) -> bool:
        """Return True if the schema has each null of a value, even without the row for nulls."""
        return self._without_nulls.accepts(case.definition, case.value, plain=case.plain)

    @cached_property
    def _without_nulls(self) -> Reading:
        return Reading(self._document, self._rows.without(["reads null"]))

    @cached_property
    def _not_closed(self) -> Reading:
        return Reading(self._document, self._rows.without(["closed"]))

    @cached_property
    def _added(self) -> dict[tuple[str, str], str]:
        written = AsRead(self._document, self._rows).document
        return {
            (key, _text(value)): row
            for source in (self._document, complete(self._document, self._rows), written)
            for key, value, row in assumed(source, self._rows)
        }

    def _row(self, case: _Case, accepts: bool) -> str:
        """Return the kind of row without which the verdict is that of the upstream schema.

        The kinds are left out one after the other: the first one that turns the verdict explains
        it. Without any row left the schema is as published.
        """
        for count, kind in enumerate(DEVIATIONS, 1):
            if count not in self._fewer:
                fewer = Reading(self._document, self._rows.without(DEVIATIONS[:count]))
                self._fewer[count] = fewer
            if self._fewer[count].accepts(case.definition, case.value, plain=case.plain) != accepts:
                return kind
        return ""

    def _difference(
        self, case: _Case, surface: str, what: str, accepts: bool, got: str
    ) -> Difference:
        return Difference(
            self._revision,
            case.definition,
            surface,
            what,
            case.data.decode(),
            _verdict(case.valid),
            _verdict(accepts),
            got,
        )

    def _count(
        self, case: _Case, explained: set[str], known: set[str], wrong: list[Difference]
    ) -> None:
        tally = self.tally
        tally.instances += 1
        for difference in wrong:
            tally.add(difference)
        if wrong:
            tally.unexplained += 1
        elif explained or known:
            tally.differing += 1
            tally.explained.update(explained)
            tally.known.update(known)
        elif case.valid:
            tally.accepted += 1
        else:
            tally.refused += 1


class _Case:
    """One instance of one definition, with the verdict of the upstream schema."""

    __slots__ = ("data", "definition", "plain", "valid", "value")

    def __init__(self, definition: str, value: Any, data: bytes, valid: bool) -> None:
        self.definition = definition
        self.value = value
        self.data = data
        self.valid = valid
        self.plain = b".0" not in data and b"e" not in data


@dataclass(frozen=True)
class _Change:
    """One change of a value on the way through a surface."""

    kind: str
    key: str
    text: str = ""


def _changes(value: Any, back: Any, key: str = "$") -> Iterator[_Change]:
    if is_object(value) and is_object(back):
        for name, inner in value.items():
            if name in back:
                yield from _changes(inner, back[name], name)
            else:
                yield _Change("lost null" if inner is None else "lost", name)
        for name, inner in back.items():
            if name not in value:
                yield _Change("added", name, _text(inner))
    elif is_array(value) and is_array(back) and len(value) == len(back):
        for one, other in zip(value, back, strict=True):
            yield from _changes(one, other, key)
    elif _text(value) != _text(back):
        yield _Change("changed", key)


def _text(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _without_whole_floats(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return _WHOLE
    if is_object(value):
        return {key: _without_whole_floats(inner) for key, inner in value.items()}
    return [_without_whole_floats(one) for one in value] if is_array(value) else value


def _unreadable(error: Exception) -> Callable[[bytes], Outcome]:
    outcome = Outcome(f"{type(error).__name__}: {error}", crashed=True)
    return lambda _: outcome


def _verdict(accepts: bool) -> str:
    return "accepted" if accepts else "refused"

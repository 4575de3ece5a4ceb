"""Runs the self-test: divides the instances over processes, and adds up what they counted."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Any

from codegen.errors import CodegenError
from codegen.schema.load import is_object
from codegen.verify.as_read import Schema, complete, container
from codegen.verify.instances import Choose, Mutator, instance, property_names
from codegen.verify.judge import Judge, Tally
from codegen.verify.rows import Rows
from codegen.verify.surfaces import PydanticSurface, Surface, WireSurface

CHANGES = 12
"""Number of changed values that are made of each instance."""

DEPTH = 3
"""Depth of the objects whose keys are left out one by one: what is deeper has a definition."""

_FIRST = 2
_AS_PUBLISHED = 4
"""Every so many instances one is made from the schema without the rows that name constants."""

_ODD_KEYS = ("com.example/extra", "")


@dataclass(frozen=True)
class Subject:
    """One revision to verify: its upstream-shaped schema, and the rows that apply to it."""

    revision: str
    document: Schema
    rows: Rows

    @property
    def decoded(self) -> list[str]:
        """Names of the definitions that are decoded: no union or list of a [[typing]] row."""
        given: Schema = self.document[container(self.document)]
        named = self.rows.names("typing")
        return sorted(name for name in given if name not in named or _is_object(given[name]))


@dataclass(frozen=True)
class Part:
    """A share of the work: some definitions of a revision, each with a number of instances."""

    subject: Subject
    counts: dict[str, int]
    seed: int


def verify(
    subjects: Sequence[Subject],
    package: Path,
    count: int,
    seed: int = 0,
    *,
    progress: Callable[[int, int], None] = lambda done, parts: None,
) -> dict[str, Tally]:
    """Verify the surfaces in a folder, and return what was counted, by revision.

    Args:
        subjects: the revisions.
        package: the folder that holds `mcp_wire`.
        count: number of instances, over all revisions.
        seed: chooses the instances; the same seed and count give the same ones.
        progress: called with the number of finished parts and of all of them.

    Raises:
        CodegenError: a surface cannot be imported, or no instance of a definition can be made.
    """
    processors = _processors()
    parts = list(_divided(subjects, count, seed, 1 if processors == 1 else 2))
    tallies = {subject.revision: Tally() for subject in subjects}
    with ThreadPoolExecutor(processors) as pool:
        running = {pool.submit(_in_a_process, part, package): part for part in parts}
        for done, future in enumerate(as_completed(running), 1):
            tallies[running[future].subject.revision].merge(future.result())
            progress(done, len(parts))
    return tallies


def judged(part: Part) -> Tally:
    """Judge the instances of a part, in this process."""
    subject = part.subject
    revision, document = subject.revision, subject.document
    surfaces: list[Surface] = [WireSurface(revision), PydanticSurface(revision)]
    judge = Judge(revision, document, subject.rows, surfaces)
    keys = [*sorted(property_names(document)), *_ODD_KEYS]
    finished = complete(document, subject.rows)
    for definition, count in part.counts.items():
        random = Random(f"{part.seed} {revision} {definition}")
        judged_valid = judge.of(definition)
        accepted = False
        for value in _instances(definition, count, document, finished, Mutator(random, keys)):
            accepted |= judged_valid(value)
        if not accepted:
            judge.tally.never_accepted.add(definition)
    return judge.tally


def _instances(
    definition: str, count: int, document: Schema, finished: Schema, mutator: Mutator
) -> Iterator[Any]:
    """Yield so many instances: the smallest, the fullest and random ones, each with changes."""
    number = made = 0
    while made < count:
        source = document if number % _AS_PUBLISHED == _AS_PUBLISHED - 1 else finished
        choose: Choose = {0: _first, 1: _last}.get(number, mutator.random.choice)
        try:
            value = instance(source, source[container(source)][definition], choose)
        except RecursionError as error:
            raise CodegenError(f"{definition}: no finite instance can be made of it") from error
        values = chain([value], _changed(value, number, mutator))
        for changed in islice(values, count - made):
            yield changed
            made += 1
        number += 1


def _changed(value: Any, number: int, mutator: Mutator) -> Iterator[Any]:
    """Yield what is made of an instance: of the first two every key is left out once."""
    if number < _FIRST:
        yield from mutator.drops(value, DEPTH)
    yield from mutator.changes(value, CHANGES)


def _divided(subjects: Sequence[Subject], count: int, seed: int, shares: int) -> Iterator[Part]:
    for number, subject in enumerate(subjects):
        of_revision = _share(count, len(subjects), number)
        names = subject.decoded
        counts = {name: _share(of_revision, len(names), i) for i, name in enumerate(names)}
        for share in range(shares):
            chosen = {name: counts[name] for name in names[share::shares] if counts[name]}
            if chosen:
                yield Part(subject, chosen, seed)


def _share(count: int, parts: int, number: int) -> int:
    """Return the share of one of `parts` in a count; together they are all of it."""
    return count // parts + (number < count % parts)


def _processors() -> int:
    # What a container may use, where the system can tell.
    known: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(known(0)) if known else os.cpu_count() or 1


def _is_object(schema: Any) -> bool:
    return is_object(schema) and not {"properties", "allOf"}.isdisjoint(schema)


def _in_a_process(part: Part, package: Path) -> Tally:
    """Judge a part in a process of its own, which imports what was just written."""
    paths = [str(package.resolve()), str(Path(__file__).parents[2])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ran = subprocess.run(
        [sys.executable, "-m", "codegen.verify.run"],
        input=pickle.dumps(part),
        capture_output=True,
        env=environment,
        check=False,
    )
    if ran.returncode:
        last = ran.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise CodegenError(f"{part.subject.revision}: the self-test ended with {last}")
    tally: Tally = pickle.loads(ran.stdout)
    return tally


def _first(choices: Sequence[Any]) -> Any:
    return choices[0]


def _last(choices: Sequence[Any]) -> Any:
    return choices[-1]


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(judged(pickle.loads(sys.stdin.buffer.read()))))

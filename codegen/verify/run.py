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
from typing import Any

from codegen.errors import CodegenError
from codegen.schema.json_values import is_object
from codegen.verify.as_read import Schema, complete, container, injected
from codegen.verify.instances import property_names
from codegen.verify.judge import Judge, Tally
from codegen.verify.rows import Rows
from codegen.verify.sampling import Sampler
from codegen.verify.surfaces import PydanticSurface, Surface, WireSurface

_SHARES = 2
"""Parts of a revision, however many processors there are: the same seed finds the same."""

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
    """A share of the work: a number of instances of some definitions of a revision."""

    subject: Subject
    definitions: list[str]
    count: int
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
    parts = list(_divided(subjects, count, seed))
    tallies = {subject.revision: Tally() for subject in subjects}
    with ThreadPoolExecutor(_processors()) as pool:
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
    finished = injected(complete(document, subject.rows), subject.rows)
    samplers = {
        name: Sampler(name, document, finished, keys, f"{part.seed} {revision} {name}")
        for name in part.definitions
    }
    judges = {name: judge.of(name) for name in part.definitions}
    accepted: set[str] = set()
    values = chain(
        _one_each({name: sampler.in_turn() for name, sampler in samplers.items()}),
        _one_each({name: sampler.at_random() for name, sampler in samplers.items()}),
    )
    for name, value in islice(values, part.count):
        if judges[name](value):
            accepted.add(name)
    judge.tally.never_accepted = samplers.keys() - accepted
    return judge.tally


def _one_each(values: dict[str, Iterator[Any]]) -> Iterator[tuple[str, Any]]:
    """Yield one value of each definition after the other, until none has any left."""
    waiting = dict(values)
    while waiting:
        for name, left in [*waiting.items()]:
            for value in left:
                yield name, value
                break
            else:
                del waiting[name]


def _divided(subjects: Sequence[Subject], count: int, seed: int) -> Iterator[Part]:
    for number, subject in enumerate(subjects):
        of_revision = _share(count, len(subjects), number)
        for share in range(_SHARES):
            names = subject.decoded[share::_SHARES]
            of_part = _share(of_revision, _SHARES, share)
            if names and of_part:
                yield Part(subject, names, of_part, seed)


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


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(judged(pickle.loads(sys.stdin.buffer.read()))))

"""The choice of tests for a fault: those that reach it, the nearest and fastest first."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from math import log2
from pathlib import Path

from tests.mutants.choice.readers import Readers
from tests.mutants.places import Place
from tests.mutants.reach import Reach, TracedTest

__all__ = ["Selector"]

FACT_TABLE = "tests/wire/test_facts.py"
"""Tests of what the specification says, fact by fact."""

FACT_TESTS = (
    "tests/wire/",
    "tests/server/spec/",
    "tests/client/spec/",
    "tests/session/",
    "tests/compat/",
    "tests/core/",
    "tests/codegen/",
    "tests/hostile/",
    "tests/server/tasks/",
)
"""Tests of what generated code decides; the generated code itself is not traced."""

GENERATED = (
    "tests/codegen/test_regen.py"
    "::test_a_process_with_another_hash_seed_finds_package_and_reference_up_to_date"
)
"""Compares the whole output of the generator with the committed one."""

DEFAULTS = "tests/hostile/test_security_page.py"
"""Compares the limits of the code with their documentation, but calls none of it."""

_WORDS = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])")
_COMMON = frozenset(
    {"", "a", "become", "dropped", "fact", "gen", "i", "mcp", "of", "py", "test", "the", "value"}
)
_KEYWORDS = frozenset({"asyn", "awai", "elif", "else", "fals", "none", "retu", "self", "true"})
"""Beginnings of words that stand in lines of any kind."""

LIKENESS, MOST_LIKENESS = 0.3, 4.0
"""Worth of a shared word for each time that half as many tests are named so; and of all of them."""

NAMED = 7.0
"""Worth of a word of the fault's file that is in the parameters of a test."""

_REVISION = re.compile(r"\d{4}-\d\d-\d\d")


class Selector:
    """Chooses tests by the reach map.

    Args:
        reach: The map.
        root: The checkout.
        unreliable: Tests that also fail without a fault.
    """

    def __init__(self, reach: Reach, root: Path, unreliable: set[str]) -> None:
        self._reach = reach
        self._readers = Readers(root)
        self._unreliable = unreliable
        # Rare words tell more.
        names = {test.function for test in reach.tests.values()}
        uses = Counter(stem for name in names for stem in _stems(name.partition("::")[2]))
        self._rarity = {stem: log2(len(names) / number) for stem, number in uses.items()}
        cases = Counter(stem for test in reach.tests for stem in _stems(test.partition("[")[2]))
        self._rarity_of_cases = {
            stem: log2(len(reach.tests) / number) for stem, number in cases.items()
        }

    def tests(self, place: Place) -> list[TracedTest]:
        """Return the tests that may find a fault, the most promising ones first."""
        rings = self._fact_rings(place) if place.is_fact else self._rings(place)
        if not place.is_fact and place.change.reach is None:
            rings = [*self._rings_of_constant(place), *rings]
        direct = self._direct(place)
        # Where no line of a test's process is reached, the names tell more than the duration.
        weight = 1.0 if place.is_fact or direct else 4.0
        chosen: dict[str, TracedTest] = {}
        for ring in rings:
            known = (self._reach.tests.get(one) for one in ring)
            for test in self._sorted(place, [one for one in known if one], direct, weight):
                if test.id not in self._unreliable:
                    chosen.setdefault(test.id, test)
        return list(chosen.values())

    def cases(self, tests: Iterable[TracedTest]) -> set[str]:
        """Return the names of tests with those that differ from them in their parameters alone."""
        return {one.id for test in tests for one in self._reach.by_function[test.function]}

    def _direct(self, place: Place) -> set[str]:
        direct = self._reach.reaching(place.path, place.change.reach)
        if place.change.reach is None:
            # A test file that imports the module proves nothing about it.
            direct = {one for one in direct if "::" in one}
        return direct

    def _rings(self, place: Place) -> list[Iterable[str]]:
        direct = self._direct(place)
        files = {one.partition("::")[0] for one in direct}
        if direct:
            alike = self._alike(direct)
            same_file = [test.id for file in files for test in self._reach.by_file[file]]
            near = self._children(place)
            if place.package == "codegen":
                # The comparison finds most. Others that run the whole generator take longest.
                return [{GENERATED} & direct, {*alike, *near}, same_file]
            return [alike, self._of_function(place), same_file, near]
        # No test of this process reaches it: one that starts a process may.
        module = {one for one in self._reach.reaching(place.path) if "::" in one}
        children = self._children(None)
        near = [test.id for test in self._reach.tests.values() if _affinity(place, test.file) > 1]
        return [self._of_function(place), children, module, near]

    def _of_function(self, place: Place) -> list[str]:
        """Return the tests that reach the function of a fault.

        Lines after `asyncio.run` get lost: where a coroutine goes on because what it awaits has
        caught a cancellation, Python 3.11 does not tell a tracer so.
        """
        lines = self._readers.function_around(place.path, place.change.line)
        return [] if lines is None else self._alike(self._reach.reaching(place.path, lines))

    def _rings_of_constant(self, place: Place) -> list[Iterable[str]]:
        """Return the tests of documented limits, and those of what reads a constant or a field."""
        reading: set[str] = set()
        for path, lines in self._readers.of_line(place.path, place.change.line):
            reading |= self._reach.reaching(path, lines)
        return [[one.id for one in self._reach.by_file[DEFAULTS]], self._alike(reading)]

    def _alike(self, tests: Iterable[str]) -> list[str]:
        """Return tests with all their parameters, of which only some are traced."""
        functions = {one.partition("[")[0] for one in tests}
        return [test.id for one in functions for test in self._reach.by_function[one]]

    def _children(self, place: Place | None) -> list[str]:
        """Return the tests that start a process, or those of them that are near a place."""
        starting = [test for test in self._reach.tests.values() if test.starts_child]
        if place is not None:
            least = 1 if place.package == "codegen" else 2
            starting = [test for test in starting if _affinity(place, test.file) >= least]
        return [test.id for test in starting]

    def _fact_rings(self, place: Place) -> list[Iterable[str]]:
        direct: set[str] = set()
        for path, lines in self._readers.of_attribute(place.fact):
            direct |= self._reach.reaching(path, lines)
        every = [one.id for one in self._reach.tests.values() if one.file.startswith(FACT_TESTS)]
        return [[one.id for one in self._reach.by_file[FACT_TABLE]], self._alike(direct), every]

    def _sorted(
        self, place: Place, tests: list[TracedTest], direct: set[str], weight: float
    ) -> list[TracedTest]:
        by_function: dict[str, list[TracedTest]] = defaultdict(list)
        for test in tests:
            by_function[test.function].append(test)
        scored: list[tuple[float, str, TracedTest]] = []
        for alike in by_function.values():
            alike.sort(
                key=lambda one: (
                    -_same_revision(place, one),
                    -_named(place, one),
                    -self._likeness_of_case(place, one),
                    one.id not in direct,
                    one.whole_seconds,
                    one.id,
                )
            )
            for rank, test in enumerate(alike):
                # The same test with another parameter rarely finds what the first does not.
                cost = log2(1 + rank) + log2(1 + 4 * test.whole_seconds)
                cost += log2(2 + test.breadth) / 3
                name = test.function if place.is_fact else test.file
                worth = weight * _affinity(place, name) + 2 * _same_revision(place, test)
                worth += self._likeness(place, test.function) + NAMED * _named(place, test)
                worth += self._likeness_of_case(place, test)
                scored.append((cost - worth, test.id, test))
        return [test for _, _, test in sorted(scored)]

    def _likeness(self, place: Place, function: str) -> float:
        """Return how much the words of the changed line and of a test's name have in common."""
        if place.is_fact:
            return 0.0
        shared = _stems(place.text) & _stems(function.partition("::")[2])
        return min(MOST_LIKENESS, LIKENESS * sum(self._rarity[stem] for stem in shared))

    def _likeness_of_case(self, place: Place, test: TracedTest) -> float:
        """Return the same of the words in a test's parameters."""
        case = test.id.partition("[")[2]
        if place.is_fact or not case:
            return 0.0
        shared = _stems(place.text) & _stems(case)
        return min(MOST_LIKENESS, LIKENESS * sum(self._rarity_of_cases[stem] for stem in shared))


def _affinity(place: Place, file: str) -> int:
    """Return how much the names of a fault's place and of a test file have in common."""
    if place.is_fact:
        return len(_words(f"{place.fact} {place.change.what}") & _words(file))
    shared = _words(place.path) & _words(file)
    # The names of the files themselves count twice.
    return len(shared) + len(shared & _words(Path(place.path).stem) & _words(Path(file).stem))


def _named(place: Place, test: TracedTest) -> int:
    """Return how many words of a fault's file and of its folder a test has in its parameters."""
    parameters = test.id.partition("[")[2]
    if place.is_fact or not parameters:
        return 0
    return len(_words("/".join(Path(place.path).parts[-2:])) & _words(parameters))


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    # A plural names the same.
    return frozenset(word.lower().rstrip("s") for word in _WORDS.split(text)) - _COMMON


@lru_cache(maxsize=65536)
def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words: `warned` is about what `warns` is about."""
    words = (word.lower() for word in _WORDS.split(text))
    return frozenset(word[:4] for word in words if len(word) > 3) - _KEYWORDS


def _same_revision(place: Place, test: TracedTest) -> int:
    """Return 1 for a test at the fact's revision, -1 for one at another revision."""
    named = _REVISION.findall(test.id)
    if not place.revision or not named:
        return 0
    return 1 if place.revision in named else -1

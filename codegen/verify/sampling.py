"""Instances of one definition: first each part of it in turn, then random ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from typing import Any

from codegen.errors import CodegenError
from codegen.schema.json_values import is_array, is_object
from codegen.verify.as_read import Schema, container
from codegen.verify.instances import PRESENT, REPEATS, Choose, Mutator, instance

CHANGES = 12
"""Number of changed values that are made of each random instance."""

DEPTH = 4
"""Depth of the objects whose keys are taken in turn: what is deeper has a definition of its own."""

_DEPTH_OF_ARMS = 2
_AS_PUBLISHED = 4
"""Every so many random instances one is made without the rows that name constants."""

_ALTERNATIVES = ("anyOf", "oneOf", "enum")


class Sampler:
    """Makes instances of a definition; one seed makes the same ones.

    `finished` is the document with the constants and members that only rows name: without them
    most instances would be refused for the same reason.
    """

    def __init__(
        self, definition: str, document: Schema, finished: Schema, keys: Sequence[str], seed: str
    ) -> None:
        self._definition = definition
        self._document = document
        self._finished = finished
        self._random = Random(seed)
        self._mutator = Mutator(self._random, keys)

    def in_turn(self) -> Iterator[Any]:
        """Yield the smallest and the fullest instance, each part of them wrong, and all arms."""
        for choose in (_first, _last):
            value = self._instance(self._finished, choose)
            yield value
            yield from self._mutator.each_part(value, DEPTH)
        alternatives = _most_alternatives(_of(self._document, self._definition))
        for number in range(alternatives):
            value = self._instance(self._finished, _alternative(number))
            yield value
            yield from self._mutator.drops(value, _DEPTH_OF_ARMS)

    def at_random(self) -> Iterator[Any]:
        """Yield random instances and changes of them, without end."""
        for number in count(1):
            as_published = number % _AS_PUBLISHED == 0
            source = self._document if as_published else self._finished
            value = self._instance(source, self._random.choice)
            yield value
            yield from self._mutator.changes(value, CHANGES)

    def _instance(self, source: Schema, choose: Choose) -> Any:
        try:
            return instance(source, _of(source, self._definition), choose)
        except RecursionError as error:
            raise CodegenError(
                f"{self._definition}: no finite instance can be made of it"
            ) from error


def _of(document: Schema, definition: str) -> Any:
    return document[container(document)][definition]


def _first(choices: Sequence[Any]) -> Any:
    return choices[0]


def _last(choices: Sequence[Any]) -> Any:
    return choices[-1]


def _alternative(number: int) -> Choose:
    """Return a choice of all members and items, and of one alternative after the other."""

    def choose(choices: Sequence[Any]) -> Any:
        everything = choices is PRESENT or choices is REPEATS
        return choices[-1 if everything else number % len(choices)]

    return choose


def _most_alternatives(schema: Any) -> int:
    """Return the largest number of arms or values that a schema offers at one place."""
    if is_object(schema):
        here = [len(schema[word]) for word in _ALTERNATIVES if is_array(schema.get(word))]
        return max([0, *here, *map(_most_alternatives, schema.values())])
    return max(map(_most_alternatives, schema), default=0) if is_array(schema) else 0

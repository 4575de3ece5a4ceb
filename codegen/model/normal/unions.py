"""Checks of unions: that arms exclude each other where the schema says so, and discriminators."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

from codegen.model.bounds import bounds
from codegen.model.normal.fold import Folder, kinds_of, plain, same, values_of
from codegen.model.normal.vocabulary import REF
from codegen.schema.json_values import Object, is_object
from codegen.schema.keywords import KEYWORDS, TYPES

UNIONS = ("anyOf", "oneOf")


def overlap(arms: list[Object], folder: Folder) -> tuple[int, int] | None:
    """Return the numbers of two arms that one value may satisfy, if there are any.

    Raises:
        Stopped: an arm that cannot be folded.
    """
    if _have_a_tag([folder.resolve(arm) for arm in arms]):
        return None
    for (i, one), (j, other) in combinations(enumerate(arms), 2):
        if not folder.disjoint(one, other):
            return i, j
    return None


def _have_a_tag(arms: list[Object]) -> bool:
    """Return True if a required property is a constant of its own in each arm, all objects."""
    constants = [
        {
            wire: same(member["const"])
            for wire, member in arm.get("properties", {}).items()
            if "const" in member and wire in arm.get("required", ()) and arm.get("type") == "object"
        }
        for arm in arms
    ]
    shared = set(constants[0]).intersection(*constants)
    return any(len({found[wire] for found in constants}) == len(arms) for wire in shared)


def without_tag(schema: Object, word: str, folder: Folder) -> int | None:
    """Return the number of an arm that lacks what its `discriminator` says of it.

    Each arm needs the property as a required constant; a `mapping` repeats its value.
    """
    wire = schema["discriminator"]["propertyName"]
    mapping: Object = schema["discriminator"].get("mapping", {})
    for i, arm in enumerate(schema[word]):
        whole = folder.resolve(arm)
        values = values_of(whole.get("properties", {}).get(wire, {})) or []
        told = [value for value, target in mapping.items() if _is_target(arm, str(target))]
        if len(values) != 1 or wire not in whole.get("required", ()) or told not in ([], values):
            return i
    return None


def unlike_bounds(arms: list[Object], folder: Folder, checked: Callable[[str], bool]) -> list[str]:
    """Return the bounds that some arms of a union have, and others that take the same kind lack.

    Beside the type of a union a bound is one of all values of its kind.
    """
    by_kind: dict[str, set[frozenset[tuple[tuple[str, ...], str, str]]]] = {}
    for arm in _leaves(arms, folder, set()):
        found = [
            (one.at, one.keyword, same(one.value)) for one in bounds(arm) if checked(one.keyword)
        ]
        for kind in kinds_of(arm):
            named = kind if kind in TYPES else "number"
            own = frozenset(one for one in found if one[0] or named in KEYWORDS[one[1]].kinds)
            by_kind.setdefault(kind, set()).add(own)
    unlike = (
        word
        for several in by_kind.values()
        for _, word, _ in frozenset[Any]().union(*several) - several.pop().intersection(*several)
    )
    return sorted(set(unlike))


def arms_without(words: list[str], arms: list[Object], folder: Folder) -> list[Any]:
    """Return the arms of a union without some bounds, those behind names written out."""
    made: list[Any] = []
    for arm in arms:
        whole = plain(_written_out(arm, folder, frozenset()))
        loose = _without(words, whole)
        made.append(plain(arm) if loose == whole else loose)
    return made


def _written_out(arm: Object, folder: Folder, inside: frozenset[str]) -> Object:
    """Return an arm with the names of unions and other types replaced by what they stand for."""
    if "$ref" in arm and name_of(arm) in inside:
        return arm
    whole = folder.resolve(arm)
    inner = next((word for word in UNIONS if word in whole), None)
    if inner is None:
        return whole
    names = inside | ({name_of(arm)} if "$ref" in arm else set[str]())
    return {**whole, inner: [_written_out(one, folder, names) for one in whole[inner]]}


def _without(words: list[str], schema: Object) -> Object:
    """Return a schema without some bounds, as `codegen.model.bounds` finds them."""
    made = {word: value for word, value in schema.items() if word not in words}
    if "properties" in made:
        return made
    for word in ("items", "additionalProperties"):
        if is_object(made.get(word)):
            made[word] = _without(words, made[word])
    for word in UNIONS:
        if word in made:
            made[word] = [_without(words, arm) for arm in made[word]]
    return made


def _leaves(arms: Iterable[Object], folder: Folder, passed: set[str]) -> Iterator[Object]:
    """Yield the arms of a union and of those inside it, with references followed."""
    for arm in arms:
        if "$ref" in arm:
            if name_of(arm) in passed:
                continue
            passed.add(name_of(arm))
        whole = folder.resolve(arm)
        inner = next((whole[word] for word in UNIONS if word in whole), None)
        if inner is None:
            yield whole
        else:
            yield from _leaves(inner, folder, passed)


def flat(arms: Iterable[Object]) -> list[Object]:
    """Return the arms of a union and of the unions inside it, each once."""
    found: list[Object] = []
    for arm in _each(arms):
        if arm not in found:
            found.append(arm)
    return found


def name_of(schema: Object) -> str:
    """Return the name of the definition that a schema refers to."""
    return str(schema["$ref"]).removeprefix(REF)


def _each(arms: Iterable[Object]) -> Iterator[Object]:
    for arm in arms:
        if set(arm) == {"anyOf"}:
            yield from arm["anyOf"]
        else:
            yield arm


def _is_target(arm: Object, target: str) -> bool:
    return "$ref" in arm and name_of(arm) == target.rpartition("/")[2]

"""Checks of unions: that arms exclude each other where the schema says so, and discriminators."""

from collections.abc import Iterable, Iterator
from itertools import combinations

from codegen.model.normal.fold import Folder, same, values_of
from codegen.model.normal.vocabulary import REF
from codegen.schema.json_values import Object

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

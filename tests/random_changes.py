"""Random changes of a JSON value, for tests that compare two readers of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from codegen.verify.instances import WRONG

if TYPE_CHECKING:
    from codegen.schema.structure import Json

ODD: Sequence[Json] = [
    *WRONG,
    "1",
    "complete",
    "text",
    0,
    -0.0,
    1.0,
    1e300,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64,
    2**70,
    -(2**63),
    -(2**70),
    [[]],
    {"": None},
    "\ud800",
]
"""Values for a random place: of each type, at the edge of what fits, and no Unicode text."""


def changed(value: Any, keys: Sequence[str], random: Random) -> Any:
    """Return the value with one change: a part replaced, dropped or added, or a key renamed.

    Args:
        value: JSON; it stays as it is.
        keys: Names for keys that are added or renamed.
        random: Chooses the place and the change.
    """
    inside = [*_places(value)]
    if not inside or random.random() < 0.15:
        return random.choice(ODD)
    holder, key = random.choice(inside)
    return _replaced(value, holder, _edited(holder, key, keys, random))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every object and array with each of its keys, and with None for a new one."""
    if isinstance(value, dict | list):
        yield value, None
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from _places(one)


def _replaced(value: Any, old: Any, new: Any) -> Any:
    """Return the value with another part at the place of this one."""
    if value is old:
        return new
    if isinstance(value, dict):
        return {key: _replaced(one, old, new) for key, one in value.items()}
    return [_replaced(one, old, new) for one in value] if isinstance(value, list) else value


def _edited(holder: Any, key: Any, keys: Sequence[str], random: Random) -> Any:
    odd = random.choice(ODD)
    if isinstance(holder, list):
        return [*holder, odd] if key is None else [*holder[:key], odd, *holder[key + 1 :]]
    if key is None:
        return {**holder, random.choice(keys): odd}
    others = {name: one for name, one in holder.items() if name != key}
    return random.choice(
        [others, {**others, random.choice(keys): holder[key]}, {**holder, key: odd}]
    )

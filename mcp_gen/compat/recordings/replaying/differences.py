"""Differences between a recorded message and a live one, ids and times aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from mcp_gen.compat.json_values import is_array, is_object
from mcp_gen.compat.recordings.pointers import Pointer, pointer_matches
from mcp_gen.compat.recordings.replaying.live_values import TIMES, LiveValues

if TYPE_CHECKING:
    from mcp_gen.compat.recordings.redactor import Redactor

__all__ = ["NOTHING", "Difference", "differences", "shown_value"]

NOTHING = "nothing"
MAX_SHOWN_CHARS = 300
"""Maximum length of a value in a difference."""
IDENTITIES = ("name", "uri", "uriTemplate", "id")
"""Members by which the objects of a list are told apart, not by their places."""


class Difference(Struct, frozen=True, kw_only=True):
    """Something that the live server did otherwise.

    Args:
        line: Number of the line in the recording; 0 for what is not recorded.
        about: The message: its method, or what it answers.
        path: JSON path of the value in the message; `$` for the message itself.
        expected: The recorded value.
        came: The live value.
    """

    line: int
    about: str
    path: str
    expected: str
    came: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.about} {self.path}: expected {self.expected}, came {self.came}"


class _Found(Struct, frozen=True):
    path: str
    expected: str
    came: str


def differences(
    expected: Any,
    came: Any,
    bindings: LiveValues,
    redactor: Redactor,
    *,
    line: int,
    about: str,
    ignored: Sequence[Pointer] = (),
) -> list[Difference]:
    """Return what differs between a recorded message and a live one.

    Args:
        expected: The recorded message.
        came: The live message.
        bindings: Live values by the recorded ones; those of this message are added.
        redactor: Replaces the secrets of what is shown.
        line: Number of the line of the recorded message.
        about: The message, as the differences name it.
        ignored: Pointers to what may differ.
    """
    found = list(_Comparison(bindings, ignored).compare(expected, came, "$", (), ""))
    shown = (redactor.text if isinstance(came, str) else redactor.message)(came) if found else came
    hidden: dict[str, str] | None = None
    if shown != came:
        # Once more, without secrets: the live values are shown.
        again = _Comparison(LiveValues(), ignored).compare(expected, shown, "$", (), "")
        hidden = {one.path: one.came for one in again}
    return [
        Difference(
            line=line,
            about=about,
            path=one.path,
            expected=one.expected,
            came=one.came if hidden is None else hidden.get(one.path) or redactor.text(one.came),
        )
        for one in found
    ]


def shown_value(value: Any) -> str:
    """Return a value as a difference shows it: JSON, cut off where it is long."""
    text = msgspec.json.encode(value).decode("utf-8", "replace")
    more = len(text) - MAX_SHOWN_CHARS
    return text if more <= 0 else f"{text[:MAX_SHOWN_CHARS]}... and {more} characters"


class _Comparison:
    def __init__(self, bindings: LiveValues, ignored: Sequence[Pointer]) -> None:
        self._bindings = bindings
        self._ignored = ignored

    def compare(
        self, expected: Any, came: Any, path: str, at: tuple[str, ...], name: str
    ) -> Iterator[_Found]:
        """Yield the differences between two values.

        Args:
            expected: The recorded value.
            came: The live value.
            path: Their path, as it is shown.
            at: Their path, as pointers have it.
            name: The name of the member that they are; empty for none.
        """
        if any(pointer_matches(pointer, at) for pointer in self._ignored):
            return
        if is_object(expected) and is_object(came):
            yield from self._objects(expected, came, path, at)
        elif is_array(expected) and is_array(came):
            yield from self._arrays(expected, came, path, at)
        elif not self._is_same(expected, came, name):
            yield _Found(path, shown_value(expected), shown_value(came))

    def _objects(
        self, expected: Any, came: Any, path: str, at: tuple[str, ...]
    ) -> Iterator[_Found]:
        for key in dict.fromkeys([*expected, *came]):
            here, place = f"{path}{_step(key)}", (*at, key)
            if any(pointer_matches(pointer, place) for pointer in self._ignored):
                continue
            if key not in came:
                yield _Found(here, shown_value(expected[key]), NOTHING)
            elif key not in expected:
                yield _Found(here, NOTHING, shown_value(came[key]))
            else:
                yield from self.compare(expected[key], came[key], here, place, key)

    def _arrays(self, expected: Any, came: Any, path: str, at: tuple[str, ...]) -> Iterator[_Found]:
        identity = _identity(expected, came)
        if identity is None:
            for number in range(max(len(expected), len(came))):
                here, place = f"{path}[{number}]", (*at, str(number))
                if number >= len(came):
                    yield _Found(here, shown_value(expected[number]), NOTHING)
                elif number >= len(expected):
                    yield _Found(here, NOTHING, shown_value(came[number]))
                else:
                    yield from self.compare(expected[number], came[number], here, place, "")
            return
        before = {one[identity]: one for one in expected}
        after = {one[identity]: one for one in came}
        both = [one for one in before if one in after]
        if both != [one for one in after if one in before]:
            order = shown_value([one for one in after if one in before])
            yield _Found(path, f"the order {shown_value(both)}", f"the order {order}")
        for number, key in enumerate(dict.fromkeys([*before, *after])):
            here = f"{path}[?@.{identity}=={shown_value(key)}]"
            if key not in after:
                yield _Found(here, shown_value(before[key]), NOTHING)
            elif key not in before:
                yield _Found(here, NOTHING, shown_value(after[key]))
            else:
                yield from self.compare(before[key], after[key], here, (*at, str(number)), "")

    def _is_same(self, expected: Any, came: Any, name: str) -> bool:
        if self._bindings.is_opaque(name):
            self._bindings.bind(expected, came)
            return isinstance(expected, str) == isinstance(came, str) and came is not None
        if isinstance(expected, str) and isinstance(came, str):
            return name in TIMES or self._bindings.matches(expected, came)
        if isinstance(expected, bool) or isinstance(came, bool):
            return expected is came
        if self._bindings.matches_number(expected, came):
            return True
        same: bool = expected == came
        return same


def _identity(expected: list[Any], came: list[Any]) -> str | None:
    """Return the member that tells the objects of two lists apart; None if none does."""
    if not expected or not came:
        return None
    for name in IDENTITIES:
        if all(_is_told_by(name, one) for one in (expected, came)):
            return name
    return None


def _is_told_by(name: str, objects: list[Any]) -> bool:
    found = [one.get(name) if is_object(one) else None for one in objects]
    return all(isinstance(one, str) for one in found) and len(set(found)) == len(found)


def _step(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{shown_value(key)}]"

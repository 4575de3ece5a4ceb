"""Locks: what a server promises at each revision, as a file that is compared line by line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import mcp_wire
from mcp_gen.contracts.subsumption.json_values import is_array, is_object
from mcp_gen.core.errors import UsageError

__all__ = [
    "LISTS",
    "PromisedList",
    "RevisionPromise",
    "ServerLock",
    "decode_lock",
    "encode_lock",
    "promised_items",
    "read_lock",
]

Json: TypeAlias = dict[str, Any]

FORMAT = 1
"""Number of the format: a later one may rename and remove members."""
MAX_BYTES = 64 * 1024 * 1024
"""Most bytes of a file that is read."""

_FORMAT_KEY, _REVISIONS = "mcpLock", "revisions"
_WITH, _WITHOUT = "with", "without"
_MODIFIED = "lastModified"
_INVISIBLE = re.compile(r"[^\n -~]")


@dataclass(frozen=True)
class PromisedList:
    """One list of a promise.

    Args:
        name: Its member in a lock, and of the list result.
        key: Member of an item that identifies it.
        lists: Python name of the method that lists it.
        capability: Capability that declares it.
        noun: Its items, in texts.
    """

    name: str
    key: str
    lists: str
    capability: str
    noun: str

    @property
    def attribute(self) -> str:
        """Name of the attribute of RevisionPromise."""
        return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", self.name)


LISTS = (
    PromisedList("tools", "name", "list_tools", "tools", "tool"),
    PromisedList("prompts", "name", "list_prompts", "prompts", "prompt"),
    PromisedList("resources", "uri", "list_resources", "resources", "resource"),
    PromisedList(
        "resourceTemplates",
        "uriTemplate",
        "list_resource_templates",
        "resources",
        "resource template",
    ),
)


@dataclass(frozen=True)
class RevisionPromise:
    """Promises of a server at one revision; its items are plain JSON as it has sent them.

    Args:
        capabilities: The capabilities that it declares.
        instructions: Its instructions; None for none.
        tools: Tools by name.
        prompts: Prompts by name.
        resources: Resources by URI.
        resource_templates: Resource templates by URI template.
    """

    capabilities: Json = field(default_factory=dict[str, Any])
    instructions: str | None = None
    tools: dict[str, Json] = field(default_factory=dict[str, Json])
    prompts: dict[str, Json] = field(default_factory=dict[str, Json])
    resources: dict[str, Json] = field(default_factory=dict[str, Json])
    resource_templates: dict[str, Json] = field(default_factory=dict[str, Json])

    def items(self, one: PromisedList) -> dict[str, Json]:
        """Return the items of a list by their keys."""
        found: dict[str, Json] = getattr(self, one.attribute)
        return found


@dataclass(frozen=True)
class ServerLock:
    """Promises of a server at every revision that it speaks.

    Args:
        server: Its name, title and version, as it says.
        revisions: Promises by revision, the newest first.
    """

    server: Json
    revisions: Mapping[str, RevisionPromise]


def promised_items(one: PromisedList, listed: Iterable[Json]) -> dict[str, Json]:
    """Return listed items by their keys, without members that change from day to day.

    A key that is listed again is `name (2)`.

    Args:
        one: The list.
        listed: The items of all its pages.
    """
    found: dict[str, Json] = {}
    for item in listed:
        made = {name: value for name, value in item.items() if name != "size"}
        hints = made.get("annotations")
        if is_object(hints):
            made["annotations"] = {key: hint for key, hint in hints.items() if key != _MODIFIED}
        key = name = str(item.get(one.key, ""))
        number = 1
        while key in found:
            number += 1
            key = f"{name} ({number})"
        found[key] = made
    return found


# --- writing ---


def encode_lock(lock: ServerLock) -> str:
    """Return a lock as indented JSON with sorted members: the same for the same promises.

    The newest revision stands whole. An older one has what differs from the next newer one: an
    item that differs has the members that it is `with` and `without`, one that is not listed is
    null. Characters that cannot be seen are escaped.
    """
    revisions: Json = {}
    newer: RevisionPromise | None = None
    for revision in _newest_first(lock.revisions):
        promise = lock.revisions[revision]
        revisions[revision] = _whole(promise) if newer is None else _difference(newer, promise)
        newer = promise
    # Sorted but for the revisions: each says what differs from the one before it.
    made = {_FORMAT_KEY: FORMAT, "server": _sorted(lock.server)}
    made[_REVISIONS] = {name: _sorted(one) for name, one in revisions.items()}
    return _INVISIBLE.sub(_escaped, json.dumps(made, indent=2, ensure_ascii=False)) + "\n"


def _newest_first(revisions: Iterable[str]) -> list[str]:
    known = {name: place for place, name in enumerate(mcp_wire.REVISIONS)}
    return sorted(revisions, key=lambda name: known.get(name, -1), reverse=True)


def _sorted(value: Any) -> Any:
    if is_object(value):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(one) for one in value] if is_array(value) else value


def _escaped(found: re.Match[str]) -> str:
    one = found[0]
    return one if one.isprintable() else json.dumps(one)[1:-1]


def _whole(promise: RevisionPromise) -> Json:
    made: Json = {"capabilities": promise.capabilities}
    if promise.instructions is not None:
        made["instructions"] = promise.instructions
    made |= {one.name: items for one in LISTS if (items := promise.items(one))}
    return made


def _difference(newer: RevisionPromise, promise: RevisionPromise) -> Json:
    made: Json = {}
    if not _same(newer.capabilities, promise.capabilities):
        made["capabilities"] = promise.capabilities
    if newer.instructions != promise.instructions:
        made["instructions"] = promise.instructions
    for one in LISTS:
        before, after = newer.items(one), promise.items(one)
        items = {
            name: _item_difference(before.get(name, {}), after[name]) if name in after else None
            for name in before.keys() | after.keys()
            if name not in after or name not in before or not _same(before[name], after[name])
        }
        if items:
            made[one.name] = items
    return made


def _item_difference(newer: Json, item: Json) -> Json:
    gone = [name for name in newer if name not in item]
    other = {
        name: value
        for name, value in item.items()
        if name not in newer or not _same(newer[name], value)
    }
    return {**({_WITHOUT: sorted(gone)} if gone else {}), **({_WITH: other} if other else {})}


def _same(one: Any, other: Any) -> bool:
    # Not `==`, to which 1 and True are the same.
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# --- reading ---


def read_lock(path: str | os.PathLike[str]) -> ServerLock:
    """Return the lock in a file.

    Raises:
        UsageError: the file cannot be read, or is no lock.
    """
    name = os.fspath(path)
    try:
        if os.path.getsize(path) > MAX_BYTES:
            raise UsageError(f"{name}: is larger than {MAX_BYTES // 2**20} MiB")
        text = Path(path).read_text("utf-8")
    except FileNotFoundError:
        raise UsageError(
            f"{name}: there is no such lock; `mcp-gen lock TARGET -o {name}` makes one"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(f"{name}: cannot be read: {why}") from None
    return decode_lock(text, name)


def decode_lock(text: str, where: str = "lock") -> ServerLock:
    """Return the lock that `encode_lock` has written.

    Args:
        text: The JSON.
        where: Its file, for texts of errors.

    Raises:
        UsageError: it is no lock, or one of another format.
    """
    again = "`mcp-gen lock TARGET -o FILE` makes it again"
    try:
        made: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{where}: is no JSON; {again}") from None
    if not is_object(made) or _FORMAT_KEY not in made:
        raise UsageError(f"{where}: is no lock; {again}")
    if made[_FORMAT_KEY] != FORMAT:
        raise UsageError(f"{where}: is a lock of format {made[_FORMAT_KEY]}, not {FORMAT}; {again}")
    try:
        return _decoded(made)
    except (AttributeError, KeyError, TypeError):
        raise UsageError(f"{where}: is a lock that has been damaged; {again}") from None


def _decoded(made: Json) -> ServerLock:
    revisions: dict[str, RevisionPromise] = {}
    newer = RevisionPromise()
    for name, said in made[_REVISIONS].items():
        lists = {
            one.attribute: _items(newer.items(one), said.get(one.name, {}), whole=not revisions)
            for one in LISTS
        }
        newer = RevisionPromise(
            capabilities=dict(said.get("capabilities", newer.capabilities)),
            instructions=said.get("instructions", newer.instructions),
            **lists,
        )
        revisions[name] = newer
    if not revisions:
        raise KeyError(_REVISIONS)
    return ServerLock(dict(made["server"]), revisions)


def _items(newer: dict[str, Json], said: Json, *, whole: bool) -> dict[str, Json]:
    if whole:
        return {name: dict(one) for name, one in said.items()}
    found = {name: one for name, one in newer.items() if name not in said}
    for name, change in said.items():
        if change is not None:
            gone = change.get(_WITHOUT, ())
            base = {key: one for key, one in newer.get(name, {}).items() if key not in gone}
            found[name] = {**base, **change.get(_WITH, {})}
    return found

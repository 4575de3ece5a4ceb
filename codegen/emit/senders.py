"""Finds who sends the values of each definition, by the references between definitions.

A definition that nothing sent refers to (`PaginatedResult`, `ClientRequest`, `BaseMetadata`) stands
in the schema for its writer: what it says is repeated where it is used.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from codegen.emit.members import members, required
from codegen.model import ir

Side: TypeAlias = Literal["client", "server"]

SIDES: tuple[Side, Side] = ("client", "server")

_REQUESTERS: Mapping[ir.Direction, tuple[Side, ...]] = {
    "client_to_server": ("client",),
    "server_to_client": ("server",),
    "both": SIDES,
    "embedded": ("server",),
}


def senders(revision: ir.Revision) -> dict[str, tuple[Side, ...]]:
    """Return who sends the values of each definition; one that is not sent is left out."""
    found: dict[str, set[Side]] = {}
    for names, sides in _roots(revision):
        for name in _reached(revision, names):
            found.setdefault(name, set()).update(sides)
    return {name: tuple(side for side in SIDES if side in sides) for name, sides in found.items()}


def results(revision: ir.Revision) -> set[str]:
    """Return the definitions whose values results may hold, however deep."""
    return _reached(revision, (name for method in revision.methods for name in method.results))


def implied(revision: ir.Revision) -> set[str]:
    """Return the fields of messages that JSON-RPC demands, as `CallToolRequest.id`.

    A message has them whether its own definition repeats them or not.
    """
    demanded: dict[str, set[str]] = {}
    for name in _reached(revision, _frames(revision)) & revision.structs.keys():
        wires = {wire for wire, one in members(revision.structs[name]).items() if required(one)}
        if {"jsonrpc", "method"} <= wires:
            demanded["request" if "id" in wires else "notification"] = wires - {"method"}
    return {
        f"{method.message}.{wire}"
        for method in revision.methods
        if method.kind in demanded
        for wire in demanded[method.kind]
    }


def _roots(revision: ir.Revision) -> Iterable[tuple[Iterable[str], tuple[Side, ...]]]:
    for method in revision.methods:
        askers = _REQUESTERS[method.direction]
        yield (method.message, method.params), askers
        yield method.results, tuple(side for side in SIDES if side not in askers) or SIDES
    yield [*_frames(revision), *_errors(revision)], SIDES


def _frames(revision: ir.Revision) -> list[str]:
    """Return the unions of all that one frame may hold: those that no other such union covers."""
    messages = {method.message for method in revision.methods}
    envelopes = {
        name
        for name, struct in revision.structs.items()
        if name not in messages and "jsonrpc" in members(struct)
    }
    covered = {
        name: arms
        for name, alias in revision.aliases.items()
        if (arms := _reached(revision, ir.mentions(alias.type)) & envelopes)
        and set(ir.mentions(alias.type)) <= envelopes | revision.aliases.keys()
    }
    return [
        name for name, arms in covered.items() if not any(arms < more for more in covered.values())
    ]


def _errors(revision: ir.Revision) -> list[str]:
    """Return the error objects with a code of their own."""
    codes = {(error.code,) for error in revision.errors}
    return [
        name
        for name, struct in revision.structs.items()
        for field in struct.fields
        if isinstance(field.type, ir.Choice) and field.type.values in codes
    ]


def _reached(revision: ir.Revision, names: Iterable[str]) -> set[str]:
    """Return definitions with all those that they refer to, however deep."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _mentioned(revision, name)
    return found


def _mentioned(revision: ir.Revision, name: str) -> Iterable[str]:
    yield from revision.refers.get(name, ())
    if name in revision.structs:
        for field in members(revision.structs[name]).values():
            yield from ir.mentions(field.type)
    elif name in revision.aliases:
        yield from ir.mentions(revision.aliases[name].type)

"""Data of `mcp_wire.changes`: the shapes of every name by revision, and their relations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeAlias, TypeVar

from codegen.emit.members import members, required
from codegen.emit.python_source import annotation
from codegen.emit.senders import implied, senders
from codegen.model import ir
from codegen.model.overlay import Overlay

T = TypeVar("T")

Dated: TypeAlias = list[tuple[str, T]]
"""From the date on that is named: the state, or an empty one where there is none any more."""

Renames: TypeAlias = dict[str, dict[str, str]]
"""For each revision that renames types, the new name by the old one."""

Relation: TypeAlias = Literal["same", "widened", "narrowed", "values", "changed"]

_Node: TypeAlias = ir.Type | ir.Struct

OBJECT = "object"
"""The shape of a struct: its fields have rows of their own."""


@dataclass(frozen=True)
class MethodShape:
    """Shape of a method at one revision; types are text, as everywhere in the table."""

    kind: str
    direction: str
    params: str
    results: tuple[str, ...]
    capability: str


@dataclass(frozen=True)
class FieldRow:
    """Shapes of a field over time: one if it never changes, else dated ones."""

    wire: str
    always: str
    dated: Dated[str]


@dataclass(frozen=True)
class Table:
    """The data of the generated module."""

    methods: list[tuple[str, Dated[MethodShape | None]]]
    types: list[tuple[str, Dated[str]]]
    fields: list[tuple[str, list[FieldRow]]]
    renames: Renames
    relations: list[tuple[str, list[tuple[str, str, Relation]]]]
    senders: list[tuple[str, Dated[str]]]
    """For each type the sides that send its values, as text; empty while nothing sent has it."""
    implied: list[str]
    """Changing fields of messages that JSON-RPC demands whether the definition has them or not."""


def table(revisions: list[ir.Revision], overlay: Overlay) -> Table:
    """Build the table of all names over time, with the relations between their shapes."""
    names = sorted({name for revision in revisions for name in _defined(revision)})
    sent = [(revision.name, senders(revision)) for revision in revisions]
    demanded = {path for revision in revisions for path in implied(revision)}
    fields = [(n, rows) for n in names if (rows := _fields(revisions, n))]
    changing = {f"{name}.{row.wire}" for name, rows in fields for row in rows if row.dated}
    made = Table(
        methods=_methods(revisions),
        types=[(n, _changing([(r.name, _type_shape(r, n)) for r in revisions])) for n in names],
        fields=fields,
        renames=_renames(revisions, overlay),
        relations=[],
        senders=[
            (name, _changing([(date, " ".join(by.get(name, ()))) for date, by in sent]))
            for name in names
            if any(name in by for _, by in sent)
        ],
        implied=sorted(demanded & changing),
    )
    return replace(made, relations=_relations(revisions, made))


def _defined(revision: ir.Revision) -> set[str]:
    return {*revision.structs, *revision.aliases}


# --- over time ---


def _renames(revisions: list[ir.Revision], overlay: Overlay) -> Renames:
    found: Renames = {}
    for before, after in pairwise(revisions):
        gone, come = _defined(before) - _defined(after), _defined(after) - _defined(before)
        for row in overlay.rows("renamed", after.name):
            if row["old"] in gone and row["new"] in come:
                row.use("the row")
                found.setdefault(after.name, {})[row["old"]] = row["new"]
    return found


def _methods(revisions: list[ir.Revision]) -> list[tuple[str, Dated[MethodShape | None]]]:
    by_date = [(r.name, {m.wire: _method_shape(m) for m in r.methods}) for r in revisions]
    kinds = {wire: method.kind for _, found in by_date for wire, method in found.items()}
    return [
        (wire, _changing([(date, found.get(wire)) for date, found in by_date]))
        for wire in sorted(kinds, key=lambda wire: (kinds[wire] != "request", wire))
    ]


def _method_shape(method: ir.Method) -> MethodShape:
    return MethodShape(
        method.kind, method.direction, method.params, method.results, method.capability
    )


def _type_shape(revision: ir.Revision, name: str) -> str:
    if name in revision.structs:
        return OBJECT
    alias = revision.aliases.get(name)
    return annotation(alias.type) if alias else ""


def _fields(revisions: list[ir.Revision], owner: str) -> list[FieldRow]:
    by_date = [(r.name, members(r.structs[owner])) for r in revisions if owner in r.structs]
    wires = dict.fromkeys(wire for _, found in by_date for wire in found)
    rows: list[FieldRow] = []
    for wire in wires:
        states = [(date, _field_shape(found.get(wire))) for date, found in by_date]
        lasts = len({state for _, state in states}) == 1
        always = states[0][1] if lasts else ""
        rows.append(FieldRow(wire, always, [] if lasts else _changing(states)))
    return rows


def _field_shape(field: ir.Field | None) -> str:
    if field is None:
        return ""
    return annotation(field.type) + ("" if required(field) else "?")


def _changing(states: Iterable[tuple[str, T]]) -> Dated[T]:
    """Keep the first of each run of equal states, from the first non-empty one on."""
    found: Dated[T] = []
    for date, state in states:
        if (state != found[-1][1]) if found else state:
            found.append((date, state))
    return found


# --- how two shapes of one name relate ---


def _relations(
    revisions: list[ir.Revision], table: Table
) -> list[tuple[str, list[tuple[str, str, Relation]]]]:
    """Return the relations of each two different shapes of a name, by their start dates.

    A type that was renamed goes by its newer name. Shapes that say the same are left out.
    """
    since = _Since([revision.name for revision in revisions], table)
    found: dict[str, dict[tuple[str, str], Relation]] = {}
    for start, old in enumerate(revisions):
        renamed: dict[str, str] = {}
        for new in revisions[start + 1 :]:
            step = table.renames.get(new.name, {})
            renamed = {name: step.get(now, now) for name, now in (step | renamed).items()}
            for was, now, one, other in _same_name(old, new, renamed):
                relation = _relation(_Shape(one, old, renamed), _Shape(other, new, {}))
                if relation != "same" and _text(one) != _text(other):
                    dates = since(was, old.name), since(now, new.name)
                    found.setdefault(now, {}).setdefault(dates, relation)
    return [
        (name, [(*dates, relation) for dates, relation in sorted(pairs.items())])
        for name, pairs in sorted(found.items())
    ]


class _Since:
    """Finds the date since which a name has its shape; empty if the shape never changes."""

    def __init__(self, order: list[str], table: Table) -> None:
        self._order = order
        self._dates = {
            **{wire: [date for date, _ in dated] for wire, dated in table.methods},
            **{name: [date for date, _ in dated] for name, dated in table.types},
            **{
                f"{name}.{row.wire}": [date for date, _ in row.dated]
                for name, rows in table.fields
                for row in rows
            },
        }

    def __call__(self, name: str, at: str) -> str:
        passed = self._order[: self._order.index(at) + 1]
        return next((date for date in reversed(self._dates[name]) if date in passed), "")


def _same_name(
    old: ir.Revision, new: ir.Revision, renamed: dict[str, str]
) -> Iterator[tuple[str, str, _Node, _Node]]:
    """Yield the nodes that both dates have: types, fields of structs, params of methods."""
    there = _defined(new)
    for name in sorted(_defined(old)):
        now = renamed.get(name, name)
        if now not in there:
            continue
        one = old.structs.get(name) or old.aliases[name].type
        other = new.structs.get(now) or new.aliases[now].type
        yield name, now, one, other
        if isinstance(one, ir.Struct) and isinstance(other, ir.Struct):
            before, after = members(one), members(other)
            for wire in before.keys() & after.keys():
                yield f"{name}.{wire}", f"{now}.{wire}", before[wire].type, after[wire].type
    params = {method.wire: method.params for method in new.methods}
    for method in old.methods:
        if method.wire in params:
            yield method.wire, method.wire, ir.Ref(method.params), ir.Ref(params[method.wire])


def _text(type_: _Node) -> str:
    return OBJECT if isinstance(type_, ir.Struct) else annotation(type_)


@dataclass(frozen=True)
class _Shape:
    """A type at its date; `renamed` maps its names to later ones."""

    node: _Node
    at: ir.Revision
    renamed: dict[str, str]

    def of(self, node: _Node) -> "_Shape":
        return _Shape(node, self.at, self.renamed)

    @property
    def name(self) -> str:
        name = self.node.name if isinstance(self.node, ir.Ref | ir.Struct) else ""
        return self.renamed.get(name, name)

    def has(self, name: str) -> bool:
        """Return True if a struct has this name at this date or later."""
        structs, renamed = self.at.structs, self.renamed
        if name in structs and renamed.get(name, name) == name:
            return True
        return any(now == name and was in structs for was, now in renamed.items())

    def arms(self) -> list[str]:
        arms = self.node.arms if isinstance(self.node, ir.OneOf) else ()
        return [self.of(arm).name for arm in arms if isinstance(arm, ir.Ref)]

    def resolved(self) -> "_Shape":
        """Return the struct, scalar, list, map or union that an alias refers to."""
        if not isinstance(self.node, ir.Ref):
            return self
        struct = self.at.structs.get(self.node.name)
        return self.of(struct or self.at.aliases[self.node.name].type).resolved()


def _relation(one: _Shape, other: _Shape) -> Relation:
    before, after = one.resolved().node, other.resolved().node
    if isinstance(before, ir.Choice) and isinstance(after, ir.Choice):
        return "values" if set(before.values) & set(after.values) else "changed"
    wider, narrower = _within(one, other, ()), _within(other, one, ())
    if wider and narrower:
        return "same"
    return "widened" if wider else "narrowed" if narrower else "changed"


def _within(one: _Shape, other: _Shape, asked: tuple[tuple[str, str], ...]) -> bool:
    """Return True if every value of one type is a value of the other.

    One name, renamed or not, is one type: where it differs, that is a row of its own.
    """
    if one.name and (one.name == other.name or one.name in other.arms()):
        return True
    one, other = one.resolved(), other.resolved()
    match one.node, other.node:
        case _, ir.Scalar("any"):
            return True
        case ir.OneOf(arms), ir.OneOf(allowed):
            return all(
                any(_arm_within(one.of(arm), other.of(also), asked) for also in allowed)
                for arm in arms
            )
        case ir.OneOf(arms), _:  # which may be a union of one arm
            return all(_arm_within(one.of(arm), other, asked) for arm in arms)
        case _, ir.OneOf(arms):
            return any(_within(one, other.of(arm), asked) for arm in arms)
        case ir.Scalar("int"), ir.Scalar("number"):
            return True
        case ir.Choice(values), ir.Choice(allowed):
            return set(values) <= set(allowed)
        case ir.Choice(values), ir.Scalar(name):
            return {type(value).__name__ for value in values} == {name}
        case (ir.ListOf(inner), ir.ListOf(wanted)) | (ir.MapOf(inner), ir.MapOf(wanted)):
            return _within(one.of(inner), other.of(wanted), asked)
        case ir.Struct() as struct, ir.MapOf(wanted):
            inside = [one.of(field.type) for field in members(struct).values()]
            return all(_within(field, other.of(wanted), asked) for field in inside)
        case ir.Struct() as struct, ir.Struct() as whole:
            pair = struct.name, whole.name
            return pair in asked or _struct_within(one, other, (*asked, pair))
        case _:
            return one.node == other.node


def _arm_within(one: _Shape, other: _Shape, asked: tuple[tuple[str, str], ...]) -> bool:
    """As `_within`, but arms of different names differ, unless each is unknown at the other date.

    `ElicitResult` would pass for `Result`, which asks for nothing: yet a union gains an arm by it.
    """
    if one.name and other.name and one.name != other.name:
        structs = one.resolved().node, other.resolved().node
        if isinstance(structs[1], ir.OneOf):
            return _within(one, other, asked)
        if not all(isinstance(node, ir.Struct) for node in structs):
            return False
        if other.has(one.name) or one.has(other.name):
            return False
    return _within(one, other, asked)


def _struct_within(one: _Shape, other: _Shape, asked: tuple[tuple[str, str], ...]) -> bool:
    """Return True if every object of one struct is also an object of the other."""
    assert isinstance(one.node, ir.Struct)
    assert isinstance(other.node, ir.Struct)
    has, wants = members(one.node), members(other.node)
    return all(
        _within(one.of(has[wire].type), other.of(field.type), asked)
        and required(has[wire]) >= required(field)
        if wire in has
        else not required(field)
        for wire, field in wants.items()
    )

"""Markdown reference pages: each type over all revisions, the methods, and an index."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import jinja2

from codegen.emit.python_source import annotation, literal
from codegen.emit.renderer import COMPILED
from codegen.model import ir
from codegen.model.docs import Docs, documented_types
from codegen.model.overlay import Overlay

_ABSENT = "-"
_KINDS = {
    "scalar": "alias",
    "alias": "alias",
    "tag": "union",
    "pick": "union",
    "typing": "union, for type checkers only",
}
_SENDERS = {
    "client_to_server": "client",
    "server_to_client": "server",
    "both": "client or server",
    "embedded": "server, inside a result",
}
_UNIONS = ("tag", "pick", "typing")

Member: TypeAlias = ir.Struct | ir.Alias


@dataclass(frozen=True)
class Table:
    """A Markdown table; all rows have the length of the header."""

    head: list[str]
    rows: list[list[str]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


@dataclass(frozen=True)
class Page:
    """The reference page of one type at all revisions."""

    name: str
    meaning: str
    notes: list[str]
    availability: Table
    fields: Table | None
    definition: Table | None
    arms: Table | None
    used_by: list[str]


def reference(
    revisions: list[ir.Revision], overlay: Overlay, docs: Docs, subject: str = "the protocol"
) -> dict[Path, str]:
    """Render every page, by path inside the reference folder."""
    return _Reference(revisions, overlay, docs).run(subject)


class _Reference:
    def __init__(self, revisions: list[ir.Revision], overlay: Overlay, docs: Docs) -> None:
        self._revisions = revisions
        self._dates = [revision.name for revision in revisions]
        self._overlay = overlay
        self._docs = docs
        self._pages = {name for revision in revisions for name in documented_types(revision)}
        self._messages = {m.message: m.kind for r in revisions for m in r.methods}
        self._uses = self._all_uses()
        self._other_names = overlay.other_names(revisions)
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("codegen"),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
            bytecode_cache=COMPILED,
        )

    def run(self, subject: str) -> dict[Path, str]:
        files = {
            Path(f"{name}.md"): self._render("type", page=self._page(name))
            for name in sorted(self._pages)
        }
        files[Path("methods.md")] = self._render(
            "methods",
            requests=self._methods("request"),
            notifications=self._methods("notification"),
        )
        files[Path("README.md")] = self._render(
            "index",
            subject=subject,
            dates=self._dates,
            changes=len(self._dates) > 1,
            sections=self._sections(),
            frames=self._frames(),
        )
        return files

    def _render(self, name: str, **values: Any) -> str:
        return self._templates.get_template(f"reference_{name}.md.jinja").render(values)

    # --- a type ---

    def _page(self, name: str) -> Page:
        found = {
            revision.name: member
            for revision in self._revisions
            if (member := _member(revision, name)) is not None
        }
        structs = {date: one for date, one in found.items() if isinstance(one, ir.Struct)}
        aliases = {date: one for date, one in found.items() if isinstance(one, ir.Alias)}
        unions = {date: one for date, one in aliases.items() if one.strategy in _UNIONS}
        plain = {date: one for date, one in aliases.items() if one.strategy not in _UNIONS}
        return Page(
            name=name,
            meaning=self._docs.type(name),
            notes=[*self._notes(name, found), *_union_notes(unions.values())],
            availability=self._availability(name, found),
            fields=self._fields(structs) if structs else None,
            definition=self._definition(plain) if plain else None,
            arms=self._arms(unions) if unions else None,
            used_by=self._uses.get(name, []),
        )

    def _notes(self, name: str, found: Mapping[str, Member]) -> Iterator[str]:
        for advice, dates in self._grouped({d: one.deprecated for d, one in found.items()}):
            if advice:
                yield f"**Deprecated** ({dates}): {advice}"
        raw = [one.raw for one in found.values() if isinstance(one, ir.Struct) and one.raw]
        if raw:
            fields = ", ".join(f"`{wire}`" for wire in raw[-1])
            yield f"`Raw{name}` is the same with {fields} left undecoded."
        if any(isinstance(one, ir.Struct) and one.open for one in found.values()):
            yield "Other keys are kept: `extra` has them, and `with_extra` adds them."
        others = [other for other in self._other_names.get(name, ()) if other in self._pages]
        if others:
            yield f"At other revisions it is called {', '.join(map(self._link, others))}."

    def _availability(self, name: str, found: Mapping[str, Member]) -> Table:
        rows: list[list[str]] = []
        for revision in self._revisions:
            member = found.get(revision.name)
            if member is None:
                rows.append([revision.name, "absent", "", ""])
                continue
            page = revision.pages[name]
            link = f"[{page}]({revision.spec}/{page})" if revision.spec else ""
            rows.append([revision.name, _kind(member), f"`mcp_wire.{revision.module}`", link])
        return Table(["Revision", "Kind", "Module", "Specification"], rows)

    def _fields(self, structs: Mapping[str, ir.Struct]) -> Table:
        newest_first = reversed([*structs.values()])
        wires = _merged([field.wire for field in _with_tag(struct)] for struct in newest_first)
        by_wire: dict[str, dict[str, ir.Field]] = {wire: {} for wire in wires}
        for date, struct in structs.items():
            for field in _with_tag(struct):
                by_wire[field.wire][date] = field
        (name,) = {struct.name for struct in structs.values()}
        return Table(
            ["Wire name", "Python name", "Type", "Meaning", *self._dates],
            [self._field_row(name, wire, fields) for wire, fields in by_wire.items()],
        )

    def _field_row(self, owner: str, wire: str, fields: Mapping[str, ir.Field]) -> list[str]:
        names = {date: f"`{field.name}`" for date, field in fields.items()}
        types = {date: self._type(field.type) for date, field in fields.items()}
        remarks = {date: _remark(field) for date, field in fields.items()}
        advice = {
            date: f"Deprecated: {field.deprecated}" if field.deprecated else ""
            for date, field in fields.items()
        }
        constants = {date: _constant(field) for date, field in fields.items()}
        says = self._docs.field(owner, wire) or self._varying(constants)
        meaning = [says, self._varying(remarks), self._varying(advice)]
        return [
            f"`{wire}`",
            self._varying(names),
            self._varying(types),
            " ".join(part for part in meaning if part),
            *self._marks({date: _mark(field) for date, field in fields.items()}),
        ]

    def _definition(self, aliases: Mapping[str, ir.Alias]) -> Table:
        texts = {date: self._type(alias.type) for date, alias in aliases.items()}
        return Table(
            ["Revision", "Definition"], [[dates, text] for text, dates in self._grouped(texts)]
        )

    def _arms(self, unions: Mapping[str, ir.Alias]) -> Table:
        newest_first = reversed([*unions.values()])
        arms = _merged([self._type(arm) for arm in _arms_in_order(alias)] for alias in newest_first)
        told: dict[str, dict[str, str]] = {arm: {} for arm in arms}
        for revision in self._revisions:
            if alias := unions.get(revision.name):
                for arm in _arms_in_order(alias):
                    told[self._type(arm)][revision.name] = _told_apart(alias, arm, revision)
        return Table(
            ["Arm", "Told apart by", *self._dates],
            [
                [arm, self._varying(texts), *self._marks(dict.fromkeys(texts, "yes"))]
                for arm, texts in told.items()
            ],
        )

    # --- what refers to what ---

    def _all_uses(self) -> dict[str, list[str]]:
        """Return, for each type, the methods and types that use it."""
        uses: dict[str, dict[str, None]] = {}

        def use(name: str, text: str) -> None:
            uses.setdefault(name, {})[text] = None

        for revision in self._revisions:
            for method in revision.methods:
                where = f"[`{method.wire}`](methods.md#{method.kind}s)"
                use(method.params, f"{where}, as its params")
                for result in method.results:
                    use(result, f"{where}, as its result")
            for name, inner in _mentioned(revision):
                if name in self._pages:
                    use(inner, self._link(name))
        return {name: sorted(texts) for name, texts in uses.items()}

    # --- methods ---

    def _methods(self, kind: ir.Kind) -> Table:
        by_wire: dict[str, dict[str, ir.Method]] = {}
        for revision in self._revisions:
            for method in revision.methods:
                if method.kind == kind:
                    by_wire.setdefault(method.wire, {})[revision.name] = method
        columns: dict[str, Callable[[ir.Method], str]] = {
            "Method": lambda method: f"`{method.wire}`",
            "Python name": lambda method: f"`{method.name}`",
            "Sent by": lambda method: _SENDERS[method.direction],
            "Params": lambda method: self._link(method.params),
        }
        if kind == "request":
            columns["Result"] = lambda method: " or ".join(map(self._link, method.results))
            columns["Capability"] = lambda method: (
                f"`{method.capability}`" if method.capability else "none"
            )
        rows = [
            [
                *(
                    self._varying({d: text(m) for d, m in found.items()})
                    for text in columns.values()
                ),
                *self._marks(
                    {d: "deprecated" if m.deprecated else "yes" for d, m in found.items()}
                ),
            ]
            for _, found in sorted(by_wire.items())
        ]
        return Table([*columns, *self._dates], rows)

    # --- the index ---

    def _sections(self) -> list[tuple[str, Table]]:
        """Group the pages under the section titles of each type's newest revision."""
        sections = [[*_sectioned(revision)] for revision in reversed(self._revisions)]
        order = _merged([title for title, _ in each] for each in sections)
        titles: dict[str, str] = {}
        for title, names in (one for each in sections for one in each):
            for name in names:
                titles.setdefault(name, title)
        return [
            (title, Table(["Type", "Meaning", "Revisions"], rows))
            for title in order
            if (
                rows := [
                    self._index_row(n) for n in titles if titles[n] == title and n in self._pages
                ]
            )
        ]

    def _index_row(self, name: str) -> list[str]:
        dates = [revision.name for revision in self._revisions if _member(revision, name)]
        everywhere = len(dates) == len(self._dates)
        return [
            self._link(name),
            self._docs.type(name),
            "all" if everywhere else self._spans(dates),
        ]

    def _frames(self) -> list[str]:
        """Return the types without a page."""
        names = {name for revision in self._revisions for name in _names(revision)}
        return sorted(names - self._pages)

    # --- text ---

    def _link(self, name: str) -> str:
        if name in self._pages:
            return f"[`{name}`]({name}.md)"
        kind = self._messages.get(name)
        return f"[`{name}`](methods.md#{kind}s)" if kind else f"`{name}`"

    def _type(self, type_: ir.Type) -> str:
        """Return the annotation with every name linked to its page."""
        # A bar stays outside of the code: at the edge of a code span its spaces would be lost.
        parts: list[str] = re.split(r"( \| |«\w+»)", _marked(type_))
        return "".join(
            part if part == " | " else self._link(part[1:-1]) if part[:1] == "«" else f"`{part}`"
            for part in parts
            if part
        )

    def _marks(self, marks: Mapping[str, str]) -> list[str]:
        return [marks.get(date, _ABSENT) for date in self._dates]

    def _varying(self, texts: Mapping[str, str]) -> str:
        """Return one text if all revisions agree, else each text with its revisions."""
        groups = self._grouped(texts)
        if len(groups) == 1:
            return groups[0][0]
        return "<br>".join(f"{text} ({dates})" for text, dates in groups if text)

    def _grouped(self, texts: Mapping[str, str]) -> list[tuple[str, str]]:
        """Return each distinct text with its revisions."""
        dates: dict[str, list[str]] = {}
        for date in self._dates:
            if date in texts:
                dates.setdefault(texts[date], []).append(date)
        return [(text, self._spans(found)) for text, found in dates.items()]

    def _spans(self, dates: list[str]) -> str:
        runs: list[list[str]] = []
        for date in dates:
            before = self._dates.index(date) - 1
            if runs and self._dates.index(runs[-1][-1]) == before:
                runs[-1].append(date)
            else:
                runs.append([date])
        return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def _merged(lists: Iterable[list[str]]) -> list[str]:
    """Merge lists without duplicates, keeping the order of the first and then of the others."""
    order: list[str] = []
    for items in lists:
        place = 0
        for item in items:
            if item not in order:
                order.insert(place, item)
            place = order.index(item) + 1
    return order


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _names(revision: ir.Revision) -> Iterator[str]:
    yield from revision.structs
    yield from revision.aliases


def _member(revision: ir.Revision, name: str) -> Member | None:
    return revision.structs.get(name) or revision.aliases.get(name)


def _kind(member: Member) -> str:
    return "struct" if isinstance(member, ir.Struct) else _KINDS[member.strategy]


def _with_tag(struct: ir.Struct) -> Iterator[ir.Field]:
    """Yield the fields of a struct, with the tag as a constant field."""
    if struct.tag:
        tag = struct.tag
        yield ir.Field(tag.wire, tag.name, ir.Choice((tag.value,)), "const", tag.value)
    yield from struct.fields


def _mark(field: ir.Field) -> str:
    return "required" if field.absent in ("refused", "const", "always") else "optional"


def _remark(field: ir.Field) -> str:
    match field.absent:
        case "always":
            return f"Absent is read as `{literal(field.default)}`."
        case "unset":
            return "Absent is `UNSET`, since null is data."
        case _:
            return ""


def _constant(field: ir.Field) -> str:
    return f"Always `{field.default}`." if field.absent == "const" else ""


def _union_notes(unions: Iterable[ir.Alias]) -> Iterator[str]:
    found = list(unions)
    strategies = {alias.strategy for alias in found}
    if "pick" in strategies:
        yield "The first arm whose condition holds is taken."
    if "typing" in strategies:
        yield "Its shape never chooses what is decoded: it is for type checkers only."
    if any(alias.keeps_unknown for alias in found):
        yield "A block of another `type` is kept as `UnknownContent`, and written back as it was."


def _arms_in_order(alias: ir.Alias) -> list[ir.Type]:
    if alias.arms:
        return [ir.Ref(name) for name in dict.fromkeys(arm.type for arm in alias.arms)]
    return list(alias.type.arms) if isinstance(alias.type, ir.OneOf) else [alias.type]


def _told_apart(alias: ir.Alias, type_: ir.Type, revision: ir.Revision) -> str:
    if alias.strategy == "typing" or not isinstance(type_, ir.Ref):
        return _ABSENT
    if alias.arms:
        return " or ".join(_condition(arm.when) for arm in alias.arms if arm.type == type_.name)
    struct = revision.structs.get(type_.name)
    return f'`{struct.tag.wire}` is `"{struct.tag.value}"`' if struct and struct.tag else _ABSENT


def _condition(when: tuple[str, ...]) -> str:
    texts: list[str] = []
    for one in when:
        key, _, wanted = one.partition("=")
        texts.append(f"`{key}` is `{literal(wanted)}`" if wanted else f"`{key}` is there")
    return " and ".join(texts) or "otherwise"


def _mentioned(revision: ir.Revision) -> Iterator[tuple[str, str]]:
    """Yield pairs of a type and a type that it contains."""
    for struct in revision.structs.values():
        for field in struct.fields:
            yield from ((struct.name, inner) for inner in ir.mentions(field.type))
    for alias in revision.aliases.values():
        yield from ((alias.name, inner) for inner in ir.mentions(alias.type))


def _sectioned(revision: ir.Revision) -> Iterator[tuple[str, list[str]]]:
    """Yield the section titles and type names of a revision, in module order."""
    yield "Scalars and maps", [alias.name for alias in revision.scalars]
    for section in revision.sections:
        yield section.title, [struct.name for struct in section.structs]
    yield "Unions", [alias.name for alias in revision.unions]


def _marked(type_: ir.Type) -> str:
    """Return the annotation with «» around definition names."""
    match type_:
        case ir.Ref(name):
            return f"«{name}»"
        case ir.ListOf(item):
            return f"list[{_marked(item)}]"
        case ir.MapOf(value):
            return f"dict[str, {_marked(value)}]"
        case ir.OneOf(arms):
            return " | ".join(map(_marked, arms))
        case ir.Scalar() | ir.Choice():
            return annotation(type_)

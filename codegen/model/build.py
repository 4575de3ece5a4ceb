"""Builds the intermediate model of a normalised schema: fields, tags, unions, sections."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from codegen.errors import Stop, Stopped
from codegen.model import ir
from codegen.model.bounds import bounds
from codegen.model.methods import Messages, build_methods
from codegen.model.names import attribute, attributes, constant, constants, module
from codegen.model.normal.vocabulary import REF, rebased
from codegen.model.normalize import Normalized
from codegen.model.order import in_turn
from codegen.model.overlay import Overlay
from codegen.model.rows import row, toml
from codegen.model.unions import Unions, is_struct
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.keywords import escape
from codegen.schema.load import Source

_SCALARS: dict[str, ir.Scalar] = {
    "string": ir.Scalar("str"),
    "integer": ir.Scalar("int"),
    "number": ir.Scalar("number"),
    "boolean": ir.Scalar("bool"),
    "null": ir.Scalar("null"),
}
ANY = ir.Scalar("any")

_OF_OPEN_TYPES = {"extra", "with_extra"}
"""Attributes of all types that keep extra keys."""

T = TypeVar("T")


def build(
    source: Source,
    normalized: Normalized,
    overlay: Overlay,
    stated: Mapping[str, ir.Direction] | None = None,
) -> ir.Revision:
    """Build the model of one revision; `stated` has the directions of an extension's messages.

    What stops is added to `source.stops`, after what stopped in normalising, and left out.
    """
    return _Builder(source, normalized, overlay, stated or {}).run()


class _Builder:
    def __init__(
        self,
        source: Source,
        normalized: Normalized,
        overlay: Overlay,
        stated: Mapping[str, ir.Direction],
    ) -> None:
        self._stated = stated
        self._source = source
        self._stops = source.stops
        self._revision = source.revision
        self._defs = normalized.definitions
        self._origins = normalized.origins
        self._pointers = normalized.pointers
        self._opened = normalized.opened
        self._overlay = overlay
        self._facts = source.facts
        self._types: dict[str, ir.Type] = {}
        for name, schema in self._defs.items():
            if not is_struct(schema):
                self._types[name] = self._type(schema, self._origins[name])
        self._in_turn = self._after_what_they_name()
        self._unions = Unions(self._revision, normalized, overlay, self._types, self._in_turn)

    def run(self) -> ir.Revision:
        aliases = dict(self._each(self._types, self._alias))
        structs = dict(self._each((n for n in self._defs if n not in self._types), self._struct))
        messages = Messages(
            self._revision,
            self._defs,
            structs,
            aliases,
            self._overlay,
            self._stated,
            self._pointers,
            self._stops,
        )
        order, methods = self._order(), build_methods(messages)
        return ir.Revision(
            name=self._revision,
            module=module(self._revision),
            source=self._source.label,
            sha256=self._source.sha256,
            spec=str(self._facts.get("spec", "")),
            sections=self._sections(structs, order),
            scalars=self._sorted((a for a in aliases.values() if a.strategy == "scalar"), order),
            unions=self._sorted((a for a in aliases.values() if a.strategy != "scalar"), order),
            methods=methods,
            enums=self._enums(aliases, methods),
            facts=self._stated_facts(),
            errors=tuple(
                ir.ErrorCode(name, row["code"], row["source"], row.get("http_status"))
                for name, row in self._facts.get("errors", {}).items()
            ),
            normalized=self._defs,
            structs=structs,
            aliases=aliases,
            pages={name: self._page(name, order) for name in self._defs},
            refers={
                name: tuple(dict.fromkeys(_refers(schema)))
                for name, schema in self._source.definitions.items()
            },
        )

    def _each(self, names: Iterable[str], made: Callable[[str], T]) -> Iterator[tuple[str, T]]:
        """Yield what is made of each name; one that stops is left out."""
        for name in names:
            with self._stops.collected():
                yield name, made(name)

    # --- types ---

    def _type(self, schema: Object, path: str) -> ir.Type:
        if "$ref" in schema:
            return ir.Ref(_name(schema))
        if "anyOf" in schema:
            return ir.OneOf(tuple(self._type(arm, path) for arm in schema["anyOf"]))
        if "const" in schema:
            return ir.Choice((schema["const"],))
        if "enum" in schema:
            return ir.Choice(self._enum_order(path, schema["enum"]))
        kind: str | list[str] | None = schema.get("type")
        if isinstance(kind, list):
            return ir.OneOf(tuple(_SCALARS[one] for one in kind))
        if kind == "array":
            return ir.ListOf(self._type(schema["items"], f"{path}/items"))
        if kind == "object":
            return ir.MapOf(self._type(schema.get("additionalProperties", {}), f"{path}/values"))
        return _SCALARS[kind] if kind else ANY

    def _enum_order(self, path: str, values: list[Any]) -> tuple[Any, ...]:
        return tuple(_ordered(values, self._facts.get("enums", {}).get(path, ())))

    def _struct(self, name: str) -> ir.Struct:
        schema, path = self._defs[name], self._origins[name]
        properties: Object = schema["properties"]
        tag = self._unions.tags.get(name) or self._constant_tag(schema)
        raw = tuple(
            wire
            for wire in properties
            if self._overlay.one("raw", self._revision, "path", f"{name}/{wire}")
        )
        if raw and f"Raw{name}" in self._defs:
            raise self._stop(
                self._pointers[f"Raw{name}"],
                f"the name Raw{name}, which is that of the undecoded {name}",
                "add a [[name]] row",
            )
        fields = [
            self._field(name, wire, properties[wire], required=wire in schema["required"])
            for wire in self._field_order(path, properties)
            if tag is None or wire != tag.wire
        ]
        is_open = self._overlay.names("extra", self._revision, name)
        closed = schema.get("additionalProperties") is False
        if is_open and closed:
            raise self._stop(
                self._pointers[name],
                "an [[extra]] row for an object that allows no other keys",
                "take it out of the row",
            )
        taken = _used_names(fields) | (_OF_OPEN_TYPES if is_open else set[str]())
        names = attributes(properties, taken)
        fields = [replace(field, name=names[field.wire]) for field in fields]
        # Stable: required before optional, otherwise as the specification declares them.
        fields.sort(key=lambda field: field.absent not in ("refused", "const", "always"))
        return ir.Struct(
            name,
            tuple(fields),
            self._tag(tag, names[tag.wire]) if tag else None,
            self._unions.markers.get(name, ""),
            self._deprecated(name),
            raw,
            is_open,
            closed,
        )

    def _tag(self, tag: ir.Tag, name: str) -> ir.Tag:
        documented = self._overlay.names("documented", self._revision, "tags")
        return replace(tag, name=name, documented=documented)

    def _constant_tag(self, schema: Object) -> ir.Tag | None:
        """Return the constant tag of a message (`method`) or of a result (`resultType`)."""
        for wire in ("method", "resultType"):
            value = schema["properties"].get(wire, {}).get("const")
            if isinstance(value, str) and wire in schema["required"]:
                return ir.Tag(wire, wire, value)
        return None

    def _field(self, owner: str, wire: str, schema: Object, *, required: bool) -> ir.Field:
        type_ = self._type(schema, f"{self._origins[owner]}/{wire}")
        with self._stops.collected():
            pointer = f"{self._pointers[owner]}/properties/{escape(wire)}"
            self._unions.check_decodable(type_, owner, pointer)
        absent: ir.Absent = "refused"
        if ir.holds_integers(type_):
            self._reads("integer")
        default: Any = None
        lenient = self._lenient(owner, wire, type_) if required else None
        if required and "const" in schema:
            absent, default = "const", schema["const"]
            self._reads("constant")
        elif lenient is not None:
            absent, default = "always", lenient["value"]
        elif not required:
            absent = "unset" if self._unions.holds_null(type_) else "none"
            self._reads("null" if absent == "none" else "")
        return ir.Field(
            wire,
            wire,
            type_,
            absent,
            default,
            self._deprecated(f"{owner}.{wire}"),
            self._described_by(f"{self._origins[owner]}/{wire}"),
            tuple(bounds(schema)),
        )

    def _described_by(self, path: str) -> str:
        """Return the struct that describes an open map, if it says anything."""
        name = self._opened.get(path, "")
        return name if name in self._defs and is_struct(self._defs[name]) else ""

    def _alias(self, name: str) -> ir.Alias:
        schema = self._defs[name]
        made = self._unions.alias(name, self._deprecated(name), tuple(bounds(schema)))
        if ir.holds_integers(made.type):
            self._reads("integer")
        if made.strategy not in ("typing", "pick"):
            self._unions.check_decodable(made.type, name, self._pointers[name])
        return made

    def _reads(self, rule: str) -> None:
        """Mark a decoding rule as used by this revision."""
        self._overlay.one("reads", self._revision, "rule", rule)

    def _lenient(self, owner: str, wire: str, type_: ir.Type) -> Any:
        for path in (f"{owner}/{wire}", f"*/{wire}"):
            found = self._overlay.one("lenient", self._revision, "path", path)
            if found and not ir.holds(type_, found["value"], self._types):
                what = (
                    f"{found} gives `{owner}/{wire}` {toml(found['value'])}, which it cannot hold"
                )
                advice = "correct it; an object takes a [[filled]] row instead"
                self._stops.add([Stop(self._revision, found.where, what, advice)])
            if found:
                return found
        return None

    def _field_order(self, path: str, properties: Object) -> list[str]:
        return _ordered(properties, self._facts.get("fields", {}).get(path, ()))

    def _deprecated(self, name: str) -> str:
        found = self._facts.get("deprecated", {}).get(name)
        return str(found.get("advice", "")) if found else ""

    # --- order ---

    def _after_what_they_name(self) -> list[str]:
        """Return the aliases, each after those it names.

        One that names itself stops, and becomes `any` for the stages that follow.
        """

        def in_a_circle(name: str) -> None:
            with self._stops.collected():
                place = self._origins[name]
                old = rebased(self._source.definitions.get(place))
                values: Object = {"pointer": f"/{escape(place)}", "old": old, "new": {}}
                raise self._stop(
                    self._pointers[name],
                    "it refers to itself, without a struct in between",
                    "add a [[patch]] row; `new = {}` allows anything",
                    row("patch", values, self._revision) if old is not None else "",
                )
            self._types[name] = ANY

        return in_turn(self._types, lambda name: ir.mentions(self._types[name]), in_a_circle)

    # --- facts ---

    def _enums(
        self, aliases: dict[str, ir.Alias], methods: Iterable[ir.Method]
    ) -> tuple[ir.Enum, ...]:
        """Return the constants of each enum of texts; no two names are the same."""
        taken = {"METHODS", *(constant(method.wire) for method in methods)}
        found: list[ir.Enum] = []
        for name, alias in sorted(aliases.items()):
            if isinstance(alias.type, ir.Choice):
                texts = [value for value in alias.type.values if isinstance(value, str)]
                (values,) = constants([f"{constant(name)}S"], taken)
                named = constants([f"{constant(name)}_{constant(text)}" for text in texts], taken)
                pairs = tuple(zip(named, texts, strict=True))
                found.append(ir.Enum(name, values, alias.type.values, pairs))
        return tuple(found)

    def _stated_facts(self) -> tuple[ir.Fact, ...]:
        return tuple(
            ir.Fact(name, row.get("value"), row["source"])
            for name, row in self._facts.get("facts", {}).items()
        )

    def _order(self) -> dict[str, tuple[int, int]]:
        """Return the section of each definition and its position there."""
        order: dict[str, tuple[int, int]] = {}
        for number, section in enumerate(self._facts.get("section", ())):
            for place, name in enumerate(section["types"]):
                with self._stops.collected():
                    if name in order:
                        raise self._facts_stop(name, "facts.toml lists it in two sections")
                    if name not in self._defs:
                        raise self._facts_stop(
                            name, "facts.toml lists a definition that the schema lacks"
                        )
                    order[name] = (number, place)
        return order

    def _sections(
        self, structs: dict[str, ir.Struct], order: dict[str, tuple[int, int]]
    ) -> tuple[ir.Section, ...]:
        sections: list[Object] = [*self._facts.get("section", ()), {"title": "Other"}]
        members: list[list[tuple[tuple[int, int, str], ir.Struct]]] = [[] for _ in sections]
        for name, struct in structs.items():
            root = self._origins[name].partition("/")[0]
            number, place = order.get(name) or order.get(root) or (len(sections) - 1, 0)
            members[number].append(((place, 0 if name == root else 1, self._origins[name]), struct))
        return tuple(
            ir.Section(
                section["title"],
                tuple(struct for _, struct in sorted(found, key=lambda pair: pair[0])),
            )
            for section, found in zip(sections, members, strict=True)
            if found
        )

    def _page(self, name: str, order: dict[str, tuple[int, int]]) -> str:
        """Return the page of a type's section, at revisions without a schema page."""
        root = self._origins[name].partition("/")[0]
        place = order.get(name) or order.get(root)
        sections: list[Object] = self._facts.get("section", [])
        page = sections[place[0]].get("page", "") if place else ""
        return page or f"schema#{root.lower()}"

    def _sorted(
        self, aliases: Iterable[ir.Alias], order: dict[str, tuple[int, int]]
    ) -> tuple[ir.Alias, ...]:
        """Sort aliases as declared, but each after those it names: they are evaluated on import."""
        waiting = {
            alias.name: alias
            for alias in sorted(
                aliases, key=lambda alias: (order.get(alias.name, (999, 0)), alias.name)
            )
        }
        return tuple(
            waiting[name] for name in in_turn(waiting, lambda name: ir.mentions(waiting[name].type))
        )

    def _stop(self, pointer: str, construct: str, advice: str, row_: str = "") -> Stopped:
        return Stopped(Stop(self._revision, pointer, construct, advice, row_))

    def _facts_stop(self, name: str, construct: str) -> Stopped:
        return self._stop(f"#/{self._source.container}/{escape(name)}", construct, "correct it")


def _used_names(fields: Iterable[ir.Field]) -> set[str]:
    """Return the names that the class of these fields looks up in its own body."""
    used = {"field", "const", "always"} & {
        attribute(field.wire) for field in fields if field.absent != "refused"
    }
    for field in fields:
        used |= _words(field.type)
    return used


def _words(type_: ir.Type) -> set[str]:
    match type_:
        case ir.Scalar("number"):
            return {"int", "float"}
        case ir.Scalar(name):
            return {name}
        case ir.ListOf(inner):
            return {"list"} | _words(inner)
        case ir.MapOf(inner):
            return {"dict", "str"} | _words(inner)
        case ir.Ref(name):
            return {name}
        case ir.OneOf(arms):
            return set[str]().union(*map(_words, arms))
        case ir.Choice():
            return set()


def _ordered(values: Iterable[T], declared: Iterable[T]) -> list[T]:
    """Return the values in declaration order, undeclared ones last."""
    places = {value: place for place, value in reversed([*enumerate(declared)])}
    return sorted(values, key=lambda value: places.get(value, len(places)))


def _name(schema: Object) -> str:
    return str(schema["$ref"]).removeprefix(REF)


def _refers(schema: Any) -> Iterable[str]:
    """Yield the definitions that a schema refers to, at any depth."""
    if is_object(schema):
        if isinstance(schema.get("$ref"), str):
            yield str(schema["$ref"]).rpartition("/")[2]
        for inner in schema.values():
            yield from _refers(inner)
    elif is_array(schema):
        for inner in schema:
            yield from _refers(inner)

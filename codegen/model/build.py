"""Builds the intermediate model of a normalised schema: fields, tags, unions, sections."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from codegen.errors import CodegenError
from codegen.model import ir
from codegen.model.methods import Messages, build_methods
from codegen.model.names import module, snake
from codegen.model.normalize import REF, Normalized
from codegen.model.overlay import Overlay
from codegen.schema.load import Object, Source, is_array, is_object

_SCALARS: dict[str, ir.Scalar] = {
    "string": ir.Scalar("str"),
    "integer": ir.Scalar("int"),
    "number": ir.Scalar("number"),
    "boolean": ir.Scalar("bool"),
    "null": ir.Scalar("null"),
}
ANY = ir.Scalar("any")

_OF_OPEN_TYPES = ("extra", "with_extra")
"""Attributes of all types that keep extra keys."""

T = TypeVar("T")


def build(
    source: Source,
    normalized: Normalized,
    overlay: Overlay,
    stated: Mapping[str, ir.Direction] | None = None,
) -> ir.Revision:
    """Build the model of one revision; `stated` has the directions of an extension's messages.

    Raises:
        CodegenError: a union nobody can tell apart, an unresolved method, a fact that fits nothing.
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
        self._revision = source.revision
        self._defs = normalized.definitions
        self._origins = normalized.origins
        self._opened = normalized.opened
        self._overlay = overlay
        self._facts = source.facts
        self._tags: dict[str, ir.Tag] = {}
        self._markers: dict[str, str] = {}

    def run(self) -> ir.Revision:
        for name in self._defs:
            self._check_cycle(name, ())
        aliases = {n: self._alias(n) for n, schema in self._defs.items() if not _is_struct(schema)}
        structs = {n: self._struct(n) for n, schema in self._defs.items() if _is_struct(schema)}
        messages = Messages(
            self._revision, self._defs, structs, aliases, self._overlay, self._stated
        )
        return ir.Revision(
            name=self._revision,
            module=module(self._revision),
            source=self._source.label,
            sha256=self._source.sha256,
            spec=str(self._facts.get("spec", "")),
            sections=self._sections(structs),
            scalars=self._in_order(a for a in aliases.values() if a.strategy == "scalar"),
            unions=self._in_order(a for a in aliases.values() if a.strategy != "scalar"),
            methods=build_methods(messages),
            enums=self._enums(aliases),
            facts=self._stated_facts(),
            errors=tuple(
                ir.ErrorCode(name, row["code"], row["source"], row.get("http_status"))
                for name, row in self._facts.get("errors", {}).items()
            ),
            normalized=self._defs,
            structs=structs,
            aliases=aliases,
            pages={name: self._page(name) for name in self._defs},
            refers={
                name: tuple(dict.fromkeys(_refers(schema)))
                for name, schema in self._source.definitions.items()
            },
        )

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
        tag = self._tags.get(name) or self._constant_tag(properties)
        raw = tuple(
            wire
            for wire in properties
            if self._overlay.one("raw", self._revision, "path", f"{name}/{wire}")
        )
        fields = [
            self._field(name, wire, properties[wire], required=wire in schema["required"])
            for wire in self._field_order(path, properties)
            if tag is None or wire != tag.wire
        ]
        self._check_python_names(name, properties)
        # Stable: required before optional, otherwise as the specification declares them.
        fields.sort(key=lambda field: field.absent not in ("refused", "const", "always"))
        return ir.Struct(
            name,
            tuple(fields),
            tag,
            self._markers.get(name, ""),
            self._deprecated(name),
            raw,
            self._is_open(name, properties),
        )

    def _is_open(self, name: str, properties: Object) -> bool:
        """Return True if an [[extra]] row says that the schema's keys are no closed set."""
        if not self._overlay.names("extra", self._revision, name):
            return False
        for wire in properties:
            if snake(wire) in _OF_OPEN_TYPES:
                raise self._stop(
                    f"{name}/{wire}",
                    f"wants the Python name `{snake(wire)}`, which every type with extra keys has; "
                    "give it another in codegen/model/names.py",
                )
        return True

    def _check_python_names(self, name: str, properties: Object) -> None:
        wires: dict[str, str] = {}
        for wire in properties:
            other = wires.setdefault(snake(wire), wire)
            if other != wire:
                raise self._stop(
                    f"{name}/{wire}",
                    f"wants the Python name `{snake(wire)}` as {name}/{other} does; "
                    "tell them apart in codegen/model/names.py",
                )

    def _constant_tag(self, properties: Object) -> ir.Tag | None:
        """Return the constant tag of a message (`method`) or of a result (`resultType`)."""
        for wire in ("method", "resultType"):
            if "const" in properties.get(wire, {}):
                return ir.Tag(wire, snake(wire), properties[wire]["const"])
        return None

    def _field(self, owner: str, wire: str, schema: Object, *, required: bool) -> ir.Field:
        type_ = self._type(schema, f"{self._origins[owner]}/{wire}")
        absent: ir.Absent = "refused"
        if type_ == _SCALARS["integer"]:
            self._reads("integer")
        default: Any = None
        lenient = self._lenient(owner, wire) if required else None
        if required and "const" in schema:
            absent, default = "const", schema["const"]
            self._reads("constant")
        elif lenient is not None:
            absent, default = "always", lenient["value"]
        elif not required:
            absent = "unset" if self._holds_null(type_) else "none"
            self._reads("null" if absent == "none" else "")
        return ir.Field(
            wire,
            snake(wire),
            type_,
            absent,
            default,
            self._deprecated(f"{owner}.{wire}"),
            self._described_by(f"{self._origins[owner]}/{wire}"),
        )

    def _described_by(self, path: str) -> str:
        """Return the struct that describes an open map, if it says anything."""
        name = self._opened.get(path, "")
        return name if name in self._defs and _is_struct(self._defs[name]) else ""

    def _reads(self, rule: str) -> None:
        """Mark a decoding rule as used by this revision."""
        self._overlay.one("reads", self._revision, "rule", rule)

    def _lenient(self, owner: str, wire: str) -> Any:
        for path in (f"{owner}/{wire}", f"*/{wire}"):
            row = self._overlay.one("lenient", self._revision, "path", path)
            if row:
                return row
        return None

    def _holds_null(self, type_: ir.Type) -> bool:
        """Return True if JSON null is data here, so that absent must differ from it."""
        if isinstance(type_, ir.Ref) and type_.name in self._defs:
            schema = self._defs[type_.name]
            return not _is_struct(schema) and self._holds_null(self._type(schema, type_.name))
        if isinstance(type_, ir.OneOf):
            return any(self._holds_null(arm) for arm in type_.arms)
        return isinstance(type_, ir.Scalar) and type_.name in ("any", "null")

    def _field_order(self, path: str, properties: Object) -> list[str]:
        return _ordered(properties, self._facts.get("fields", {}).get(path, ()))

    def _deprecated(self, name: str) -> str:
        row = self._facts.get("deprecated", {}).get(name)
        return str(row["advice"]) if row else ""

    # --- unions ---

    def _check_cycle(self, name: str, passed: tuple[str, ...]) -> None:
        if name in passed:
            raise self._stop(
                name, "it refers to itself, without a struct in between; add a [[patch]] row"
            )
        if not _is_struct(self._defs[name]):
            for inner in ir.mentions(self._type(self._defs[name], self._origins[name])):
                self._check_cycle(inner, (*passed, name))

    def _alias(self, name: str) -> ir.Alias:
        schema = self._defs[name]
        type_ = self._type(schema, self._origins[name])
        deprecated = self._deprecated(name)
        typing_only = self._overlay.names("typing", self._revision, name)
        unknown = self._overlay.names("unknown", self._revision, name)
        if typing_only:
            return ir.Alias(name, type_, "typing", deprecated=deprecated)
        pick = self._overlay.one("pick", self._revision, "name", name)
        if pick:
            return self._pick(
                name, type_, [self._pick_arm(arm["type"], arm["when"]) for arm in pick["arms"]]
            )
        arms = self._struct_arms(type_)
        if len(arms) > 1:
            self._tag(name, arms)
            return ir.Alias(name, type_, "tag", keeps_unknown=unknown, deprecated=deprecated)
        strategy: ir.Strategy = "alias" if self._mentions_a_struct(type_) else "scalar"
        return ir.Alias(name, type_, strategy, deprecated=deprecated)

    def _pick_arm(self, type_: str, when: list[str]) -> ir.PickArm:
        schema = self._defs.get(type_, {})
        optional = schema.get("properties", {}).keys() - {*schema.get("required", ())}
        return ir.PickArm(type_, tuple(when), frozenset(optional.intersection(when)))

    def _pick(self, name: str, type_: ir.Type, arms: list[ir.PickArm]) -> ir.Alias:
        wanted = set(ir.arm_names(type_))
        if {arm.type for arm in arms} != wanted:
            raise self._stop(
                name, f"the [[pick]] row must have the arms {', '.join(sorted(wanted))}"
            )
        marker = f"{name}Arm"
        for arm in wanted:
            if self._markers.setdefault(arm, marker) != marker:
                raise self._stop(name, f"{arm} is an arm of two picked unions")
        return ir.Alias(name, type_, "pick", marker, tuple(arms))

    def _tag(self, name: str, arms: list[str]) -> None:
        """Find the property that is a different constant in each arm, and tag the arms with it."""
        constants = [self._constants(arm) for arm in arms]
        for wire in sorted(constants[0]):
            values = [found.get(wire) for found in constants]
            if None not in values and len(set(values)) == len(arms):
                for arm, value in zip(arms, values, strict=True):
                    tag = ir.Tag(wire, snake(wire), str(value))
                    if self._tags.setdefault(arm, tag) != tag:
                        raise self._stop(name, f"{arm} would need two tags; add a [[pick]] row")
                return
        raise self._stop(
            name,
            f"nothing tells {', '.join(arms)} apart; add a [[pick]] row, or a [[typing]] row "
            "if it is never decoded",
        )

    def _constants(self, name: str) -> dict[str, Any]:
        properties = self._defs[name].get("properties", {})
        return {wire: schema["const"] for wire, schema in properties.items() if "const" in schema}

    def _struct_arms(self, type_: ir.Type) -> list[str]:
        """Return the structs that a union decodes to, including those of nested unions."""
        return [
            struct
            for name in ir.arm_names(type_)
            for struct in (
                [name]
                if _is_struct(self._defs[name])
                else self._struct_arms(self._type(self._defs[name], self._origins[name]))
            )
        ]

    def _mentions_a_struct(self, type_: ir.Type) -> bool:
        return any(
            _is_struct(self._defs[name])
            or self._mentions_a_struct(self._type(self._defs[name], self._origins[name]))
            for name in ir.mentions(type_)
        )

    # --- facts ---

    def _enums(self, aliases: dict[str, ir.Alias]) -> dict[str, tuple[str, ...]]:
        return {
            name: cast("tuple[str, ...]", alias.type.values)
            for name, alias in sorted(aliases.items())
            if isinstance(alias.type, ir.Choice)
        }

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
                if name in order:
                    raise self._stop(name, "facts.toml lists it in two sections")
                if name not in self._defs:
                    raise self._stop(name, "facts.toml lists a definition that the schema lacks")
                order[name] = (number, place)
        return order

    def _sections(self, structs: dict[str, ir.Struct]) -> tuple[ir.Section, ...]:
        order = self._order()
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

    def _page(self, name: str) -> str:
        """Return the page of a type's section, at revisions without a schema page."""
        order, root = self._order(), self._origins[name].partition("/")[0]
        place = order.get(name) or order.get(root)
        sections: list[Object] = self._facts.get("section", [])
        page = sections[place[0]].get("page", "") if place else ""
        return page or f"schema#{root.lower()}"

    def _in_order(self, aliases: Iterable[ir.Alias]) -> tuple[ir.Alias, ...]:
        order = self._order()
        return _after_what_they_name(
            sorted(aliases, key=lambda alias: (order.get(alias.name, (999, 0)), alias.name))
        )

    def _stop(self, path: str, what: str) -> CodegenError:
        return CodegenError(f"{self._revision}: {path}: {what}")


def _ordered(values: Iterable[T], declared: Iterable[T]) -> list[T]:
    """Return the values in declaration order, undeclared ones last."""
    places = list(declared)
    return sorted(values, key=lambda value: places.index(value) if value in places else len(places))


def _is_struct(schema: Object) -> bool:
    return "properties" in schema


def _name(schema: Object) -> str:
    return str(schema["$ref"]).removeprefix(REF)


def _after_what_they_name(ordered: Iterable[ir.Alias]) -> tuple[ir.Alias, ...]:
    """Sort aliases after those they name, because they are evaluated on import."""
    waiting = {alias.name: alias for alias in ordered}
    done: dict[str, ir.Alias] = {}

    def place(alias: ir.Alias) -> None:
        if alias.name in done:
            return
        for name in ir.mentions(alias.type):
            if name in waiting:
                place(waiting[name])
        done[alias.name] = alias

    for alias in waiting.values():
        place(alias)
    return tuple(done.values())


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

"""Unions of one revision: how their arms are told apart, and which of them can be decoded."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

from codegen.errors import Stop, Stopped
from codegen.model import ir
from codegen.model.names import attributes
from codegen.model.normalize import Normalized
from codegen.model.overlay import Overlay
from codegen.model.rows import pattern, row
from codegen.schema.json_values import Object

MAX_DEPTH = 64
"""Aliases inside each other; decoders are made by recursion."""


def is_struct(schema: Object) -> bool:
    return "properties" in schema


class Unions:
    """Tags and markers of the structs that are arms of unions.

    `types` has the type of each definition that is no struct.
    """

    def __init__(
        self,
        revision: str,
        normalized: Normalized,
        overlay: Overlay,
        types: dict[str, ir.Type],
        order: list[str],
    ) -> None:
        self._revision = revision
        self._defs = normalized.definitions
        self._origins = normalized.origins
        self._pointers = normalized.pointers
        self._overlay = overlay
        self._types = types
        self._order = order
        self.tags: dict[str, ir.Tag] = {}
        self.markers: dict[str, str] = {}

    def alias(self, name: str, deprecated: str, bounds: tuple[ir.Bound, ...]) -> ir.Alias:
        """Return the alias of a definition that is no struct; its arms get their tags.

        Raises:
            Stopped: a union that nobody can tell apart.
        """
        type_ = self._types[name]
        if self.depths[name] == MAX_DEPTH + 1:
            raise self._stop(
                name,
                f"names for names over {MAX_DEPTH} deep, which pydantic does not follow",
                "leave some out with a [[patch]] row",
            )
        unknown = self._overlay.names("unknown", self._revision, name)
        made = ir.Alias(name, type_, "scalar", deprecated=deprecated, bounds=bounds)
        if name in self._typing_only:
            return replace(made, strategy="typing")
        pick = self._pick_row(name)
        if pick:
            arms = [self._pick_arm(arm["type"], arm["when"]) for arm in pick["arms"]]
            return self._pick(made, arms)
        structs = self.structs_of[name]
        if len(structs) > 1:
            self._tag(name, list(structs))
            return replace(made, strategy="tag", keeps_unknown=unknown)
        return replace(made, strategy="alias" if self.names_a_struct[name] else "scalar")

    @cached_property
    def _typing_only(self) -> frozenset[str]:
        named = (n for n in self._types if self._overlay.names("typing", self._revision, n))
        return frozenset(named)

    @cached_property
    def _picked(self) -> frozenset[str]:
        return frozenset(name for name in self._types if self._pick_row(name))

    def _pick_row(self, name: str) -> Any:
        return self._overlay.one("pick", self._revision, "name", name)

    # --- facts about every alias, each from those it names ---

    def _of_each(self, found: Callable[[ir.Type, dict[str, Any]], Any]) -> dict[str, Any]:
        """Return a fact about each alias; `found` is given those of the aliases it names.

        Only one that names itself, which has stopped, is not among them.
        """
        made: dict[str, Any] = {}
        for name in self._order:
            made[name] = found(self._types[name], made)
        return made

    @cached_property
    def structs_of(self) -> dict[str, tuple[str, ...]]:
        """The structs that each union decodes to, including those of nested unions."""

        def found(type_: ir.Type, known: dict[str, Any]) -> tuple[str, ...]:
            names = (
                known.get(name, () if name in self._types else (name,))
                for name in ir.arm_names(type_)
            )
            return tuple(dict.fromkeys(one for each in names for one in each))

        return self._of_each(found)

    @cached_property
    def names_a_struct(self) -> dict[str, bool]:
        """True for each alias that mentions a struct, inside of lists, maps and unions too."""
        return self._of_each(
            lambda type_, known: any(
                known.get(name, name not in self._types) for name in ir.mentions(type_)
            )
        )

    @cached_property
    def null_is_data(self) -> dict[str, bool]:
        """True for each alias of which JSON null is a value."""
        return self._of_each(self._holds_null)

    def holds_null(self, type_: ir.Type) -> bool:
        """Return True if JSON null is data here, so that absent must differ from it."""
        return self._holds_null(type_, self.null_is_data)

    def _holds_null(self, type_: ir.Type, known: dict[str, bool]) -> bool:
        match type_:
            case ir.Ref(name):
                return known.get(name, False)
            case ir.OneOf(arms):
                return any(self._holds_null(arm, known) for arm in arms)
            case _:
                return isinstance(type_, ir.Scalar) and type_.name in ("any", "null")

    @cached_property
    def depths(self) -> dict[str, int]:
        """Number of aliases inside each other, for each."""

        def found(type_: ir.Type, known: dict[str, Any]) -> int:
            return 1 + max((known.get(name, 0) for name in ir.mentions(type_)), default=0)

        return self._of_each(found)

    # --- arms ---

    def _pick_arm(self, type_: str, when: list[str]) -> ir.PickArm:
        schema = self._defs.get(type_, {})
        optional = schema.get("properties", {}).keys() - {*schema.get("required", ())}
        return ir.PickArm(type_, tuple(when), frozenset(optional.intersection(when)))

    def _pick(self, alias: ir.Alias, arms: list[ir.PickArm]) -> ir.Alias:
        wanted = set(ir.arm_names(alias.type))
        if {arm.type for arm in arms} != wanted:
            raise self._stop(
                alias.name,
                f"the [[pick]] row must have the arms {', '.join(sorted(wanted))}",
                "correct it",
            )
        marker = f"{alias.name}Arm"
        if marker in self._defs:
            raise self._stop(
                marker, f"the name {marker} is that of a marker", "choose another for one of them"
            )
        for arm in wanted:
            if self.markers.setdefault(arm, marker) != marker:
                raise self._stop(
                    alias.name, f"{arm} is an arm of two picked unions", "pick in one of them"
                )
        return replace(alias, strategy="pick", marker=marker, arms=tuple(arms))

    def _tag(self, name: str, arms: list[str]) -> None:
        """Find the property that is a different constant in each arm, and tag the arms with it."""
        constants = [self._constants(arm) for arm in arms]
        for wire in sorted(constants[0]):
            values = [found[wire] for found in constants if wire in found]
            kinds = {type(value).__name__ for value in values}
            if len(values) == len(set(values)) == len(arms) and kinds in ({"str"}, {"int"}):
                for arm, value in zip(arms, values, strict=True):
                    names = attributes(self._defs[arm]["properties"], ())
                    tag = ir.Tag(wire, names[wire], value)
                    if self.tags.setdefault(arm, tag) != tag:
                        raise self._stop(
                            name,
                            f"{arm} would need two tags",
                            "add a [[pick]] row",
                            self._suggested(name, arms),
                        )
                return
        raise self._stop(
            name,
            f"nothing tells {', '.join(arms)} apart",
            "add a [[pick]] row, a [[typing]] row if it is never decoded, or an [[open]] row if it "
            "may stay a map",
            self._suggested(name, arms),
        )

    def _constants(self, name: str) -> dict[str, Any]:
        """Return the constants that an object must have: one that may be absent tells nothing."""
        schema = self._defs[name]
        return {
            wire: schema["properties"][wire]["const"]
            for wire in schema["required"]
            if "const" in schema["properties"][wire]
        }

    def _suggested(self, name: str, arms: list[str]) -> str:
        """Return a [[pick]] row if keys tell the arms apart, and else an [[open]] row."""
        keys = {arm: [key] for arm in arms if (key := self._own_key(arm, arms))}
        others = [arm for arm in arms if arm not in keys]
        if len(others) > 1:
            keys |= self._required_keys(others)
        last = [arm for arm in arms if not keys.get(arm)]
        if len(last) > 1:
            return row("open", {"paths": [pattern(self._origins[name])]}, self._revision)
        listed = [
            {"type": arm, "when": keys.get(arm, [])} for arm in sorted(arms, key=last.__contains__)
        ]
        return row("pick", {"name": name, "arms": listed}, self._revision)

    def _required_keys(self, arms: list[str]) -> dict[str, list[str]]:
        """Return the keys that each arm requires beyond all others, if they differ in that alone.

        Whichever arm has its keys then takes what one of the arms takes.
        """
        first, *others = (self._defs[arm] for arm in arms)
        if any({**one, "required": 0} != {**first, "required": 0} for one in others):
            return {}
        shared = set(first["required"]).intersection(*(one["required"] for one in others))
        return {arm: sorted({*self._defs[arm]["required"]} - shared) for arm in arms}

    def _own_key(self, arm: str, arms: list[str]) -> str:
        others = {wire for one in arms if one != arm for wire in self._defs[one]["properties"]}
        for wire, value in self._constants(arm).items():
            if isinstance(value, str):
                return f"{wire}={value}"
        return next((wire for wire in self._defs[arm]["required"] if wire not in others), "")

    # --- what msgspec decodes ---

    def check_decodable(self, type_: ir.Type, name: str, pointer: str) -> None:
        """Check that a type, and what is inside it, has no union that cannot be decoded.

        Raises:
            Stopped: two arms that are the same kind of JSON, with nothing to tell them apart.
        """
        match type_:
            case ir.ListOf(inner) | ir.MapOf(inner):
                self.check_decodable(inner, name, pointer)
            case ir.OneOf(arms):
                for arm in arms:
                    self.check_decodable(arm, name, pointer)
                self._check_arms(type_, name, pointer)
            case ir.Ref(target) if target in self._typing_only:
                raise self._at(
                    pointer,
                    f"{target}, which is for type checkers only, inside {name}",
                    "take it out of the [[typing]] row",
                )
            case _:
                return

    def _check_arms(self, union: ir.OneOf, name: str, pointer: str) -> None:
        kinds: dict[str, list[str]] = {}
        for arm in self._leaves(union):
            kinds.setdefault(arm[0], []).append(arm[1])
        if "any" in kinds:
            return
        for kind, what in (("list", "lists"), ("map", "maps")):
            if len(set(kinds.get(kind, ()))) > 1:
                raise self._at(pointer, f"a union of two {what}", "write one with a [[patch]] row")
        if "map" in kinds and ("struct" in kinds or "pick" in kinds):
            raise self._at(
                pointer,
                f"a union of {(kinds.get('struct') or kinds['pick'])[0]} and a map",
                "write one of them with a [[patch]] row",
            )
        if "pick" in kinds and (len(set(kinds["pick"])) > 1 or kinds.keys() - {"pick", "null"}):
            raise self._at(
                pointer,
                f"a union of {kinds['pick'][0]}, which a [[pick]] row tells apart, with others",
                "move it to a definition of its own that is a member or an item",
            )

    def _leaves(self, type_: ir.Type) -> list[tuple[str, str]]:
        """Return the kind of each arm with a text that tells equal ones; aliases are followed."""
        found: list[tuple[str, str]] = []
        waiting = [type_]
        while waiting:
            match waiting.pop():
                case ir.OneOf(arms):
                    waiting += arms
                case ir.Ref(name) if name in self._picked:
                    found.append(("pick", name))
                case ir.Ref(name) if name in self._types:
                    waiting.append(self._types[name])
                case ir.Ref(name):
                    found.append(("struct", name))
                case ir.ListOf() as leaf:
                    found.append(("list", repr(leaf)))
                case ir.MapOf() as leaf:
                    found.append(("map", repr(leaf)))
                case ir.Scalar(kind):
                    found.append((kind, kind))
                case ir.Choice() as leaf:
                    found.append(("choice", repr(leaf)))
        return found

    def _stop(self, name: str, construct: str, advice: str, row_: str = "") -> Stopped:
        return self._at(self._pointers[name], construct, advice, row_)

    def _at(self, pointer: str, construct: str, advice: str, row_: str = "") -> Stopped:
        return Stopped(Stop(self._revision, pointer, construct, advice, row_))

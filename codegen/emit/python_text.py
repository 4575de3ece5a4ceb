"""Template filters that turn the model into Python text: annotations, fields, signatures."""

import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from codegen.emit.python_source import WIDTH, annotation, doc, literal
from codegen.model import ir
from codegen.model.message_docs import whole_messages
from codegen.model.names import constant, snake, wire_name


def wrapped(text: str) -> str:
    """Return a string literal; long unions are split over several lines."""
    if len(text) < WIDTH - 40:
        return literal(text)
    lines = textwrap.wrap(text, WIDTH - 30, drop_whitespace=False, break_on_hyphens=False)
    return "(" + "\n".join(map(literal, lines)) + ")"


def method_shape(method: Any) -> str:
    """Return a method shape as a row of the change table."""
    if method is None:
        return "None"
    capability = f", capability={literal(method.capability)}" if method.capability else ""
    results = f", ({', '.join(map(literal, method.results))},)" if method.results else ""
    first = ", ".join(map(literal, (method.kind, method.direction, method.params)))
    return f"MethodShape({first}{results}{capability})"


def class_line(struct: ir.Struct, name: str = "") -> str:
    bases = ["OpenWire" if struct.open else "Wire", *([struct.marker] if struct.marker else [])]
    if struct.tag:
        bases += [f"tag_field={literal(struct.tag.wire)}", f"tag={literal(struct.tag.value)}"]
    if struct.closed:
        bases.append("forbid_unknown_fields=True")
    return f"class {name or struct.name}({', '.join([*bases, 'kw_only=True'])}):"


def field_line(field: ir.Field, raw: tuple[str, ...] = ()) -> str:
    """Return a struct attribute with its default, and its wire name if irregular."""
    if field.wire in raw:
        return f"{field.name}: Raw | UnsetType = UNSET"
    type_ = annotation(field.type)
    named = None if wire_name(field.name) == field.wire else literal(field.wire)
    match field.absent:
        case "refused":
            return f"{field.name}: {type_}" + (f" = field(name={named})" if named else "")
        case "none":
            default = f"field(default=None, name={named})" if named else "None"
            return f"{field.name}: {type_} | None = {default}"
        case "unset":
            default = f"field(default=UNSET, name={named})" if named else "UNSET"
            return f"{field.name}: {type_} | UnsetType = {default}"
        case "const" | "always" if named:
            made = f"default_factory=lambda: {literal(field.default)}"
            return f"{field.name}: {type_} = field({made}, name={named})"
        case "const" | "always":
            return f"{field.name}: {type_} = {field.absent}({literal(field.default)})"


def condition(arm: ir.PickArm) -> str:
    """Return the conditions of an arm as an expression over `value`."""
    return " and ".join(_one_condition(one, arm.optional) for one in arm.when)


def _one_condition(one: str, optional: frozenset[str]) -> str:
    key, _, wanted = one.partition("=")
    if wanted:
        return f"value.get({literal(key)}) == {literal(wanted)}"
    if key in optional:
        return f"value.get({literal(key)}) is not None"
    steps = key.split(".")
    if len(steps) == 1:
        return f"{literal(key)} in value"
    return f"has(value, {', '.join(map(literal, steps))})"


def picked(revision: ir.Revision) -> list[ir.Alias]:
    """Return the untagged unions, most frequent in messages first."""

    def depth(union: ir.Alias) -> tuple[bool, int]:
        return any(_holds_picks(arm, revision) for arm in union.arms), len(union.arms)

    return sorted((union for union in revision.unions if union.marker), key=depth)


def message_sections(revision: ir.Revision) -> list[ir.Section]:
    """Return the sections of the types, with the whole messages in a last one."""
    whole = whole_messages(revision)
    parts = [
        (section.title, [one for one in section.structs if one.name not in whole])
        for section in revision.sections
    ]
    last = [one for section in revision.sections for one in section.structs if one.name in whole]
    return [
        ir.Section(title, tuple(structs))
        for title, structs in [*parts, ("Whole messages", last)]
        if structs
    ]


def untagged_names(revision: ir.Revision) -> list[str]:
    """Return the markers of the untagged unions, and their arms."""
    unions = picked(revision)
    arms = {arm.type for union in unions for arm in union.arms}
    return sorted({union.marker for union in unions} | arms)


def reading(arm: ir.PickArm, revision: ir.Revision) -> str:
    """Return the expression that decodes `value` as an arm, with a hook only if needed."""
    hook = ", dec_hook=read_arm" if _holds_picks(arm, revision) else ""
    return f"convert(value, {arm.type}{hook})"


def _holds_picks(arm: ir.PickArm, revision: ir.Revision) -> bool:
    """Return True if an arm contains an untagged union at any depth."""
    seen: set[str] = set()

    def inside(name: str) -> bool:
        if name in seen:
            return False
        seen.add(name)
        other = revision.aliases.get(name)
        if other is not None:
            return bool(other.marker) or any(map(inside, ir.mentions(other.type)))
        struct = revision.structs[name]
        return any(inside(one) for field in struct.fields for one in ir.mentions(field.type))

    return inside(arm.type)


def wanted(arms: tuple[ir.PickArm, ...]) -> str:
    return " or ".join(f"`{' and '.join(arm.when)}`" for arm in arms)


def resolved(name: str, revision: ir.Revision) -> str:
    """Return the class of a definition's values."""
    alias = revision.aliases.get(name)
    if alias is None:
        return f"types.{name}"
    if isinstance(alias.type, ir.Ref):
        return resolved(alias.type.name, revision)
    return "dict"


def decoded_as(method: ir.Method, revision: ir.Revision) -> str:
    """Return the type to decode a result as: the union of all results, or the first one."""
    names = set(method.results)
    for alias in revision.unions:
        if alias.strategy == "tag" and set(ir.arm_names(alias.type)) == names:
            return f"types.{alias.name}"
    return f"types.{method.results[0]}"


def result_type(method: ir.Method, prefix: str) -> str:
    return " | ".join(prefix + name for name in method.results) or "None"


def result_name(method: ir.Method, revision: ir.Revision) -> str:
    """Return the result type, by the name of its union if there is one."""
    return decoded_as(method, revision) if method.results else "None"


def flattens(method: ir.Method, revision: ir.Revision) -> bool:
    """Return True if the params are a struct whose fields can be keyword arguments."""
    return method.params in revision.structs


def arguments(method: ir.Method, revision: ir.Revision) -> str:
    """Return the parameters of a call: the fields of the params, with `meta` keyword-only."""
    struct = revision.structs.get(method.params)
    if struct is None:
        return f"params: types.{method.params}, *"
    first: list[str] = []
    last: list[str] = []
    for field in struct.fields:
        if field.absent in ("const", "always"):
            continue
        type_ = annotation(field.type, "types.")
        none = field.absent == "none"
        unset = " | UnsetType = UNSET" if field.absent == "unset" else ""
        text = f"{field.name}: {type_}{' | None = None' if none else unset}"
        (last if field.name == "meta" else first).append(text)
    return ", ".join([*first, "*", *last])


def passed_on(method: ir.Method, revision: ir.Revision) -> str:
    fields = revision.structs[method.params].fields
    return ", ".join(f"{f.name}={f.name}" for f in fields if f.absent not in ("const", "always"))


def open_arguments(method: ir.Method, revision: ir.Revision) -> str:
    """Return the parameters of an extension call, with an optional `meta`."""
    struct = revision.structs.get(method.params)
    if struct is None:
        whole = arguments(method, revision)
        return whole if method.kind == "request" else whole.removesuffix(", *")
    others = tuple(field for field in struct.fields if field.name != "meta")
    without = replace(revision, structs={method.params: replace(struct, fields=others)})
    listed = arguments(method, without).removesuffix("*").rstrip(", ")
    return ", ".join([*filter(None, [listed]), "*", "meta: dict[str, Any] | None = None"])


def pascal(name: str) -> str:
    return "".join(word.title() for word in name.split("_"))


def raw_twin(method: ir.Method, revision: ir.Revision) -> bool:
    struct = revision.structs.get(method.params)
    return bool(struct and struct.raw)


FILTERS: dict[str, Callable[..., Any]] = {
    "py": annotation,
    "literal": literal,
    "steps": repr,
    "wrapped": wrapped,
    "method_shape": method_shape,
    "doc": doc,
    "constant": constant,
    "snake": snake,
    "class_line": class_line,
    "field_line": field_line,
    "conditions": condition,
    "picked": picked,
    "reading": reading,
    "untagged_names": untagged_names,
    "message_sections": message_sections,
    "wanted": wanted,
    "resolved": resolved,
    "decoded_as": decoded_as,
    "result_name": result_name,
    "result_type": result_type,
    "flattens": flattens,
    "arguments": arguments,
    "open_arguments": open_arguments,
    "pascal": pascal,
    "passed_on": passed_on,
    "raw_twin": raw_twin,
}

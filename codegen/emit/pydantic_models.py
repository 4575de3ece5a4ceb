"""Pydantic models of a normalised schema, by datamodel-code-generator; unions are added here."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from datamodel_code_generator import InputFileType, LiteralType, generate
from datamodel_code_generator.enums import DataModelType, NamingStrategy
from datamodel_code_generator.format import Formatter, PythonVersion
from pydantic import BaseModel

from codegen.emit.python_text import annotation, literal
from codegen.errors import CodegenError
from codegen.model import ir
from codegen.schema.json_values import Object, is_array, is_object
from codegen.schema.keywords import BOUNDS

_CHECKED = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
)
"""Bounds that the models check; patterns and formats mean other things in Python."""

_IMPORTS = """
import typing
from typing import TypeAlias
from mcp_wire.base import UnknownContent
from mcp_wire.pydantic.base import Picked, Tagged
"""

_EXACTLY = """
from pydantic import PlainValidator

def _exactly(*values: object) -> PlainValidator:
    def checked(value: object) -> object:
        if any(isinstance(value, bool) == isinstance(one, bool) and value == one for one in values):
            return value
        raise ValueError(f"Input should be {' or '.join(map(repr, values))}")

    return PlainValidator(checked, json_schema_input_type=typing.Literal[values])
"""
"""Validator of listed values where one is equal to a boolean in Python, and not in JSON."""


def models(definitions: Object, revision: ir.Revision, missing: dict[str, str]) -> str:
    """Render the models of a revision, without header and docstring.

    `missing` says what an absent tag means, by the tag's name on the wire.

    Raises:
        CodegenError: a definition came out under another name.
    """
    tree = ast.parse(printed(_document(definitions, revision, missing), _attributes(revision)))
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    made = [_definition(node, revision, missing) for node in tree.body if node not in imports]
    exports = ", ".join(map(literal, sorted(definitions)))
    ours = f"{_IMPORTS}from mcp_wire.{revision.module} import types\n__all__ = [{exports}]"
    made = _after_classes(made, [alias.name for alias in (*revision.scalars, *revision.unions)])
    exact = _Exact()
    made = [exact.visit(node) for node in made]
    ours += _EXACTLY if exact.used else ""
    ours += _BY_TAG if any(_needs_tag(one, revision) for one in revision.unions) else ""
    tree.body = [*imports, *ast.parse(ours).body, *made]
    if not any(one.name == "Annotated" for node in imports for one in node.names):
        _qualify_annotated(made)
    _give_names_back(tree, definitions)
    _check_names(made, definitions, revision)
    return ast.unparse(tree)


def printed(
    schema: Object,
    attributes: dict[str, str],
    *,
    constants_default: bool = True,
    metadata: Path | None = None,
) -> str:
    """Run datamodel-code-generator on a schema and return its output.

    `attributes` has the Python name of a property, by `Type.property`. `constants_default` leaves a
    property with one value out of what a caller must give.
    """
    made = generate(
        schema,
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        base_class="mcp_wire.pydantic.base.WireModel",
        aliases=attributes,
        snake_case_field=True,
        remove_special_field_name_prefix=True,
        use_annotated=True,
        use_union_operator=True,
        use_standard_collections=True,
        use_type_alias=True,
        enum_field_as_literal=LiteralType.All,
        use_one_literal_as_default=constants_default,
        apply_default_values_for_required_fields=True,
        type_mappings=["byte=string", "uri=string", "uri-template=string"],
        naming_strategy=NamingStrategy.PrimaryFirst,
        skip_root_model=True,
        disable_timestamp=True,
        formatters=[Formatter.BUILTIN],
        emit_model_metadata=metadata,
    )
    if not isinstance(made, str):
        raise CodegenError("datamodel-code-generator printed no module, or more than one")
    return made


def document(definitions: Object) -> Object:
    """Return the definitions as a JSON Schema document."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions}


def _document(definitions: Object, revision: ir.Revision, missing: dict[str, str]) -> Object:
    """Return the schema extended by defaults, tags and field order from the model."""
    made: Object = {}
    for name, schema in definitions.items():
        struct = revision.structs.get(name)
        alias = revision.aliases.get(name)
        prepared = _with_both_kinds_of_number(schema)
        if struct:
            prepared["properties"] = _properties(struct, prepared["properties"])
        elif alias and isinstance(alias.type, ir.Choice):
            prepared["enum"] = list(alias.type.values)
        elif alias and alias.strategy == "tag" and _is_union(alias) and not alias.keeps_unknown:
            tag = _tag(alias, revision)
            if tag.wire not in missing and _is_plain(alias, revision):
                prepared["discriminator"] = {"propertyName": tag.wire}
        made[name] = _with_checked_bounds(prepared)
    return document(made)


def _properties(struct: ir.Struct, schemas: Object) -> Object:
    """Return the tag, then the fields in the order of the wire type, with their defaults."""
    properties = {struct.tag.wire: schemas[struct.tag.wire]} if struct.tag else {}
    for field in struct.fields:
        schema = schemas[field.wire]
        if field.absent == "always":
            schema = {**schema, "default": field.default}
        if isinstance(field.type, ir.Choice) and "enum" in schema:
            schema = {**schema, "enum": list(field.type.values)}
        properties[field.wire] = schema
    return properties


def _with_checked_bounds(schema: Any, *, alone: bool = True) -> Any:
    """Leave out the bounds that no model checks: those inside of a type would become types."""
    if is_array(schema):
        return [_with_checked_bounds(one, alone=False) for one in schema]
    if not is_object(schema):
        return schema
    whole = schema.get("type") == "integer"
    made: Object = {}
    for word, value in schema.items():
        if word == "properties":
            made[word] = {wire: _with_checked_bounds(one) for wire, one in value.items()}
        elif word not in BOUNDS:
            made[word] = _with_checked_bounds(value, alone=False)
        elif alone and word in _CHECKED and (isinstance(value, int) or not whole):
            made[word] = value
    return made


def _with_both_kinds_of_number(schema: Any) -> Any:
    """Replace `number` by integer or float, so that 50 stays 50."""
    if is_array(schema):
        return [_with_both_kinds_of_number(one) for one in schema]
    if not is_object(schema):
        return schema
    kinds = schema.get("type")
    if kinds == "number" or (is_array(kinds) and "number" in kinds):
        others = [one for one in kinds if one != "number"] if is_array(kinds) else []
        return {**schema, "type": [*dict.fromkeys([*others, "integer"]), "number"]}
    return {key: _with_both_kinds_of_number(value) for key, value in schema.items()}


def _attributes(revision: ir.Revision) -> dict[str, str]:
    """Return our attribute names of properties, by `Type.property`."""
    return {
        f"{struct.name}.{wire}": _attribute(name)
        for struct in revision.structs.values()
        for wire, name in _named(struct)
        if not wire.isidentifier() or _attribute(name) != wire
    }


def _named(struct: ir.Struct) -> list[tuple[str, str]]:
    tag = [(struct.tag.wire, struct.tag.name)] if struct.tag else []
    return [*tag, *((field.wire, field.name) for field in struct.fields)]


def _attribute(name: str) -> str:
    """Return the attribute of a model: BaseModel has some names for itself."""
    return f"{name}_" if hasattr(BaseModel, name) else name


def _tag(alias: ir.Alias, revision: ir.Revision) -> ir.Tag:
    tag = _structs(alias.type, revision)[0].tag
    assert tag is not None
    return tag


def _structs(type_: ir.Type, revision: ir.Revision) -> list[ir.Struct]:
    """Return the structs that a union has as arms, those of nested unions included."""
    found: list[ir.Struct] = []
    for name in ir.arm_names(type_):
        if name in revision.structs:
            found.append(revision.structs[name])
        else:
            found += _structs(revision.aliases[name].type, revision)
    return found


def _is_union(alias: ir.Alias) -> bool:
    """Return True for a union, and False for another name of one."""
    return isinstance(alias.type, ir.OneOf)


def _is_plain(alias: ir.Alias, revision: ir.Revision) -> bool:
    """Return True if pydantic's own discriminator tells the arms apart.

    It takes texts, under a key that is a name, of structs alone; and where the union is inside of
    itself it is not looked at.
    """
    tag = _tag(alias, revision)
    return (
        next(_without_structs(alias.type, revision), None) is None
        and isinstance(tag.value, str)
        and tag.wire.isidentifier()
        and not _contains_itself(alias, revision)
    )


def _contains_itself(alias: ir.Alias, revision: ir.Revision) -> bool:
    seen: set[str] = set()
    waiting = [*ir.mentions(alias.type)]
    while waiting:
        name = waiting.pop()
        if name in revision.structs:
            types = [field.type for field in revision.structs[name].fields]
        else:
            types = [revision.aliases[name].type]
        found = {one for type_ in types for one in ir.mentions(type_)} - seen
        if alias.name in found:
            return True
        seen |= found
        waiting += found
    return False


def _definition(node: ast.stmt, revision: ir.Revision, missing: dict[str, str]) -> ast.stmt:
    """Return a definition; a union gets its discriminator."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[_, type_])):
            alias = revision.aliases.get(name)
            if alias is None:
                return node  # named by datamodel-code-generator: `_check_names` stops
            text = _told_apart(alias, ast.unparse(type_), revision, missing)
            if isinstance(alias.type, ir.Ref):
                text = f"{name}: TypeAlias = {alias.type.name}"
            else:
                text = f"{name} = TypeAliasType({literal(name)}, {text})"
            return ast.parse(text).body[0]
        case _:
            return node


def _after_classes(made: list[ast.stmt], in_turn: list[str]) -> list[ast.stmt]:
    """Move other names of classes behind the classes, where these come later.

    `in_turn` has all such names, each after those it is for.
    """
    there: set[str] = set()
    early: list[ast.stmt] = []
    for node in made:
        match node:
            case ast.AnnAssign(value=ast.Name(id=name)) if name not in there:
                early.append(node)
            case _:
                there.update(_defined(node))
    late = [node for node in made if isinstance(node, ast.Expr)]  # `X.model_rebuild()`
    moved = {id(node) for node in (*early, *late)}
    places = {name: place for place, name in enumerate(in_turn)}
    early.sort(key=lambda node: places[_defined(node)[0]])
    return [*(node for node in made if id(node) not in moved), *early, *late]


def _told_apart(alias: ir.Alias, text: str, revision: ir.Revision, missing: dict[str, str]) -> str:
    if alias.strategy == "pick":
        return f"Annotated[{text}, Picked(types.{alias.marker})]"
    if alias.strategy != "tag" or not _is_union(alias):
        return text
    wire = _tag(alias, revision).wire
    if alias.keeps_unknown:
        return f"Annotated[{text} | UnknownContent, Tagged({literal(wire)})]"
    if wire in missing:
        return f"Annotated[{text}, Tagged({literal(wire)}, {literal(missing[wire])})]"
    return text if _is_plain(alias, revision) else _by_tag(alias, revision)


def _needs_tag(alias: ir.Alias, revision: ir.Revision) -> bool:
    """Return True if `_by_tag` tells the arms of an alias apart."""
    told_otherwise = alias.strategy != "tag" or not _is_union(alias) or alias.keeps_unknown
    return not told_otherwise and not _is_plain(alias, revision)


def _by_tag(alias: ir.Alias, revision: ir.Revision) -> str:
    """Return a union of which some arms are structs told apart by a tag, of any type."""
    tag = _tag(alias, revision)
    arms = ", ".join(
        f"Annotated[{literal(one.name)}, Tag({literal(repr(one.tag.value))})]"
        for one in _structs(alias.type, revision)
        if one.tag
    )
    found = (
        f"Annotated[typing.Union[{arms}], "
        f"_by_tag({literal(tag.wire)}, {literal(_attribute(tag.name))})]"
    )
    others = [literal(annotation(one)) for one in _without_structs(alias.type, revision)]
    return f"typing.Union[{', '.join([found, *others])}]" if others else found


def _without_structs(type_: ir.Type, revision: ir.Revision) -> Iterator[ir.Type]:
    """Yield the arms of a union that are no structs, those of nested unions included."""
    for arm in type_.arms if isinstance(type_, ir.OneOf) else (type_,):
        if isinstance(arm, ir.Ref) and arm.name not in revision.structs:
            inner = revision.aliases[arm.name].type
            if _structs(inner, revision):
                yield from _without_structs(inner, revision)
                continue
        if not isinstance(arm, ir.Ref) or arm.name not in revision.structs:
            yield arm


def _give_names_back(tree: ast.Module, definitions: Object) -> None:
    """Undo the renaming of definitions that have the name of an import, such as `Annotated`."""
    for one in tree.body:
        if isinstance(one, ast.ImportFrom) and one.module == "typing":
            clashing = {name.name for name in one.names if name.name in definitions}
            one.names = [name for name in one.names if name.name not in clashing]
            for name in sorted(clashing):
                _rename(tree, name, f"typing.{name}")
                _rename(tree, f"{name}Model", name)


def _qualify_annotated(made: list[ast.stmt]) -> None:
    """Spell our own uses of `Annotated` out, where datamodel-code-generator has none."""
    for node in (inner for one in made for inner in ast.walk(one)):
        match node:
            case ast.Subscript(value=ast.Name(id="Annotated") as name):
                name.id = "typing.Annotated"
            case _:
                continue


def _rename(tree: ast.Module, old: str, new: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
        elif isinstance(node, ast.ClassDef) and node.name == old:
            node.name = new


def _check_names(made: list[ast.stmt], definitions: Object, revision: ir.Revision) -> None:
    names = {name for node in made for name in _defined(node)}
    if names != definitions.keys():
        raise CodegenError(
            f"{revision.name}: datamodel-code-generator renamed "
            f"{', '.join(sorted(definitions.keys() - names))} to "
            f"{', '.join(sorted(names - definitions.keys()))}; "
            "give the definition another name with an [[alias]] or [[name]] row"
        )
    for node in made:
        if isinstance(node, ast.ClassDef):
            found = [name for one in node.body for name in _defined(one) if name != "model_config"]
            wanted = [_attribute(name) for _, name in _named(revision.structs[node.name])]
            if found != wanted:
                raise CodegenError(
                    f"{revision.name}: {node.name}: datamodel-code-generator has the attributes "
                    f"{', '.join(found)}; expected {', '.join(wanted)}"
                )


_BY_TAG = """
from pydantic import Discriminator, Tag

def _by_tag(*keys: str) -> Discriminator:
    def tag(value: object) -> str | None:
        is_object = isinstance(value, dict)
        found = (value.get(key) if is_object else getattr(value, key, None) for key in keys)
        return next((repr(one) for one in found if one is not None), None)

    return Discriminator(tag)
"""
"""Discriminator of a union whose tag is an integer, or which has other arms too."""


class _Exact(ast.NodeTransformer):
    """Makes literals of which pydantic takes a boolean for a number, or the other way, exact."""

    def __init__(self) -> None:
        self.used = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.value, ast.Name) or node.value.id != "Literal":
            return self.generic_visit(node)
        values = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [ast.literal_eval(value) for value in values]
        if not any(isinstance(value, bool) or value in (0, 1) for value in found):
            return node
        self.used = True
        listed = ", ".join(map(literal, found))
        return ast.parse(f"Annotated[{ast.unparse(node)}, _exactly({listed})]", mode="eval").body


def _defined(node: ast.stmt) -> list[str]:
    match node:
        case (
            ast.ClassDef(name=name)
            | ast.Assign(targets=[ast.Name(id=name)])
            | ast.AnnAssign(target=ast.Name(id=name))
        ):
            return [name]
        case _:
            return []

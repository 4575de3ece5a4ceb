"""Pydantic models of a normalised schema, by datamodel-code-generator; unions are added here."""

import ast
from pathlib import Path
from typing import Any

from datamodel_code_generator import InputFileType, LiteralType, generate
from datamodel_code_generator.enums import DataModelType, NamingStrategy
from datamodel_code_generator.format import Formatter, PythonVersion

from codegen.emit.python_text import literal
from codegen.errors import CodegenError
from codegen.model import ir
from codegen.schema.load import Object, is_array, is_object

_TAKEN = {"schema": "schema_"}
"""Attributes of pydantic's BaseModel, and what a field of that name is called instead."""

_IMPORTS = """
import typing
from typing import TypeAlias
from mcp_wire.base import UnknownContent
from mcp_wire.pydantic.base import Picked, Tagged
"""


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
    tree.body = [*imports, *ast.parse(ours).body, *made]
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
        elif alias and alias.strategy == "tag" and not alias.keeps_unknown:
            wire = _tag(alias, revision).wire
            if wire not in missing:
                prepared["discriminator"] = {"propertyName": wire}
        made[name] = prepared
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
    """Return our attribute names of properties that are not Python identifiers."""
    return {
        f"{struct.name}.{field.wire}": _TAKEN.get(field.name, field.name)
        for struct in revision.structs.values()
        for field in struct.fields
        if not field.wire.isidentifier()
    }


def _tag(alias: ir.Alias, revision: ir.Revision) -> ir.Tag:
    tag = revision.structs[ir.arm_names(alias.type)[0]].tag
    assert tag is not None
    return tag


def _definition(node: ast.stmt, revision: ir.Revision, missing: dict[str, str]) -> ast.stmt:
    """Return a definition; a union gets its discriminator."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[_, type_])):
            alias = revision.aliases[name]
            text = _told_apart(alias, ast.unparse(type_), revision, missing)
            if isinstance(alias.type, ir.Ref):
                text = f"{name}: TypeAlias = {text}"
            else:
                text = f"{name} = TypeAliasType({literal(name)}, {text})"
            return ast.parse(text).body[0]
        case _:
            return node


def _told_apart(alias: ir.Alias, text: str, revision: ir.Revision, missing: dict[str, str]) -> str:
    if alias.strategy == "pick":
        return f"Annotated[{text}, Picked(types.{alias.marker})]"
    if alias.strategy != "tag":
        return text
    wire = _tag(alias, revision).wire
    if alias.keeps_unknown:
        return f"Annotated[{text} | UnknownContent, Tagged({literal(wire)})]"
    if wire in missing:
        return f"Annotated[{text}, Tagged({literal(wire)}, {literal(missing[wire])})]"
    return text


def _give_names_back(tree: ast.Module, definitions: Object) -> None:
    """Undo the renaming of definitions that have the name of an import, such as `Annotated`."""
    for one in tree.body:
        if isinstance(one, ast.ImportFrom) and one.module == "typing":
            clashing = {name.name for name in one.names if name.name in definitions}
            one.names = [name for name in one.names if name.name not in clashing]
            for name in sorted(clashing):
                _rename(tree, name, f"typing.{name}")
                _rename(tree, f"{name}Model", name)


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
            found = [name for one in node.body for name in _defined(one)]
            wanted = _attributes_of(revision.structs[node.name])
            if found != wanted:
                raise CodegenError(
                    f"{revision.name}: {node.name}: datamodel-code-generator has the attributes "
                    f"{', '.join(found)}; expected {', '.join(wanted)}: "
                    "see _TAKEN in codegen/emit/pydantic_models.py"
                )


def _attributes_of(struct: ir.Struct) -> list[str]:
    names = [*([struct.tag.name] if struct.tag else []), *(field.name for field in struct.fields)]
    return [_TAKEN.get(name, name) for name in names]


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

"""Pydantic models of a normalised schema, by datamodel-code-generator; unions are added here."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datamodel_code_generator import InputFileType, LiteralType, generate
from datamodel_code_generator.enums import DataModelType, NamingStrategy
from datamodel_code_generator.format import Formatter, PythonVersion
from pydantic import BaseModel

from codegen.emit.pydantic_unions import (
    BY_TAG,
    EXACTLY,
    Exact,
    after_classes,
    by_tag,
    defined,
    is_plain,
    is_union,
    needs_tag,
    qualify_annotated,
    tag_of,
)
from codegen.emit.python_source import literal
from codegen.emit.renderer import Renderer
from codegen.errors import CodegenError
from codegen.extensions.read import Extension
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
from pydantic import AllowInfNan, Strict, StrictBool, StrictInt, StrictStr
from mcp_wire.base import UnknownContent
from mcp_wire.pydantic.base import AnyJson, OpenModel, Picked, Tagged
"""

_STRICT = {
    "str": "StrictStr",
    "int": "StrictInt",
    "bool": "StrictBool",
    "float": "Annotated[float, Strict(), AllowInfNan(False)]",
}
"""Scalars of an alias: used alone, it has no model that makes it strict."""

_BORROWED: Object = {"type": "object", "properties": {}}
"""Stands for a definition of another module; its name is all that is used."""


def models(revision: ir.Revision, missing: dict[str, str], render: Renderer) -> str:
    """Render the models of a revision, without header and docstring.

    `missing` says what an absent tag means, by the tag's name on the wire.

    Raises:
        CodegenError: a definition came out under another name.
    """
    return _Models(revision, revision, missing, render).run()


def extension_models(extension: Extension, missing: dict[str, str], render: Renderer) -> str:
    """Render the models of an extension, without header and docstring.

    Raises:
        CodegenError: as `models`.
    """
    base, borrowed = extension.base, extension.borrowed
    return _Models(extension.own, extension.whole, missing, render).run(base, borrowed)


class _Models:
    """The models of one module; `whole` has the types that it refers to as well."""

    def __init__(
        self, own: ir.Revision, whole: ir.Revision, missing: dict[str, str], render: Renderer
    ) -> None:
        self._own = own
        self._whole = whole
        self._missing = missing
        self._render = render

    def run(self, base: str = "", borrowed: Sequence[str] = ()) -> str:
        definitions = self._own.normalized
        given = definitions | dict.fromkeys(borrowed, _BORROWED)
        document = _document(given, self._own, self._whole, self._missing)
        tree = ast.parse(printed(document, _attributes(self._own)))
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        made = [
            self._definition(node)
            for node in tree.body
            if node not in imports and not set(borrowed).intersection(defined(node))
        ]
        made = after_classes(made, [one.name for one in (*self._own.scalars, *self._own.unions)])
        exact = Exact()
        made = [exact.visit(node) for node in made]
        ours = f"{_IMPORTS}from mcp_wire.{self._own.module} import types"
        if borrowed:
            ours += f"\nfrom mcp_wire.pydantic.{base} import {', '.join(borrowed)}"
        ours += EXACTLY if exact.used else ""
        ours += BY_TAG if any(needs_tag(one, self._whole) for one in self._own.unions) else ""
        tree.body = [*imports, *ast.parse(ours).body, *made]
        if not any(one.name == "Annotated" for node in imports for one in node.names):
            qualify_annotated(made)
        _give_names_back(tree, definitions)
        _check_names(made, definitions, self._own)
        exports = ", ".join(map(literal, sorted([*definitions, *borrowed])))
        first = [ast.unparse(node) for node in tree.body if node not in made]
        return "\n".join([*first, f"__all__ = [{exports}]", *map(self._documented, made)])

    def _definition(self, node: ast.stmt) -> ast.stmt:
        """Return a definition; a union gets its discriminator, a scalar is strict."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[_, type_])):
                alias = self._own.aliases.get(name)
                if alias is None:
                    return node  # named by datamodel-code-generator: `_check_names` stops
                strict = ast.unparse(_Alone().visit(type_))
                text = self._discriminated(alias, strict)
                if isinstance(alias.type, ir.Ref):
                    text = f"{name}: TypeAlias = {alias.type.name}"
                else:
                    text = f"{name} = TypeAliasType({literal(name)}, {text})"
                return ast.parse(text).body[0]
            case _:
                made: ast.stmt = _OpenValues().visit(node)
                return made

    def _discriminated(self, alias: ir.Alias, text: str) -> str:
        if alias.strategy == "pick":
            return f"Annotated[{text}, Picked(types.{alias.marker})]"
        if alias.strategy != "tag" or not is_union(alias):
            return text
        tag = tag_of(alias, self._whole)
        wire = tag.wire
        if alias.keeps_unknown:
            return f"Annotated[{text} | UnknownContent, Tagged({literal(wire)})]"
        if wire in self._missing:
            return f"Annotated[{text}, Tagged({literal(wire)}, {literal(self._missing[wire])})]"
        if is_plain(alias, self._whole):
            return text
        found, others = by_tag(alias, _attribute(tag.name), self._whole)
        strict: list[ast.expr] = [_Alone().visit(_expression(one)) for one in others]
        qualify_annotated(strict)
        quoted = [literal(ast.unparse(one)) for one in strict]
        return f"typing.Union[{', '.join([found, *quoted])}]" if quoted else found

    def _documented(self, node: ast.stmt) -> str:
        """Return the text of a definition, with the docstrings that its wire type has."""
        match node:
            case ast.ClassDef(name=name):
                struct = self._own.structs[name]
                line = f"class {name}({'OpenModel' if struct.open else 'WireModel'}):"
                texts = [self._render.struct_doc(struct, self._own)]
                docs = [self._render.tag_doc(struct.tag)] if struct.tag else []
                docs += [self._render.field_doc(field, struct) for field in struct.fields]
                fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
                for field, doc in zip(fields, docs, strict=True):
                    texts += [ast.unparse(field), doc]
                config = [ast.unparse(one) for one in node.body if isinstance(one, ast.Assign)]
                texts[1:1] = config
                body = [f"    {text}" for text in texts if text] or ["    pass"]
                return "\n".join([line, *body])
            case ast.Expr():  # a model is completed that refers to itself
                return ast.unparse(node)
            case _:
                (name,) = defined(node)
                return f"{ast.unparse(node)}\n{self._render.alias_doc(self._own.aliases[name])}"


class _OpenValues(ast.NodeTransformer):
    """Makes `Any` refuse the numbers that JSON lacks."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _expression("AnyJson") if node.id == "Any" else node


class _Alone(_OpenValues):
    """Makes the scalars, lists and maps of an alias strict."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in _STRICT:
            return _expression(_STRICT[node.id])
        return super().visit_Name(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Name(id="Literal")):
                return node
            case ast.Subscript(
                value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[type_, *more])
            ):
                node.slice = ast.Tuple([self.visit(type_), *more], ast.Load())
                return node
            case ast.Subscript(value=ast.Name(id="list" | "dict" as kind), slice=inside):
                made = ast.unparse(self._inside(inside))
                return _expression(f"Annotated[{kind}[{made}], Strict()]")
            case _:
                self.generic_visit(node)
                return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        # A type in quotes, because it is defined further down.
        return ast.Constant(ast.unparse(self.visit(_expression(node.value))))

    def _inside(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Tuple(elts=[key, value]):  # a map: its keys are strings without this
                return ast.Tuple([key, self.visit(value)], ast.Load())
            case _:
                made: ast.expr = self.visit(node)
                return made


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


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


def _document(
    definitions: Object, revision: ir.Revision, whole: ir.Revision, missing: dict[str, str]
) -> Object:
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
        elif alias and alias.strategy == "tag" and is_union(alias) and not alias.keeps_unknown:
            wire = tag_of(alias, whole).wire
            if wire not in missing and is_plain(alias, whole):
                prepared["discriminator"] = {"propertyName": wire}
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
    names = {name for node in made for name in defined(node)}
    if names != definitions.keys():
        raise CodegenError(
            f"{revision.name}: datamodel-code-generator renamed "
            f"{', '.join(sorted(definitions.keys() - names))} to "
            f"{', '.join(sorted(names - definitions.keys()))}; "
            "give the definition another name with an [[alias]] or [[name]] row"
        )
    for node in made:
        if isinstance(node, ast.ClassDef):
            found = [name for one in node.body for name in defined(one) if name != "model_config"]
            wanted = [_attribute(name) for _, name in _named(revision.structs[node.name])]
            if found != wanted:
                raise CodegenError(
                    f"{revision.name}: {node.name}: datamodel-code-generator has the attributes "
                    f"{', '.join(found)}; expected {', '.join(wanted)}"
                )

"""Discriminators, exact literals and order, which datamodel-code-generator does not print."""

import ast
from collections.abc import Iterator, Sequence

from codegen.emit.python_source import annotation, literal
from codegen.model import ir

EXACTLY = """
from pydantic import PlainValidator

def _exactly(*values: object) -> PlainValidator:
    def checked(value: object) -> object:
        if not isinstance(value, float) and any(
            isinstance(value, bool) == isinstance(one, bool) and value == one for one in values
        ):
            return value
        raise ValueError(f"Input should be {' or '.join(map(repr, values))}")

    return PlainValidator(checked, json_schema_input_type=typing.Literal[values])
"""
"""Validator of listed values that are equal to others in Python: 1 to True, and to 1.0."""

BY_TAG = """
import pydantic
from pydantic import Discriminator, Tag
from pydantic_core import core_schema

class _ByTag:
    def __init__(self, wire: str, name: str) -> None:
        self._wire = wire
        self._name = name

    def __get_pydantic_core_schema__(
        self, source: object, handler: pydantic.GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def told(*keys: str) -> core_schema.CoreSchema:
            def tag(value: object) -> str | None:
                is_object = isinstance(value, dict)
                found = (value.get(key) if is_object else getattr(value, key, None) for key in keys)
                return next((repr(one) for one in found if one is not None), None)

            return Discriminator(tag).__get_pydantic_core_schema__(source, handler)

        return core_schema.json_or_python_schema(
            json_schema=told(self._wire), python_schema=told(self._wire, self._name)
        )
"""
"""Discriminator of a union whose tag is an integer, or which has other arms too.

JSON text has the tag under its wire name alone; other values may have it as an attribute.
"""


class Exact(ast.NodeTransformer):
    """Makes literals exact of which pydantic takes a boolean or a fraction for an integer."""

    def __init__(self) -> None:
        self.used = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.value, ast.Name) or node.value.id != "Literal":
            return self.generic_visit(node)
        values = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [ast.literal_eval(value) for value in values]
        if not any(isinstance(value, int) for value in found):  # a boolean is an int, too
            return node
        self.used = True
        listed = ", ".join(map(literal, found))
        return ast.parse(f"Annotated[{ast.unparse(node)}, _exactly({listed})]", mode="eval").body


def tag_of(alias: ir.Alias, revision: ir.Revision) -> ir.Tag:
    """Return the tag of the first struct of a tagged union."""
    tag = _structs(alias.type, revision)[0].tag
    assert tag is not None
    return tag


def is_union(alias: ir.Alias) -> bool:
    """Return True for a union, and False for another name of one."""
    return isinstance(alias.type, ir.OneOf)


def is_plain(alias: ir.Alias, revision: ir.Revision) -> bool:
    """Return True if pydantic's own discriminator tells the arms apart.

    It takes texts, under a key that is a name, of structs alone; and where the union is inside of
    itself it is not looked at.
    """
    tag = tag_of(alias, revision)
    return (
        next(_without_structs(alias.type, revision), None) is None
        and isinstance(tag.value, str)
        and tag.wire.isidentifier()
        and not _contains_itself(alias, revision)
    )


def needs_tag(alias: ir.Alias, revision: ir.Revision) -> bool:
    """Return True if `_ByTag` tells the arms of an alias apart."""
    told_otherwise = alias.strategy != "tag" or not is_union(alias) or alias.keeps_unknown
    return not told_otherwise and not is_plain(alias, revision)


def by_tag(alias: ir.Alias, attribute: str, revision: ir.Revision) -> tuple[str, list[str]]:
    """Return the arms that are structs, told apart by a tag of any type, and the other arms."""
    tag = tag_of(alias, revision)
    arms = ", ".join(
        f"Annotated[{literal(one.name)}, Tag({literal(repr(one.tag.value))})]"
        for one in _structs(alias.type, revision)
        if one.tag
    )
    found = f"_ByTag({literal(tag.wire)}, {literal(attribute)})"
    others = [annotation(one) for one in _without_structs(alias.type, revision)]
    return f"Annotated[typing.Union[{arms}], {found}]", others


def after_classes(made: list[ast.stmt], in_turn: list[str]) -> list[ast.stmt]:
    """Move other names of classes behind the classes, where these come later.

    `in_turn` has all such names, each after those it is for.
    """
    there: set[str] = set()
    early: list[tuple[str, ast.stmt]] = []
    for node in made:
        match node:
            case ast.AnnAssign(target=ast.Name(id=alias), value=ast.Name(id=name)):
                if name in there:
                    there.add(alias)
                else:
                    early.append((alias, node))
            case _:
                there.update(defined(node))
    late = [node for node in made if isinstance(node, ast.Expr)]  # `X.model_rebuild()`
    places = {name: place for place, name in enumerate(in_turn)}
    moved = [node for _, node in sorted(early, key=lambda pair: places[pair[0]])]
    others = {id(node) for node in (*moved, *late)}
    return [*(node for node in made if id(node) not in others), *moved, *late]


def qualify_annotated(made: Sequence[ast.AST]) -> None:
    """Spell our own uses of `Annotated` out, where datamodel-code-generator has none."""
    for node in (inner for one in made for inner in ast.walk(one)):
        match node:
            case ast.Subscript(value=ast.Name(id="Annotated") as name):
                name.id = "typing.Annotated"
            case _:
                continue


def defined(node: ast.stmt) -> list[str]:
    """Return the name that a statement defines, if it is one that defines a name."""
    match node:
        case (
            ast.ClassDef(name=name)
            | ast.Assign(targets=[ast.Name(id=name)])
            | ast.AnnAssign(target=ast.Name(id=name))
        ):
            return [name]
        case _:
            return []


def _structs(type_: ir.Type, revision: ir.Revision) -> list[ir.Struct]:
    """Return the structs that a union has as arms, those of nested unions included."""
    found: list[ir.Struct] = []
    for name in ir.arm_names(type_):
        if name in revision.structs:
            found.append(revision.structs[name])
        else:
            found += _structs(revision.aliases[name].type, revision)
    return found


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

"""Unions of the pydantic models: arms that are told apart by a tag, and the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from codegen.emit.pydantic_unions import by_tag
from codegen.model import ir


def test_structs_of_nested_unions_are_told_apart_and_all_else_stays_as_it_is() -> None:
    structs = {
        name: SimpleNamespace(name=name, tag=SimpleNamespace(wire="kind", value=name))
        for name in ("A", "B")
    }
    text = ir.Scalar("str")
    aliases = {
        "Text": SimpleNamespace(type=text),
        "Inner": SimpleNamespace(type=ir.OneOf((ir.Ref("A"), text))),
    }
    outer: Any = SimpleNamespace(type=ir.OneOf((ir.Ref("B"), ir.Ref("Inner"), ir.Ref("Text"))))
    revision: Any = SimpleNamespace(structs=structs, aliases=aliases)
    told_apart, others = by_tag(outer, "kind", revision)
    assert told_apart == (
        'Annotated[typing.Union[Annotated["B", Tag("\'B\'")], Annotated["A", Tag("\'A\'")]], '
        '_ByTag("kind", "kind")]'
    )
    assert others == ["str", "Text"]

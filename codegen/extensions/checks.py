"""Checks of an extension: names that clash in Python, and results that are ambiguous."""

from collections.abc import Collection, Iterator

from codegen.model import ir
from codegen.model.names import snake

_HANDLERS = frozenset({"agree", "offers"})
"""Members of the class for handlers beside the requests."""
_CALLS = frozenset({"methods", "progress", "self", "timeout_s", "types"})
"""Names that the methods of a call class use beside the parameters of the message."""


def names_taken(methods: Collection[ir.Method], whole: ir.Revision) -> Iterator[str]:
    """Yield messages and parameters whose Python names are reserved in generated code."""
    for method in methods:
        where = f'[methods."{method.wire}"]'
        if method.kind == "request" and snake(method.name) in _HANDLERS:
            yield f"{where}: `{snake(method.name)}` is a name of Handlers"
        struct = whole.structs.get(method.params)
        for field in struct.fields if struct else ():
            if field.name in _CALLS:
                yield f"{where}: a parameter cannot have the name `{field.wire}`"


def tags_taken(
    names: Collection[str], own: Collection[str], whole: ir.Revision
) -> Iterator[tuple[str, str]]:
    """Yield the results whose tag value another result has, with that value."""
    taken = {
        str(struct.tag.value)
        for name, struct in whole.structs.items()
        if name not in own and struct.tag is not None and struct.tag.wire == "resultType"
    }
    for name in names:
        tag = whole.structs[name].tag
        if tag is not None and tag.value in taken:
            yield name, str(tag.value)
        elif tag is not None:
            taken.add(str(tag.value))

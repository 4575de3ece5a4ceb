"""Facts of the Profile with their types, inferred from the values at all revisions."""

from collections.abc import Sequence
from typing import Any

from codegen.emit.python_source import literal
from codegen.errors import CodegenError
from codegen.model import ir
from codegen.model.names import snake
from codegen.model.overlay import Overlay
from codegen.model.profile import OWN_FACTS


def fact_types(revisions: Sequence[ir.Revision], overlay: Overlay) -> dict[str, str]:
    """Return the annotation of every fact: those of each revision, roles, and stated facts.

    Raises:
        CodegenError: a role has the name of another fact.
    """
    names = list(dict.fromkeys(fact.name for r in revisions for fact in r.facts))
    values = {
        name: [fact.value for r in revisions for fact in r.facts if fact.name == name]
        for name in names
    }
    roles = role_names(revisions, overlay)
    for name in roles:
        if name in names or name in OWN_FACTS:
            raise CodegenError(
                f"overlay.toml: the [[role]] `{name}` has the name of another fact; rename it"
            )
    return {
        **OWN_FACTS,
        **dict.fromkeys(roles, "Method[Any, Any] | None"),
        **{name: _fact_type(found) for name, found in values.items()},
    }


def error_types(revisions: Sequence[ir.Revision]) -> dict[str, str]:
    """Return the annotation of every error code; some revisions may lack it."""
    names = [error.name for revision in revisions for error in revision.errors]
    return {
        name.lower(): "int" if names.count(name) == len(revisions) else "int | None"
        for name in dict.fromkeys(names)
    }


def role_names(revisions: Sequence[ir.Revision], overlay: Overlay) -> list[str]:
    """Return the facts that are methods: the roles that methods play in the runtime."""
    rows = [row for r in revisions for row in overlay.rows("role", r.name)]
    return list(dict.fromkeys(str(row["name"]) for row in rows))


def _fact_type(values: list[Any]) -> str:
    present = [value for value in values if value is not None]
    if not present:
        return "None"
    kinds = sorted({type(value).__name__ for value in present})
    if kinds == ["str"] and all(snake(value) == value for value in present):
        made = f"Literal[{', '.join(literal(value) for value in dict.fromkeys(present))}]"
    else:
        made = " | ".join("Mapping[str, str]" if kind == "dict" else kind for kind in kinds)
    return f"{made} | None" if len(present) < len(values) else made

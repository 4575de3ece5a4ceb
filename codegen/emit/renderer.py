"""Renders templates, and writes the docstrings of types and fields."""

from collections.abc import Callable
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from codegen.emit.python_source import docstring
from codegen.emit.python_text import FILTERS
from codegen.model import ir
from codegen.model.docs import Docs
from codegen.model.message_docs import frame_line, message_line, tag_line

COMMAND = "python -m codegen"


class _CompiledTemplates(jinja2.BytecodeCache):
    """Compiled templates of this process.

    Filters hold the documentation of one package, so each package has an environment of its own,
    and an environment compiles all it renders.
    """

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key] = bucket.bytecode_to_string()


COMPILED = _CompiledTemplates()
"""Shared by all environments; a template is always rendered with the same whitespace options."""


class Renderer:
    """Renders templates of Python modules, with the documentation of their types."""

    def __init__(self, docs: Docs, **filters: Callable[..., Any]) -> None:
        self._docs = docs
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader("codegen"),
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
            autoescape=False,
            bytecode_cache=COMPILED,
        )
        known: dict[str, Callable[..., Any]] = {
            **FILTERS,
            "alias_doc": self.alias_doc,
            "field_doc": self.field_doc,
            "struct_doc": self.struct_doc,
            "tag_doc": self.tag_doc,
            **filters,
        }
        self._templates.filters.update(known)

    def __call__(self, name: str, values: dict[str, Any]) -> str:
        return self._templates.get_template(f"{name}.py.jinja").render(values)

    def alias_doc(self, alias: ir.Alias, indent: int = 0) -> str:
        """Return the docstring of a scalar, map or union: its meaning and deprecation."""
        return docstring(_described(self._docs.type(alias.name), alias.deprecated), indent)

    def struct_doc(self, struct: ir.Struct, revision: ir.Revision) -> str:
        """Return the type's docstring: its meaning, deprecation and specification page."""
        meaning = self._docs.type(struct.name) or message_line(struct, revision)
        page = revision.pages[struct.name]
        source = f"Source: {revision.spec}/{page}" if meaning and page and revision.spec else ""
        beyond = "Keys that it does not name are in `extra`." if struct.open else ""
        return docstring([*_described(meaning, struct.deprecated), beyond, source], 4)

    def field_doc(self, field: ir.Field, struct: ir.Struct) -> str:
        """Return the docstring of a field: its meaning and deprecation."""
        meaning = self._docs.field(struct.name, field.wire) or frame_line(struct, field.wire)
        return docstring(_described(meaning, field.deprecated), 4)

    def tag_doc(self, tag: ir.Tag) -> str:
        """Return the docstring of a tag; empty where no row wants one."""
        return docstring([tag_line(tag)], 4)


def names(revision: ir.Revision) -> list[str]:
    """Return the names that a module of types defines."""
    raw = [f"Raw{struct.name}" for struct in revision.structs.values() if struct.raw]
    return sorted([*revision.structs, *revision.aliases, *raw])


def split(methods: list[ir.Method]) -> tuple[list[ir.Method], list[ir.Method]]:
    """Split methods into requests and notifications."""
    return (
        [method for method in methods if method.kind == "request"],
        [method for method in methods if method.kind == "notification"],
    )


def _described(meaning: str, deprecation: str) -> list[str]:
    """Return the paragraphs of a docstring: the meaning, and the advice if deprecated."""
    if not deprecation:
        return [meaning]
    return [meaning, f"Deprecated: {deprecation}"] if meaning else ["Deprecated.", deprecation]

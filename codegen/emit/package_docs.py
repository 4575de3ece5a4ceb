"""Docstring of a revision's package: the names to begin with, and all names by section."""

import textwrap
from collections.abc import Iterator

from codegen.emit.python_text import message_sections
from codegen.model import ir
from codegen.model.docs import Docs

_WIDTH = 100
_FIRST = (
    "Tool",
    "CallToolRequestParams",
    "CallToolResult",
    "TextContent",
    "Resource",
    "ReadResourceResult",
    "Prompt",
    "GetPromptResult",
    "ServerCapabilities",
)
"""Types to begin with, beside PROFILE: what most programs read and write, at every revision."""


def package_doc(revision: ir.Revision, docs: Docs) -> str:
    """Return the docstring, without its quotes."""
    there = {**revision.structs, **revision.aliases}
    first = {name: docs.type(name) for name in _FIRST if name in there}
    first = {"PROFILE": "Methods, error codes and other facts of the revision.", **first}
    width = max(map(len, first)) + 2
    lines = [
        f"MCP {revision.name}: its types, and PROFILE with its methods and facts.",
        "",
        "Names to begin with:",
        "",
        *(line for name, text in first.items() for line in _entry(f"{name:{width}}{text}", width)),
        "",
        "All names, by the sections of `types`:",
        "",
        *(line for title, names in _sections(revision) for line in _entry(f"{title}: {names}", 2)),
        *(["", f"Source: {revision.spec}"] if revision.spec else []),
    ]
    return "\n".join(lines)


def _entry(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="    ",
        subsequent_indent=" " * (4 + indent),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _sections(revision: ir.Revision) -> Iterator[tuple[str, str]]:
    """Yield the title of each section with its names, in the order of `types`."""
    yield from _listed("Scalars and maps", [alias.name for alias in revision.scalars])
    for section in message_sections(revision):
        names = [name for one in section.structs for name in _with_twin(one)]
        yield from _listed(section.title, names)
    yield from _listed("Unions", [alias.name for alias in revision.unions])


def _with_twin(struct: ir.Struct) -> list[str]:
    return [struct.name, f"Raw{struct.name}"] if struct.raw else [struct.name]


def _listed(title: str, names: list[str]) -> Iterator[tuple[str, str]]:
    if names:
        yield title, ", ".join(names)

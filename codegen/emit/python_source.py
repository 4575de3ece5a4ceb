"""Python text of types, literals and docstrings."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from codegen.model.shapes import Choice, ListOf, MapOf, OneOf, Ref, Scalar, Type
from codegen.printable import printable

_SCALARS = {
    "str": "str",
    "int": "int",
    "bool": "bool",
    "null": "None",
    "any": "Any",
}

WIDTH = 100
"""Longest line of generated text, in columns."""


def annotation(type_: Type, prefix: str = "", *, number: str = "int | float") -> str:
    """Return the type as an annotation.

    Args:
        type_: The type.
        prefix: Text before every definition name.
        number: Annotation of numbers.
    """

    def of(inner: Type) -> str:
        return annotation(inner, prefix, number=number)

    match type_:
        case Scalar("number"):
            return number
        case Scalar(name):
            return _SCALARS[name]
        case Choice(values):
            return f"Literal[{', '.join(literal(value) for value in values)}]"
        case ListOf(item):
            return f"list[{of(item)}]"
        case MapOf(value):
            return f"dict[str, {of(value)}]"
        case Ref(name):
            return prefix + name
        case OneOf(arms):
            return " | ".join(map(of, arms))


def literal(value: Any) -> str:
    """Return a value as a Python literal, in one line and in printable characters."""
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{printable(quoted)}"'
    return repr(value)


def doc(text: str, indent: int = 4) -> str:
    """Return a docstring, in one line if it fits into 100 columns.

    Otherwise the first sentence is the first paragraph, and the rest the second.
    """
    one = f'"""{text}"""'
    if indent + len(one) <= WIDTH:
        return one
    first, stop, rest = text.partition(". ")
    if stop:
        return docstring([f"{first}.", rest], indent)
    space = " " * indent
    lines = textwrap.wrap(text, WIDTH - indent - 6)
    return '"""' + f"\n{space}".join(lines) + f'\n{space}"""'


def docstring(paragraphs: Iterable[str], indent: int) -> str:
    """Return paragraphs as a docstring; empty if all of them are."""
    said = [paragraph for paragraph in paragraphs if paragraph]
    if len(said) < 2:
        return doc(said[0], indent) if said else ""
    space = " " * indent
    width = WIDTH - indent - 3
    lines = [
        # An address stays in one piece.
        textwrap.wrap(one, width, break_long_words=False, break_on_hyphens="://" not in one)
        for one in said
    ]
    texts = [f"\n{space}".join(wrapped) for wrapped in lines]
    return '"""' + f"\n\n{space}".join(texts) + f'\n{space}"""'


def sections(
    summary: str, parts: Sequence[tuple[str, Sequence[tuple[str, str]]]], source: str, indent: int
) -> str:
    """Return a docstring with a summary, sections such as `Args:`, and the source.

    Args:
        summary: The first line.
        parts: The title and the entries of each section: a name and its meaning, or only a meaning.
            A section without entries is left out.
        source: Address of the page of the specification; none if empty.
        indent: Column of the docstring.
    """
    space = " " * indent
    lines = [summary]
    for title, entries in parts:
        if entries:
            lines += ["", f"{title}:"]
        for name, meaning in entries:
            text = f"{name}: {meaning}" if name else meaning
            width = WIDTH - indent - 4
            lines += [
                f"    {line}" for line in textwrap.wrap(text, width, subsequent_indent="    ")
            ]
    if source:
        # An address stays in one piece.
        fits = indent + len(f"Source: {source}") <= WIDTH
        lines += ["", *([f"Source: {source}"] if fits else ["Source:", source])]
    body = "\n".join(f"{space}{line}" if line else "" for line in lines[1:])
    return f'"""{lines[0]}\n{body}\n{space}"""' if body else f'"""{lines[0]}"""'

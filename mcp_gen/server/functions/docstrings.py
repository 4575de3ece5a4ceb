"""Parser of parameter descriptions in Google, NumPy and reStructuredText docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from msgspec import Struct

__all__ = ["DocstringInfo", "parse_docstring"]

# Texts, not compiled patterns: `re` compiles and keeps each one when it is first used.
_HEADINGS = r"(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments|Other Parameters)"
_GOOGLE = rf"{_HEADINGS}:\s*"
_NUMPY = rf"{_HEADINGS}\s*"
_UNDERLINE = r"-{3,}\s*"
_GOOGLE_ITEM = r"\*{0,2}(?P<name>\w+)\s*(?:\(.*?\))?\s*:(?!\S)\s*(?P<text>.*)"
_NUMPY_ITEM = r"(?P<name>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?"
_FIELD = (
    r"[:@](?:(?P<type>type)|param|parameter|arg|argument|key|keyword)\s+"
    r"(?:[^:]*?\s)?(?P<name>[\w*]+)\s*:\s*(?P<text>.*)"
)


class DocstringInfo(Struct, frozen=True):
    """Parts of a parsed docstring."""

    text: str | None
    """The docstring without the parameter descriptions; None if nothing else is in it."""
    parameters: dict[str, str]
    """Descriptions by parameter name."""


def parse_docstring(docstring: str | None) -> DocstringInfo:
    """Split a docstring into its text and the descriptions of parameters.

    A docstring in an unknown style is returned whole as `text`.
    """
    if not docstring:
        return DocstringInfo(None, {})
    lines = inspect.cleandoc(docstring).splitlines()
    parameters: dict[str, str] = {}
    text: list[str] = []
    number = 0
    while number < len(lines):
        end = _section(lines, number, parameters)
        if end == number:
            text.append(lines[number])
            end += 1
        number = end
    joined = re.sub(r"\n{3,}", "\n\n", "\n".join(text)).strip()
    return DocstringInfo(joined or None, parameters)


def _section(lines: list[str], start: int, parameters: dict[str, str]) -> int:
    """Parse a parameter section and return its end; return `start` if none begins there."""
    line = lines[start]
    if re.fullmatch(_GOOGLE, line):
        return _google(lines, start + 1, parameters)
    if re.fullmatch(_NUMPY, line) and _is_underlined(lines, start):
        return _numpy(lines, start + 2, parameters)
    field = re.fullmatch(_FIELD, line)
    if field:
        end, text = _indented_block(lines, start + 1, 0)
        if not field["type"]:
            parameters[field["name"].lstrip("*")] = _join_lines(field["text"], *text)
        return end
    return start


def _google(lines: list[str], start: int, parameters: dict[str, str]) -> int:
    end, block = _indented_block(lines, start, 0)
    indent = min((_indent(line) for line in block if line.strip()), default=0)
    for head, rest in _items(block, indent):
        item = re.fullmatch(_GOOGLE_ITEM, head.strip())
        if item:
            parameters[item["name"]] = _join_lines(item["text"], *rest)
    return end


def _numpy(lines: list[str], start: int, parameters: dict[str, str]) -> int:
    end = start
    while end < len(lines) and not _begins_section(lines, end):
        end += 1
    for head, rest in _items(lines[start:end], 0):
        item = re.fullmatch(_NUMPY_ITEM, head.strip())
        if item and rest:
            for name in item["name"].split(","):
                parameters[name.strip().lstrip("*")] = _join_lines(*rest)
    return end


def _begins_section(lines: list[str], number: int) -> bool:
    return bool(lines[number].strip()) and _is_underlined(lines, number)


def _is_underlined(lines: list[str], number: int) -> bool:
    return any(re.fullmatch(_UNDERLINE, line) for line in lines[number + 1 : number + 2])


def _indented_block(lines: list[str], start: int, indent: int) -> tuple[int, list[str]]:
    """Return the end and the lines of the block that is indented deeper than `indent`."""
    end = start
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    return end, lines[start:end]


def _items(block: list[str], indent: int) -> Iterator[tuple[str, list[str]]]:
    """Yield each line at that indent with the lines below it."""
    head: str | None = None
    rest: list[str] = []
    for line in block:
        if line.strip() and _indent(line) <= indent:
            if head is not None:
                yield head, rest
            head, rest = line, []
        else:
            rest.append(line)
    if head is not None:
        yield head, rest


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _join_lines(*lines: str) -> str:
    return " ".join(line.strip() for line in lines if line.strip())

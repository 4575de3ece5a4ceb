"""What docstrings say of parameters, in the styles of Google, NumPy and reStructuredText."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["DocstringInfo", "parse_docstring"]

_HEADINGS = r"(?:Args|Arguments|Params|Parameters|Keyword Args|Keyword Arguments|Other Parameters)"
_GOOGLE = re.compile(rf"{_HEADINGS}:\s*")
_NUMPY = re.compile(rf"{_HEADINGS}\s*")
_UNDERLINE = re.compile(r"-{3,}\s*")
_GOOGLE_ITEM = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\(.*?\))?\s*:(?!\S)\s*(?P<text>.*)")
_NUMPY_ITEM = re.compile(r"(?P<name>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_FIELD = re.compile(
    r"[:@](?:(?P<type>type)|param|parameter|arg|argument|key|keyword)\s+"
    r"(?:[^:]*?\s)?(?P<name>[\w*]+)\s*:\s*(?P<text>.*)"
)


class DocstringInfo(NamedTuple):
    """A docstring, taken apart."""

    text: str | None
    """All of it but what is said of single parameters; None if there is nothing else."""
    parameters: dict[str, str]


def parse_docstring(docstring: str | None) -> DocstringInfo:
    """Take a docstring apart; one that is written in no known style is text as a whole."""
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
    """Read what is said of parameters from a line on; returns where that ends."""
    line = lines[start]
    if _GOOGLE.fullmatch(line):
        return _google(lines, start + 1, parameters)
    under = lines[start + 1] if start + 1 < len(lines) else ""
    if _NUMPY.fullmatch(line) and _UNDERLINE.fullmatch(under):
        return _numpy(lines, start + 2, parameters)
    field = _FIELD.fullmatch(line)
    if field:
        end, text = _below(lines, start + 1, 0)
        if not field["type"]:
            parameters[field["name"].lstrip("*")] = _joined(field["text"], *text)
        return end
    return start


def _google(lines: list[str], start: int, parameters: dict[str, str]) -> int:
    end, block = _below(lines, start, 0)
    indent = min((_indent(line) for line in block if line.strip()), default=0)
    for head, rest in _items(block, indent):
        item = _GOOGLE_ITEM.fullmatch(head.strip())
        if item:
            parameters[item["name"]] = _joined(item["text"], *rest)
    return end


def _numpy(lines: list[str], start: int, parameters: dict[str, str]) -> int:
    end = start
    while end < len(lines) and not _begins_section(lines, end):
        end += 1
    for head, rest in _items(lines[start:end], 0):
        item = _NUMPY_ITEM.fullmatch(head.strip())
        if item and rest:
            for name in item["name"].split(","):
                parameters[name.strip().lstrip("*")] = _joined(*rest)
    return end


def _begins_section(lines: list[str], number: int) -> bool:
    under = lines[number + 1] if number + 1 < len(lines) else ""
    return bool(lines[number].strip()) and bool(_UNDERLINE.fullmatch(under))


def _below(lines: list[str], start: int, indent: int) -> tuple[int, list[str]]:
    """The lines from one on that are indented further, and where they end."""
    end = start
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > indent):
        end += 1
    return end, lines[start:end]


def _items(block: list[str], indent: int) -> Iterator[tuple[str, list[str]]]:
    """Each line at that indent, with what stands below it."""
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


def _joined(*lines: str) -> str:
    return " ".join(line.strip() for line in lines if line.strip())

"""Choices of a form: the values of Literals, the titles of the members of an Enum."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from mcp_wire import latest

__all__ = ["literals_in", "options", "title_of"]


def title_of(member: Enum) -> str:
    """Return the title of a member, from its name."""
    return member.name.replace("_", " ").capitalize()


def options(texts: Sequence[str], titles: Sequence[str]) -> list[latest.EnumOption]:
    """Return the options of a form.

    Args:
        texts: The values.
        titles: A title for each.
    """
    return [
        latest.EnumOption(const=text, title=title)
        for text, title in zip(texts, titles, strict=True)
    ]


def literals_in(hint: Any) -> list[Any]:
    """Return the values of the Literals in a hint, in source order."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return list(inner)
    if origin is Annotated:
        return literals_in(inner[0])
    if origin in (Union, UnionType, list, set, frozenset, tuple):
        return [value for arm in inner for value in literals_in(arm)]
    return []

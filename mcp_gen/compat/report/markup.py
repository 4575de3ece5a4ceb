"""HTML that is built from elements: every text is escaped, in content and in attributes alike."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TypeAlias

from mcp_gen.compat.report.texts import visible, visible_lines

__all__ = ["Content", "Markup", "element", "inline", "joined", "source_hash"]

VOID = frozenset({"input", "meta", "link", "br"})
"""Elements without an end tag."""


class Markup(str):
    """HTML that is ready: made by `element` alone."""

    __slots__ = ()


Content: TypeAlias = str | Markup | None
"""Content of an element: a text, which is escaped, or what `element` has made; None for nothing."""


def element(tag: str, *content: Content, **attributes: str | bool | None) -> Markup:
    """Return an HTML element.

    Args:
        tag: Its name.
        content: Texts and elements in it.
        attributes: Its attributes: `class_` is `class`, and `data_id` is `data-id`. True is an
            attribute without a value; False and None leave it out.
    """
    named = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in VOID:
        return Markup(f"<{tag}{named}>")
    return Markup(f"<{tag}{named}>{joined(*content)}</{tag}>")


def joined(*content: Content) -> Markup:
    """Return elements and texts one after the other."""
    return Markup("".join(_escaped(one) for one in content if one is not None))


def inline(tag: str, source: str) -> Markup:
    """Return a `style` or `script` element with a source of this package.

    Its text is no HTML, and cannot be escaped: no text of a peer goes here.
    """
    return Markup(f"<{tag}>{source}</{tag}>")


def source_hash(source: str) -> str:
    """Return the hash by which a content security policy allows an inline source."""
    digest = hashlib.sha256(source.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _escaped(one: str) -> str:
    return one if isinstance(one, Markup) else escape(visible_lines(one))


def _attribute(name: str, value: str | bool | None) -> str:
    name = name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(visible(value))}"'

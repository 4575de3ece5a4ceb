"""URIs and URI templates of peers, which may be of any shape."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["fits", "has_scheme", "variables"]

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def has_scheme(uri: str) -> bool:
    """Return True if a URI begins with a scheme, as in RFC 3986."""
    return _SCHEME.match(uri) is not None


def variables(template: str) -> Iterator[str]:
    """Yield the names of the variables of a URI template, without operators and modifiers."""
    for expression in _EXPRESSION.findall(template):
        for one in expression.lstrip("+#./;?&").split(","):
            name = one.partition(":")[0].rstrip("*").strip()
            if name:
                yield name


def fits(uri: str, template: str) -> bool:
    """Return True if a URI could be made from a template, with any values."""
    literal = _EXPRESSION.split(template)[::2]
    at = 0
    for number, part in enumerate(literal):
        found = uri.find(part, at)
        if found < 0 or (number == 0 and found):
            return False
        at = found + len(part)
    return len(literal) > 1 or at == len(uri)

"""URI templates: a subset of RFC 6570 that supports matching as well as expansion.

Supported expressions (https://www.rfc-editor.org/rfc/rfc6570):

    {id}          one or more characters except `/`, `?` and `#`
    {.ext} {/id}  the same, after a dot or a slash
    {path*}       the same, with slashes; `{/path*}` after a slash
    {+rest}       any characters; without `?` or `#` if the template continues with those itself
    {?a,b} {&c}   a query `a=…&b=…` in any order; each variable is optional
    ?a={a}        a query in which `a` is required; also `?a={+a}`
    {#part}       an optional fragment

Values are percent-decoded: `%2F` in the value of `{id}` is a slash, as RFC 6570 has it. A decoded
value that has `.` or `..` as a segment, a backslash or NUL does not match; `{+rest}` takes all.

A template may have one variable that spans slashes. If a URI can be split in more than one way,
each variable matches as little as possible: from the left up to the variable that spans slashes,
and from the right after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.resources.uris import check_literal, decoded, is_traversal

__all__ = ["UriTemplate"]

# Texts, not compiled patterns: `re` compiles and keeps each one when it is first used.
_EXPRESSION = r"\{([^{}]*)\}"
_VARIABLE = r"([A-Za-z_][A-Za-z0-9_]*)(\*?)"
_FRAGMENT = r"\{#([^{}]*)\}\Z"
_QUERY = r"(?:\{[?&][^{}]*\})+\Z"
_QUESTION = r"(?<!\{)\?"
_PAIR = r"([^={}]+)=\{(\+?)(\w+)\}"
_ENDS_SEGMENT = r"[/?#]"
_ENDS_PATH = r"[?#]"

_SEPARATORS = {"": ("", ","), "+": ("", ","), ".": (".", "."), "/": ("/", "/")}
"""Characters before the first variable of a path expression, and before the others."""
_RESERVED = ":/?#[]@!$&'()*+,;="
_IN_QUERY = ":/?[]@!$'()*+,;="
"""Reserved characters that do not end a value of a query."""


class _Variable(Struct, frozen=True):
    """Variable of the path."""

    name: str
    exploded: bool
    reserved: bool

    @property
    def spans_slashes(self) -> bool:
        return self.exploded or self.reserved

    def matches(self, raw: str) -> bool:
        if self.reserved:
            return bool(raw)
        ends = _ENDS_PATH if self.exploded else _ENDS_SEGMENT
        return bool(raw) and not re.search(ends, raw)


class UriTemplate:
    """Parsed URI template.

    Args:
        text: The template.
        lists: Names of the `*` variables whose values are matched as lists of segments.

    Raises:
        UsageError: The syntax is not supported, or matching would be ambiguous.
    """

    def __init__(self, text: str, lists: frozenset[str] = frozenset()) -> None:
        self.text = text
        self.lists = lists
        self._query: dict[str, str] = {}
        """Query variables by the names of their query parameters."""
        self._fixed: list[str] = []
        """Query pairs without variables."""
        self._fragment = ""
        self._optional: set[str] = set()
        self._reserved: set[str] = set()
        """Names of the variables of `{+x}`, which take any value."""
        self._literals, self._in_path = self._parse()
        self._reserved |= {one.name for one in self._in_path if one.reserved}
        spanning = [i for i, one in enumerate(self._in_path) if one.spans_slashes]
        if len(spanning) > 1:
            both = " and ".join(f"{{{self._in_path[i].name}}}" for i in spanning[:2])
            raise self._error(f"{both} may both take slashes: keep one of them so")
        self._spanning_index = spanning[0] if spanning else len(self._in_path) - 1
        """Index of the variable that takes the rest: the one that spans slashes, else the last."""
        names = [one.name for one in self._in_path] + list(self._query.values())
        names += [self._fragment] if self._fragment else []
        if not names:
            raise self._error("there is no variable in it")
        duplicates = {name for name in names if names.count(name) > 1}
        if duplicates:
            raise self._error(
                f"{{{min(duplicates)}}} is there twice: give one of them another name"
            )
        self.prefix = self._literals[0]
        """Literal beginning of every URI."""
        self.variables = tuple(names)
        """Names of all variables, in order."""
        self.optional = frozenset(self._optional)
        """Names of the variables that a URI may omit."""
        self._required_in_query = frozenset(self._query.values()) - self.optional
        self.exploded = frozenset(one.name for one in self._in_path if one.exploded)
        """Names of the variables that take several segments."""

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"

    def _error(self, problem: str) -> UsageError:
        return UsageError(f"URI template {self.text!r}: {problem}")

    # --- parsing ---

    def _parse(self) -> tuple[list[str], list[_Variable]]:
        rest = self.text
        if found := re.search(_FRAGMENT, rest):
            (fragment, _), *more = self._variables(found[1], "#")
            if more:
                raise self._error("a fragment has one variable: {#name}")
            self._fragment = fragment
            self._optional.add(fragment)
            rest = rest[: found.start()]
        has_literal_query = False
        query = re.search(_QUERY, rest)
        path = rest[: query.start()] if query else rest
        if question := re.search(_QUESTION, path):
            self._parse_pairs(path[question.end() :])
            path, has_literal_query = path[: question.start()], True
        for number, expression in enumerate(re.findall(_EXPRESSION, query[0] if query else "")):
            operator = "&" if has_literal_query or number else "?"
            if expression[0] != operator:
                raise self._error(f"write {{{operator}{expression[1:]}}} there")
            for name, _ in self._variables(expression[1:], operator):
                self._query[name] = name
                self._optional.add(name)
        return self._parse_path(path)

    def _parse_path(self, text: str) -> tuple[list[str], list[_Variable]]:
        literals, variables, at = [""], list[_Variable](), 0
        for found in re.finditer(_EXPRESSION, text):
            literals[-1] += self._literal(text[at : found.start()])
            at = found.end()
            operator = found[1][:1] if found[1][:1] in "+#./;?&=,!@|" else ""
            if operator not in _SEPARATORS:
                raise self._error(
                    f"`{found[0]}`: there are {{x}}, {{+x}}, {{.x}}, {{/x}} and {{x*}}, and at "
                    "the end {?x}, {&x} and {#x}"
                )
            before, between = _SEPARATORS[operator]
            for name, star in self._variables(found[1][len(operator) :], operator):
                literals[-1] += before
                if variables and not literals[-1]:
                    raise self._error(
                        f"nothing divides {{{variables[-1].name}}} from {{{name}}}: "
                        "put fixed text between them"
                    )
                variables.append(_Variable(name, bool(star), operator == "+"))
                literals.append("")
                before = between
        literals[-1] += self._literal(text[at:])
        return literals, variables

    def _parse_pairs(self, text: str) -> None:
        for pair in text.split("&"):
            if found := re.fullmatch(_PAIR, pair):
                self._query[self._literal(found[1])] = found[3]
                if found[2]:
                    self._reserved.add(found[3])
            elif "{" in pair or not pair:
                raise self._error(
                    f"`?{text}`: a query is written `name={{variable}}`, or {{?name}}"
                )
            else:
                self._fixed.append(self._literal(pair))

    def _literal(self, text: str) -> str:
        if "{" in text or "}" in text:
            raise self._error("a brace without its other half")
        if "#" in text:
            raise self._error("a fragment is written {#name}, without a `#` before it")
        check_literal(text, f"URI template {self.text!r}")
        return text

    def _variables(self, text: str, operator: str) -> Iterator[tuple[str, str]]:
        for spec in text.split(","):
            found = re.fullmatch(_VARIABLE, spec)
            if found is None:
                raise self._error(
                    f"`{{{operator}{text}}}`: expected names of letters, digits and `_`, "
                    "with a `*` behind one that takes several segments"
                )
            if found[2] and operator not in ("", "/"):
                raise self._error(f"{{{operator}{spec}}}: write {{{operator}{found[1]}}}")
            yield found[1], found[2]

    # --- matching ---

    def match(self, uri: str) -> dict[str, str | list[str]] | None:
        """Return the decoded values of the variables in a URI, or None if the URI does not match.

        The URI is not normalized: another case or other percent-encoding is another URI. The time
        is linear in the length of the URI.
        """
        path, pairs, fragment = uri, "", ""
        if self._fragment:
            path, _, fragment = path.partition("#")
        if self._query or self._fixed:
            path, _, pairs = path.partition("?")
        raw = self._match_path(path)
        if raw is None or not self._match_query(pairs, raw):
            return None
        if fragment:
            raw[self._fragment] = fragment
        try:
            values = {name: self._decoded(name, value) for name, value in raw.items()}
        except ValueError:
            return None
        if "." in uri or "%" in uri or "\\" in uri or "\0" in uri:
            for name, value in values.items():
                if not self.takes(name, value):
                    return None
        return values

    def takes(self, name: str, value: str | Sequence[str]) -> bool:
        """Return True if a variable may have a decoded value. Only that of `{+x}` takes all.

        Args:
            name: Name of the variable.
            value: Its value: a text, or texts of segments.
        """
        if name in self._reserved:
            return True
        if isinstance(value, str):
            return not is_traversal(value)
        return not any(map(is_traversal, value))

    def may_begin(self, name: str, value: str) -> bool:
        """Return True if a text can be the beginning of a variable's decoded value."""
        folders, _, last = value.rpartition("/")
        return self.takes(name, folders) and self.takes(name, last.lstrip("."))

    def _match_path(self, text: str) -> dict[str, str] | None:
        literals, variables, spanning_index = self._literals, self._in_path, self._spanning_index
        if not variables:
            return {} if text == literals[0] else None
        begin, stop = len(literals[0]), len(text) - len(literals[-1])
        if stop <= begin or not (text.startswith(literals[0]) and text.endswith(literals[-1])):
            return None
        raw = dict.fromkeys([one.name for one in variables], "")
        for i in range(spanning_index):
            end = text.find(literals[i + 1], begin + 1, stop)
            if end == -1:
                return None
            raw[variables[i].name] = text[begin:end]
            begin = end + len(literals[i + 1])
        for i in range(len(variables) - 1, spanning_index, -1):
            end = text.rfind(literals[i], begin + 1, stop - 1)
            if end == -1:
                return None
            raw[variables[i].name] = text[end + len(literals[i]) : stop]
            stop = end
        raw[variables[spanning_index].name] = text[begin:stop]
        return raw if all(one.matches(raw[one.name]) for one in variables) else None

    def _match_query(self, text: str, raw: dict[str, str]) -> bool:
        missing = list(self._fixed)
        for pair in text.split("&") if text else ():
            name, _, value = pair.partition("=")
            variable = self._query.get(name)
            if variable is not None and variable not in raw and "#" not in value:
                raw[variable] = value
            elif pair in missing:
                missing.remove(pair)
            else:
                return False
        return not missing and self._required_in_query <= raw.keys()

    def _decoded(self, name: str, raw: str) -> str | list[str]:
        if name in self.lists:
            return [decoded(segment) for segment in raw.split("/")]
        return decoded(raw)

    # --- expansion ---

    def expand(self, values: Mapping[str, str | Sequence[str]]) -> str:
        """Return the URI with these values; `match` returns them again.

        Args:
            values: Strings by variable name, or sequences of strings for variables that take
                segments. Optional variables may be omitted.

        Raises:
            UsageError: A value is missing, or empty where the template needs text, or `match` could
                not recover the values.
        """
        uri = self._literals[0]
        for i, variable in enumerate(self._in_path):
            safe = "/" if variable.exploded else ""
            if variable.reserved:
                delimiters = ("?" if self._query or self._fixed else "") + "#" * bool(
                    self._fragment
                )
                safe = "".join(set(_RESERVED) - set(delimiters))
            uri += self._encoded(variable.name, values, safe) + self._literals[i + 1]
        given = [(key, name) for key, name in self._query.items() if values.get(name) is not None]
        pairs = [
            f"{key}={self._encoded(name, values, _IN_QUERY if name in self._reserved else '')}"
            for key, name in given
        ]
        if self._fixed or pairs:
            uri += "?" + "&".join([*self._fixed, *pairs])
        if values.get(self._fragment):
            uri += "#" + self._encoded(self._fragment, values, _RESERVED)
        refused = [name for name, value in values.items() if value and not self.takes(name, value)]
        if refused:
            raise self._error(
                f"{{{refused[0]}}} does not take `.` or `..` as a segment, a backslash or NUL; "
                f"{{+{refused[0]}}} does"
            )
        back = self.match(uri)
        if back is None or any(
            _join_segments(back.get(n)) != _join_segments(v) for n, v in values.items()
        ):
            raise self._error("these values cannot be told apart in a URI")
        return uri

    def _encoded(self, name: str, values: Mapping[str, Any], safe: str) -> str:
        # Loaded when used: few URIs need it.
        from urllib.parse import quote

        value = values.get(name)
        if value is None:
            raise self._error(f"no value for {{{name}}}")
        if isinstance(value, str):
            return quote(value, safe=safe)
        return "/".join(quote(one, safe="") for one in value)


def _join_segments(value: str | Sequence[str] | None) -> str | None:
    return value if value is None or isinstance(value, str) else "/".join(value)

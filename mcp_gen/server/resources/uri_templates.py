"""URI templates: which URIs one stands for, and which values are in them.

A part of RFC 6570 (https://www.rfc-editor.org/rfc/rfc6570) that can be read backwards:

    {id}          one or more characters, but no `/`, `?` and `#`
    {.ext} {/id}  the same, behind a dot or a slash
    {path*}       the same, slashes included; `{/path*}` behind a slash
    {+rest}       any characters, `?` and `#` too unless the template goes on with those itself
    {?a,b} {&c}   a query: `a=…&b=…`, in any order; each may be missing
    ?a={a}        a query in which `a` may not be missing
    {#part}       a fragment; it may be missing

A template may have one variable that spans slashes. Where a URI can be divided in more than one
way, each variable takes as little as it can: from the left up to the one that spans slashes, and
from the right behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mcp_gen.core.errors import UsageError
from mcp_gen.server.resources.uris import check_literal, decoded

__all__ = ["UriTemplate"]

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\*?)")
_FRAGMENT = re.compile(r"\{#([^{}]*)\}\Z")
_QUERY = re.compile(r"(?:\{[?&][^{}]*\})+\Z")
_QUESTION = re.compile(r"(?<!\{)\?")
_PAIR = re.compile(r"([^={}]+)=\{(\w+)\}")
_ENDS_SEGMENT = re.compile(r"[/?#]")
_ENDS_PATH = re.compile(r"[?#]")

_BEFORE = {"": ("", ","), "+": ("", ","), ".": (".", "."), "/": ("/", "/")}
"""What stands before the first variable of an expression in a path, and what before the others."""
_RESERVED = ":/?#[]@!$&'()*+,;="


class _Variable(NamedTuple):
    """A variable in a path."""

    name: str
    exploded: bool
    reserved: bool

    @property
    def spans(self) -> bool:
        return self.exploded or self.reserved

    def holds(self, raw: str) -> bool:
        if self.reserved:
            return bool(raw)
        ends = _ENDS_PATH if self.exploded else _ENDS_SEGMENT
        return bool(raw) and not ends.search(raw)


class UriTemplate:
    """A template, taken apart once.

    `lists` names the variables with a `*` whose values are wanted as lists of segments.

    Raises:
        UsageError: it breaks the syntax, or cannot be read backwards for certain.
    """

    def __init__(self, text: str, lists: frozenset[str] = frozenset()) -> None:
        self.text = text
        self.lists = lists
        self._query: dict[str, str] = {}
        """The variables of the query, by the names that they have there."""
        self._fixed: list[str] = []
        """The pairs of the query that are always the same."""
        self._fragment = ""
        self._optional: set[str] = set()
        self._literals, self._in_path = self._taken_apart()
        spanning = [i for i, one in enumerate(self._in_path) if one.spans]
        if len(spanning) > 1:
            both = " and ".join(f"{{{self._in_path[i].name}}}" for i in spanning[:2])
            raise self._wrong(f"{both} may both take slashes: keep one of them so")
        self._widest = spanning[0] if spanning else len(self._in_path) - 1
        names = [one.name for one in self._in_path] + list(self._query.values())
        names += [self._fragment] if self._fragment else []
        if not names:
            raise self._wrong("there is no variable in it")
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise self._wrong(f"{{{min(twice)}}} is there twice: give one of them another name")
        self.prefix = self._literals[0]
        """What every URI begins with."""
        self.variables = tuple(names)
        """The names of all variables, in order."""
        self.optional = frozenset(self._optional)
        """Those that may be missing in a URI."""
        self._needed = frozenset(self._query.values()) - self.optional
        self.exploded = frozenset(one.name for one in self._in_path if one.exploded)
        """Those that take segments."""

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"URI template {self.text!r}: {what}")

    # --- taking it apart ---

    def _taken_apart(self) -> tuple[list[str], list[_Variable]]:
        rest = self.text
        if found := _FRAGMENT.search(rest):
            (fragment, _), *more = self._variables(found[1], "#")
            if more:
                raise self._wrong("a fragment has one variable: {#name}")
            self._fragment = fragment
            self._optional.add(fragment)
            rest = rest[: found.start()]
        in_literal = False
        query = _QUERY.search(rest)
        path = rest[: query.start()] if query else rest
        if question := _QUESTION.search(path):
            self._take_pairs(path[question.end() :])
            path, in_literal = path[: question.start()], True
        for number, expression in enumerate(_EXPRESSION.findall(query[0] if query else "")):
            wanted = "&" if in_literal or number else "?"
            if expression[0] != wanted:
                raise self._wrong(f"write {{{wanted}{expression[1:]}}} there")
            for name, _ in self._variables(expression[1:], wanted):
                self._query[name] = name
                self._optional.add(name)
        return self._take_path(path)

    def _take_path(self, text: str) -> tuple[list[str], list[_Variable]]:
        literals, variables, at = [""], list[_Variable](), 0
        for found in _EXPRESSION.finditer(text):
            literals[-1] += self._literal(text[at : found.start()])
            at = found.end()
            operator = found[1][:1] if found[1][:1] in "+#./;?&=,!@|" else ""
            if operator not in _BEFORE:
                raise self._wrong(
                    f"`{found[0]}`: there are {{x}}, {{+x}}, {{.x}}, {{/x}} and {{x*}}, and at "
                    "the end {?x}, {&x} and {#x}"
                )
            before, between = _BEFORE[operator]
            for name, star in self._variables(found[1][len(operator) :], operator):
                literals[-1] += before
                if variables and not literals[-1]:
                    raise self._wrong(
                        f"nothing divides {{{variables[-1].name}}} from {{{name}}}: "
                        "put fixed text between them"
                    )
                variables.append(_Variable(name, bool(star), operator == "+"))
                literals.append("")
                before = between
        literals[-1] += self._literal(text[at:])
        return literals, variables

    def _take_pairs(self, text: str) -> None:
        for pair in text.split("&"):
            if found := _PAIR.fullmatch(pair):
                self._query[self._literal(found[1])] = found[2]
            elif "{" in pair or not pair:
                raise self._wrong(
                    f"`?{text}`: a query is written `name={{variable}}`, or {{?name}}"
                )
            else:
                self._fixed.append(self._literal(pair))

    def _literal(self, text: str) -> str:
        if "{" in text or "}" in text:
            raise self._wrong("a brace without its other half")
        if "#" in text:
            raise self._wrong("a fragment is written {#name}, without a `#` before it")
        check_literal(text, f"URI template {self.text!r}")
        return text

    def _variables(self, text: str, operator: str) -> Iterator[tuple[str, str]]:
        for spec in text.split(","):
            found = _VARIABLE.fullmatch(spec)
            if found is None:
                raise self._wrong(
                    f"`{{{operator}{text}}}`: expected names of letters, digits and `_`, "
                    "with a `*` behind one that takes several segments"
                )
            if found[2] and operator not in ("", "/"):
                raise self._wrong(f"{{{operator}{spec}}}: write {{{operator}{found[1]}}}")
            yield found[1], found[2]

    # --- from a URI to values ---

    def match(self, uri: str) -> dict[str, str | list[str]] | None:
        """The values of the variables in a URI, decoded; None if it is none of this template.

        The URI is taken as it came: what differs in case or in its escapes is another one. The time
        grows with its length, and with nothing else.
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
            return {name: self._decoded(name, value) for name, value in raw.items()}
        except ValueError:
            return None

    def _match_path(self, text: str) -> dict[str, str] | None:
        literals, variables, widest = self._literals, self._in_path, self._widest
        if not variables:
            return {} if text == literals[0] else None
        begin, stop = len(literals[0]), len(text) - len(literals[-1])
        if stop <= begin or not (text.startswith(literals[0]) and text.endswith(literals[-1])):
            return None
        raw = dict.fromkeys([one.name for one in variables], "")
        for i in range(widest):
            end = text.find(literals[i + 1], begin + 1, stop)
            if end < 0:
                return None
            raw[variables[i].name] = text[begin:end]
            begin = end + len(literals[i + 1])
        for i in range(len(variables) - 1, widest, -1):
            end = text.rfind(literals[i], begin, stop - 1)
            if end < 0:
                return None
            raw[variables[i].name] = text[end + len(literals[i]) : stop]
            stop = end
        raw[variables[widest].name] = text[begin:stop]
        return raw if all(one.holds(raw[one.name]) for one in variables) else None

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
        return not missing and self._needed <= raw.keys()

    def _decoded(self, name: str, raw: str) -> str | list[str]:
        if name in self.lists:
            return [decoded(segment) for segment in raw.split("/")]
        return decoded(raw)

    # --- from values to a URI ---

    def expand(self, values: Mapping[str, str | Sequence[str]]) -> str:
        """The URI with these values in it: `match` gives them back.

        Values are texts, or sequences of texts for what takes segments. Those that may be missing
        may be left out.

        Raises:
            UsageError: a value is missing, empty where something must be, or could not be told
                apart from what stands next to it.
        """
        uri = self._literals[0]
        for i, variable in enumerate(self._in_path):
            safe = "/" if variable.exploded else ""
            if variable.reserved:
                taken = ("?" if self._query or self._fixed else "") + "#" * bool(self._fragment)
                safe = "".join(set(_RESERVED) - set(taken))
            uri += self._encoded(variable.name, values, safe) + self._literals[i + 1]
        given = [(key, name) for key, name in self._query.items() if values.get(name) is not None]
        pairs = [f"{key}={self._encoded(name, values, '')}" for key, name in given]
        if self._fixed or pairs:
            uri += "?" + "&".join([*self._fixed, *pairs])
        if values.get(self._fragment):
            uri += "#" + self._encoded(self._fragment, values, _RESERVED)
        back = self.match(uri)
        if back is None or any(_joined(back.get(n)) != _joined(v) for n, v in values.items()):
            raise self._wrong("these values cannot be told apart in a URI")
        return uri

    def _encoded(self, name: str, values: Mapping[str, Any], safe: str) -> str:
        from urllib.parse import quote

        value = values.get(name)
        if value is None:
            raise self._wrong(f"no value for {{{name}}}")
        if isinstance(value, str):
            return quote(value, safe=safe)
        return "/".join(quote(one, safe="") for one in value)


def _joined(value: str | Sequence[str] | None) -> str | None:
    return value if value is None or isinstance(value, str) else "/".join(value)

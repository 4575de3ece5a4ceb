"""URI templates: matches, mismatches, and matching as the inverse of expansion."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcp_gen import UsageError
from mcp_gen.server.resources.uri_templates import UriTemplate
from mcp_gen.server.resources.uris import is_traversal
from tests.support.property_tests import given, settings, st

MATCHES: list[tuple[str, str, dict[str, str]]] = [
    ("users://{id}/profile", "users://7/profile", {"id": "7"}),
    ("users://{id}", "users://a:b@c;d", {"id": "a:b@c;d"}),
    ("users://{id}", "users://a%2Fb", {"id": "a/b"}),
    ("users://{id}", "users://%C3%A9", {"id": "é"}),
    ("users://{id}", "users://é", {"id": "é"}),
    ("users://{id}", "users://a+b", {"id": "a+b"}),
    ("s://{a}/{b}", "s://1/2", {"a": "1", "b": "2"}),
    ("s://{a,b}", "s://1,2", {"a": "1", "b": "2"}),
    ("s://{name}{.ext}", "s://a.txt", {"name": "a", "ext": "txt"}),
    ("s://x{/a,b}", "s://x/1/2", {"a": "1", "b": "2"}),
    ("s://{path*}", "s://a/b/c", {"path": "a/b/c"}),
    ("s://x{/path*}", "s://x/a/b", {"path": "a/b"}),
    ("s://{+url}", "s://https://e.org/?q=1#f", {"url": "https://e.org/?q=1#f"}),
    ("s://{+url}{?n}", "s://https://e.org/?n=1", {"url": "https://e.org/", "n": "1"}),
    ("s://{+url}{#f}", "s://e?q#g", {"url": "e?q", "f": "g"}),
    ("s://{owner}/{path*}/raw", "s://o/a/b/raw", {"owner": "o", "path": "a/b"}),
    ("s://{path*}/{line}", "s://a/b/7", {"path": "a/b", "line": "7"}),
    ("s://{path*}/at/{line}", "s://a/at/b/at/7", {"path": "a/at/b", "line": "7"}),
    ("s://x{?a,b}", "s://x?a=1&b=2", {"a": "1", "b": "2"}),
    ("s://x{?a,b}", "s://x?b=2&a=1", {"a": "1", "b": "2"}),
    ("s://x{?a,b}", "s://x?b=2", {"b": "2"}),
    ("s://x{?a}", "s://x", {}),
    ("s://x{?a}", "s://x?a=", {"a": ""}),
    ("s://x{?a}", "s://x?a=b/c?d=e", {"a": "b/c?d=e"}),
    ("s://x{?a}{&b}", "s://x?a=1&b=2", {"a": "1", "b": "2"}),
    ("s://x?v=1{&a}", "s://x?a=2&v=1", {"a": "2"}),
    ("s://x?q={q}", "s://x?q=1", {"q": "1"}),
    ("s://x?q={+q}", "s://x?q=a/b%26", {"q": "a/b&"}),
    ("s://{id}{#part}", "s://7#a/b", {"id": "7", "part": "a/b"}),
    ("s://{id}{#part}", "s://7", {"id": "7"}),
    # Lazy from the left; after a variable that spans slashes, from the right.
    ("s://{a}.{b}", "s://1.2.3", {"a": "1", "b": "2.3"}),
    ("s://{path*}/{a}.{b}", "s://x/1.2.3", {"path": "x", "a": "1.2", "b": "3"}),
]

NO_MATCHES = [
    ("users://{id}/profile", "users:///profile"),
    ("users://{id}/profile", "users://7/Profile"),
    ("users://{id}/profile", "USERS://7/profile"),
    ("users://{id}/profile", "users://7/profile/"),
    ("users://{id}/profile", "users://7/8/profile"),
    ("users://{id}", "users://7?q"),
    ("users://{id}", "users://7#f"),
    ("users://{id}", "users://%"),
    ("users://{id}", "users://%4"),
    ("users://{id}", "users://%zz"),
    ("users://{id}", "users://%ff"),
    ("s://a~{id}", "s://a%7E7"),
    ("s://{path*}", "s://"),
    ("s://{path*}", "s://a?b"),
    ("s://{path*}", "s://a#b"),
    ("s://x{/path*}", "s://xa"),
    ("s://{path*}/{line}", "s://7"),
    ("s://x{?a}", "s://x?b=1"),
    ("s://x{?a}", "s://x?a=1&a=2"),
    ("s://x{?a}", "s://x?a=1#f"),
    ("s://x?q={q}", "s://x"),
    ("s://x?v=1{&a}", "s://x?a=1"),
    ("s://x?v=1{&a}", "s://x?v=2&a=1"),
    ("s://ab{id}b", "s://ab"),
]


@pytest.mark.parametrize(("template", "uri", "values"), MATCHES)
def test_a_uri_gives_the_values_in_it(template: str, uri: str, values: dict[str, str]) -> None:
    assert UriTemplate(template).match(uri) == values


@pytest.mark.parametrize(("template", "uri"), NO_MATCHES)
def test_a_uri_of_another_form_is_none_of_the_template(template: str, uri: str) -> None:
    assert UriTemplate(template).match(uri) is None


def test_segments_are_divided_before_they_are_decoded() -> None:
    template = UriTemplate("s://x{/path*}", frozenset({"path"}))
    assert template.match("s://x/a%2Fb/c") == {"path": ["a/b", "c"]}


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("s://x", "no variable"),
        ("s://{a", "brace"),
        ("s://a}", "brace"),
        ("s://{}", "names of letters"),
        ("s://{a b}", "names of letters"),
        ("s://{a-b}", "names of letters"),
        ("s://{a.b}", "names of letters"),
        ("s://{7}", "names of letters"),
        ("s://{a:3}", "names of letters"),
        ("s://{;a}", "there are"),
        ("s://{=a}", "there are"),
        ("s://{|a}", "there are"),
        ("s://{?a}/b", "at the end"),
        ("s://{#a}/b", "at the end"),
        ("s://x{&a}", r"write \{\?a\}"),
        ("s://x?v=1{?a}", r"write \{&a\}"),
        ("s://x{?a}{?b}", r"write \{&b\}"),
        ("s://{+a*}", r"write \{\+a\}"),
        ("s://x{?a*}", r"write \{\?a\}"),
        ("s://x{#a,b}", "one variable"),
        ("s://x#{a}", "a fragment is written"),
        ("s://x?{a}", "a query is written"),
        ("s://x?q=a{b}", "a query is written"),
        ("s://x?{&a}", "a query is written"),
        ("s://{a}{b}", "nothing divides"),
        ("s://{a}{+b}", "nothing divides"),
        ("s://{a}/{a}", "twice"),
        ("s://{a}{?a}", "twice"),
        ("s://{a*}/{b*}", "both take slashes"),
        ("s://{+a,b}", "both take slashes"),
        ("s://a b/{c}", "%20"),
        ("s://é/{c}", "%C3%A9"),
        ("s://%4/{c}", "%25"),
        ("s://a\\b/{c}", "%5C"),
    ],
)
def test_what_cannot_be_matched_is_refused_with_what_to_write(template: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        UriTemplate(template)


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("s://{a}-{b}-{c}-{d}-{e}/x", "s://" + "-" * 200_000),
        ("s://{a}-{path*}-{b}-{c}/x", "s://" + "-" * 200_000),
        ("s://{a}ab{b}ab{c}ab{d}", "s://" + "a" * 200_000),
        ("s://{+path}/{a}/{b}/{c}", "s://" + "/" * 200_000),
        ("s://x{?a,b,c}", "s://x?" + "a=1&" * 50_000),
        ("s://{path*}", "s://" + "%" * 200_000),
        ("s://{path*}", "s://" + "%2F" * 60_000),
    ],
)
def test_a_long_uri_takes_no_long_time(template: str, uri: str) -> None:
    # Quadratic time at this length exceeds the time limit of every test.
    UriTemplate(template).match(uri)


# --- Expansion: the same as in RFC 6570, for what can be matched ---


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{x,y}", "1024,768"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={path}", "here?ref=%2Ffoo%2Fbar"),
        ("X{#hello}", "X#Hello%20World!"),
        ("X{.x,y}", "X.1024.768"),
        ("{/var}", "/value"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/list*}", "/red/green/blue"),
        ("s{?x,y}", "s?x=1024&y=768"),
        ("s{?x,empty}", "s?x=1024&empty="),
        ("s?fixed=yes{&x}", "s?fixed=yes&x=1024"),
        ("{+half}", "50%25"),
    ],
)
def test_values_expand_as_the_rfc_says(template: str, uri: str) -> None:
    values: dict[str, Any] = {
        "var": "value",
        "hello": "Hello World!",
        "path": "/foo/bar",
        "x": "1024",
        "y": "768",
        "empty": "",
        "half": "50%",
        "list": ["red", "green", "blue"],
    }
    made = UriTemplate(template)
    assert made.expand({name: values[name] for name in made.variables}) == uri


@pytest.mark.parametrize(
    ("template", "values", "says"),
    [
        ("s://{a}", {}, "no value"),
        ("s://{a}", {"a": ""}, "told apart"),
        ("s://{a}.{b}", {"a": "1.2", "b": "3"}, "told apart"),
        ("s://{a}", {"a": "1", "b": "2"}, "told apart"),
        ("s://{a}", {"a": "../b"}, r"\{a\} does not take .*; \{\+a\} does"),
    ],
)
def test_values_that_would_not_come_back_are_refused(
    template: str, values: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        UriTemplate(template).expand(values)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: not is_traversal(text)
)
DIVIDERS = st.text("/:@!$'();,*+", min_size=1, max_size=3).map(lambda text: f"{text}x")


@st.composite
def templates(draw: st.DrawFn, dividers: st.SearchStrategy[str] = DIVIDERS) -> str:
    """Draw a template with one to four variables in its path, and maybe a query and a fragment."""
    count = draw(st.integers(1, 4))
    spanning = draw(st.integers(-1, count - 1))
    text = "s://"
    for number in range(count):
        form = draw(st.sampled_from(["{+v%d}", "{v%d*}"])) if number == spanning else "{v%d}"
        text += form % number + draw(dividers)
    return text + draw(st.sampled_from(["", "{?q0,q1}", "?q0={q0}{&q1}", "?f=1{&q0}{#f0}"]))


@given(templates(), st.data())
def test_matching_gives_back_what_was_expanded(text: str, data: st.DataObject) -> None:
    template = UriTemplate(text)
    values = {name: data.draw(TEXTS, name) for name in template.variables}
    assert template.match(template.expand(values)) == values


SMALL = "ab/:"


@st.composite
def tangled(draw: st.DrawFn) -> tuple[str, re.Pattern[str]]:
    """Draw a template whose literals may be in values too, and an equivalent pattern."""
    count = draw(st.integers(1, 4))
    spanning = draw(st.integers(-1, count - 1))
    text = pattern = draw(st.text(SMALL, max_size=2))
    pattern = re.escape(pattern)
    for number in range(count):
        wide = number == spanning
        last = number == count - 1
        fixed = draw(st.text(SMALL, min_size=0 if last else 1, max_size=3))
        text += f"{{v{number}{'*' if wide else ''}}}{fixed}"
        pattern += ("([^?#]+)" if wide else "([^/?#]+)") + re.escape(fixed)
    return text, re.compile(pattern)


@settings(max_examples=300)
@given(tangled(), st.data())
def test_a_template_matches_exactly_what_some_values_give(
    template: tuple[str, re.Pattern[str]], data: st.DataObject
) -> None:
    text, pattern = template
    # Half of the texts are expansions of the template; else hardly any would match.
    filled = re.sub(r"\{\w+\*?\}", lambda _: data.draw(st.text(SMALL, max_size=4)), text)
    uri = data.draw(st.sampled_from([filled, ""])) or data.draw(st.text(SMALL, max_size=12))
    found = UriTemplate(text).match(uri)
    assert (found is not None) == bool(pattern.fullmatch(uri))
    if found is not None:
        again = re.sub(r"\{(\w+)\*?\}", lambda one: str(found[one[1]]), text)
        assert again == uri


@given(templates(), st.text())
def test_no_uri_makes_matching_fail(text: str, uri: str) -> None:
    template = UriTemplate(text)
    for one in (uri, f"s://{uri}", f"s://{uri}?q0={uri}#{uri}"):
        found = template.match(one)
        assert found is None or found.keys() <= set(template.variables)

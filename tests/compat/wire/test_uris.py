"""URIs and URI templates of peers are read as they are."""

from __future__ import annotations

import pytest

from mcp_gen.compat.views.uris import fits, has_scheme, variables


@pytest.mark.parametrize("uri", ["a:b", "x-Ref.1+more:text", "file:///tmp", "urn:a"])
def test_a_uri_begins_with_a_scheme(uri: str) -> None:
    assert has_scheme(uri)


@pytest.mark.parametrize("uri", ["", "/tmp", "1a:b", "a b:c", "text", ":a"])
def test_what_begins_with_no_scheme_is_no_uri(uri: str) -> None:
    assert not has_scheme(uri)


@pytest.mark.parametrize(
    ("template", "names"),
    [
        ("a://{one}/{two}", ["one", "two"]),
        ("a://{+path}{?query,more*}", ["path", "query", "more"]),
        ("a://{short:3}", ["short"]),
        ("a://nothing/{}", []),
    ],
)
def test_variables_of_a_template_have_neither_operators_nor_modifiers(
    template: str, names: list[str]
) -> None:
    assert list(variables(template)) == names


@pytest.mark.parametrize(
    ("uri", "template", "could_be"),
    [
        ("a://items/1", "a://items/{id}", True),
        ("a://others/1", "a://items/{id}", False),
        ("a://x", "{+uri}", True),
        ("a://x", "a://x", True),
        ("a://xy", "a://x", False),
        ("b://a://x", "a://{x}", False),
    ],
)
def test_a_uri_fits_a_template_that_it_could_be_made_from(
    uri: str, template: str, could_be: bool
) -> None:
    assert fits(uri, template) is could_be

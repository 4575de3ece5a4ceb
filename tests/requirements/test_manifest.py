"""Every MUST and SHOULD of the specification has a row, and every row its tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

import mcp_wire
from mcp_gen.compat.requirements.manifest import (
    Place,
    Requirement,
    pages,
    requirements,
    rows,
    words_by_page,
)
from tests.requirements.count import count, sections
from tests.requirements.pending import pending
from tests.support.requirement import cells, named_in, requirement

TESTS = Path(__file__).parents[1]


def named() -> dict[str, list[str]]:
    """Return the tests that name each requirement."""
    found: dict[str, list[str]] = {}
    for path, line, id in named_in(TESTS):
        if id is not None:
            found.setdefault(id, []).append(f"{path.relative_to(TESTS)}:{line}")
    return found


# --- the specification and the rows ---


def test_pages_of_every_revision_were_counted() -> None:
    assert tuple(pages().pages) == mcp_wire.REVISIONS


def wrong_pages(of: Iterable[Requirement]) -> dict[str, str]:
    """Return the pages whose word counts differ from the rows."""
    counted = {
        (text, path): page.words
        for text, pages_of in pages().texts.items()
        for path, page in pages_of.items()
    }
    told = words_by_page(of)
    return {
        "/".join(key): f"the page has {counted.get(key, 0)}, the rows stand for {told[key]}"
        for key in counted.keys() | told.keys()
        if counted.get(key, 0) != told[key]
    }


def test_the_rows_stand_for_every_must_and_should_of_every_page() -> None:
    assert wrong_pages(rows()) == {}


@pytest.mark.parametrize("role", ["server", "client"])
def test_a_page_whose_demands_on_one_role_have_no_rows_is_wrong(role: str) -> None:
    demanding = words_by_page(row for row in rows() if row.applies == role)
    found = wrong_pages(row for row in rows() if row.applies != role)
    assert found.keys() == {"/".join(key) for key, words in demanding.items() if words}


def test_a_page_of_an_extension_is_counted_once_for_all_its_revisions() -> None:
    place = Place("tasks#capability-negotiation", mcp_wire.REVISIONS, 2, "tasks")
    row = Requirement("a", "must", "It must.", (place,))
    assert words_by_page([row]) == {("tasks", "tasks"): 2}
    assert row.revisions == mcp_wire.REVISIONS


def test_a_demand_links_to_the_text_that_was_counted() -> None:
    of_extensions = [place for row in rows() for place in row.at if place.extension]
    links = {place.link(text) for place in of_extensions for text in place.texts}
    (tasks,) = pages().extensions.values()
    page = f"{tasks.repository}/blob/{tasks.commit}/specification/draft/tasks.md"
    assert {link.partition("#")[0] for link in links} == {f"https://github.com/{page}"}


def test_an_id_is_there_once() -> None:
    assert [id for id, times in Counter(row.id for row in rows()).items() if times > 1] == []


def test_a_row_says_why_it_has_no_test_only_where_it_binds_a_server_or_a_client() -> None:
    assert [row.id for row in rows() if not row.binds_us and (row.unmet or row.untested)] == []


def test_a_row_stands_at_a_revision() -> None:
    assert [row.id for row in rows() if not row.revisions] == []


# --- the rows and the tests ---


def test_every_requirement_is_named_by_a_test_or_pending() -> None:
    due = {row.id for row in rows() if row.due}
    assert sorted(due - named().keys() - pending()) == []


def test_what_is_pending_is_a_requirement_without_a_test() -> None:
    assert sorted(pending() & named().keys()) == [], "take them off the list: they have tests"
    assert sorted(id for id in pending() if id not in requirements()) == []
    assert sorted(id for id in pending() if not requirements()[id].due) == []


def test_every_id_that_a_test_names_is_a_requirement_that_tests_can_show() -> None:
    can = {row.id for row in rows() if row.for_tests}
    assert {id: where for id, where in named().items() if id not in can} == {}


def test_tests_name_requirements_in_plain_text() -> None:
    hidden = [f"{path.name}:{line}" for path, line, id in named_in(TESTS) if id is None]
    assert hidden == []


@pytest.mark.parametrize(
    "id",
    [
        "tools:nothing-of-the-kind",
        "roots:client:consent",
        "mrtr:state:once",
        "logging:level:internal",
    ],
)
def test_a_test_of_something_that_tests_cannot_show_is_refused(id: str) -> None:
    ids = (id,)
    with pytest.raises(LookupError, match=f"requirement '{id}'"):
        requirement(*ids)


# --- cells of tests ---


def test_a_requirement_of_any_transport_is_tested_over_each_at_all_its_revisions() -> None:
    row = requirements()["tools:declared"]
    ran = {str(one) for one in cells((row.id,))}
    assert ran == {f"{over}-{one}" for over in ("memory", "stdio", "http") for one in row.revisions}


def test_a_requirement_of_one_transport_is_tested_over_that_one() -> None:
    for id, over in (("stdio:lines", "stdio"), ("http:origin", "http")):
        assert {one.over for one in cells((id,))} == {over}


def test_a_test_can_leave_out_only_where_it_would_run() -> None:
    ids = ("tools:declared",)
    assert {one.over for one in cells(ids, ("http",))} == {"memory", "stdio"}
    with pytest.raises(LookupError, match="not over 'htp'"):
        cells(ids, ("htp",))


# --- counting of words ---


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Servers **MUST** answer, and **SHOULD** do so soon.", 2),
        ("They **MUST\n  NOT** wait; one **SHOULD NOT** ask, and MUST NOT tell.", 3),
        ("This is REQUIRED, that is RECOMMENDED, the other NOT RECOMMENDED; SHALL it?", 4),
        ("They must, they should; MAY they? It is OPTIONAL, and MUSTARD.", 0),
        ('<p class="x">It <code>MUST</code>.</p><br/> now < then, MUST it?', 2),
        ("`MUST` it? SHOULD&mdash;or not.", 2),
    ],
)
def test_words_are_counted_where_they_stand_alone_in_capitals(text: str, words: int) -> None:
    assert count(text) == words


def test_sections_are_named_as_links_name_them() -> None:
    text = "# One\n\n## Security & Endpoint\n\n### `_meta`\n\n### [The link](../there) here\n"
    assert sections(text) == {"one", "security--endpoint", "_meta", "the-link-here"}

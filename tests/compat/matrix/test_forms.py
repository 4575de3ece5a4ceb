"""Forms of the report of a matrix."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

from mcp_gen.compat.matrix.forms import json_matrix, junit_matrix, markdown_matrix
from mcp_gen.compat.matrix.page import html_matrix
from tests.compat.matrix.sample import NEW, OLD, sample_matrix


def test_json_has_every_cell() -> None:
    made = json.loads(json_matrix(sample_matrix()))
    assert [one["verdict"] for one in made["cells"]] == [
        "passed",
        "failed",
        "not tested",
        "failed",
    ]
    assert json_matrix(sample_matrix()).isascii()


def test_junit_has_a_suite_per_transport_and_revision() -> None:
    root = ET.fromstring(junit_matrix(sample_matrix()))
    assert [one.get("name") for one in root] == [f"stdio {OLD}", f"stdio {NEW}"]
    assert [one.get("failures") for one in root] == ["0", "2"]
    assert [one.get("message") for one in root.iter("skipped")] == ["it offers nothing"]


def test_markdown_has_a_row_per_pair_and_every_reason() -> None:
    made = markdown_matrix(sample_matrix())
    assert "| ` A ` | ✓ | ✗ |" in made
    assert "the server broke base:frames:valid" in made
    assert f"at {OLD}" in made


def test_texts_of_peers_are_no_markup() -> None:
    page = html_matrix(sample_matrix())
    assert "<script>alert" not in page
    assert "\x1b" not in page + markdown_matrix(sample_matrix())


def test_the_page_has_a_cell_per_revision_and_what_it_opens() -> None:
    page = html_matrix(sample_matrix())
    assert page.count('<td class="cell"><button') == 4
    assert page.count(f'<div data-revision="{NEW}" hidden>') == 2

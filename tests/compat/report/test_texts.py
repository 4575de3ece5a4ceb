"""Texts of a report: what cannot be seen is escaped, frames are indented, lengths are bounded."""

from __future__ import annotations

import pytest

from mcp_gen.compat.report.bounds import bounded, cut
from mcp_gen.compat.report.markup import element, joined
from mcp_gen.compat.report.model import Evidence, Finding, Report
from mcp_gen.compat.report.summary import check_rows, failed_rows, reasons
from mcp_gen.compat.report.texts import pretty, visible, visible_lines
from tests.compat.report.sample import FINDING, REVISIONS, outcome, sample_report


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "a b"),
        ("é 語 🙂", "é 語 🙂"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb", "a\\nb"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_cannot_be_seen_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_line_ends_and_tabs_stay_in_a_text_of_lines() -> None:
    assert visible_lines("a\n\tb\r\x00") == "a\n\tb\\r\\x00"


@pytest.mark.parametrize("text", ["", "no JSON", '{"a":', "[" * 900 + "]" * 900, "\ud800"])
def test_a_frame_that_cannot_be_indented_stays_as_it_is(text: str) -> None:
    assert pretty(text) == text


def test_a_frame_keeps_the_order_of_its_members_and_its_numbers() -> None:
    assert pretty('{"b":1e400,"a":[]}') == '{\n  "b": 1e400,\n  "a": []\n}'


@pytest.mark.parametrize(("text", "kept"), [("abc", "abc"), ("abcd", "ab…")])
def test_a_text_that_is_too_long_is_cut_to_its_limit(text: str, kept: str) -> None:
    assert cut(text, 3) == kept


def test_texts_are_escaped_in_elements_and_attributes() -> None:
    made = element("p", "<b>", element("i", "&"), title='"x"', data_one=True, hidden=False)
    assert made == '<p title="&quot;x&quot;" data-one>&lt;b&gt;<i>&amp;</i></p>'
    assert joined(made, None, "<") == f"{made}&lt;"


def report_of(*findings: Finding) -> Report:
    return bounded(
        Report(
            target="t",
            side="server",
            transport="memory",
            version="1",
            took_s=1.0,
            outcomes=(outcome("a:b", REVISIONS[0], findings=findings),),
        )
    )


def test_evidence_says_how_much_of_it_was_left_out() -> None:
    event = Evidence(at_s=0.0, sender="server", kind="message", text="é" * 9000, left_out_bytes=5)
    finding = Finding(expected="e", came="c", evidence=(event,))
    (kept,) = report_of(finding).outcomes[0].findings[0].evidence
    assert (len(kept.text), kept.left_out_bytes) == (8192, 5 + 2 * (9000 - 8192))


def test_the_last_events_of_a_finding_are_kept() -> None:
    events = tuple(
        Evidence(at_s=0.0, sender="server", kind="message", text=f"{number}")
        for number in range(20)
    )
    kept = report_of(Finding(expected="e", came="c", evidence=events)).outcomes[0].findings[0]
    assert [one.text for one in kept.evidence] == [f"{number}" for number in range(12, 20)]


def test_one_finding_of_each_check_is_kept_in_any_case() -> None:
    many = tuple(outcome(f"a:{n}", REVISIONS[0], findings=(FINDING,) * 20) for n in range(200))
    report = bounded(
        Report(
            target="t", side="server", transport="memory", version="1", took_s=1.0, outcomes=many
        )
    )
    kept = [len(one.findings) for one in report.outcomes]
    assert (min(kept), sum(kept)) == (1, 200 + 2000)


def test_rows_stand_in_alphabetical_order_and_failed_ones_by_level() -> None:
    report = sample_report()
    ids = ["base:answers:id", "base:progress", "tools:icons", "tools:names:unique"]
    assert [row.requirement for row in check_rows(report)] == ids
    assert [row.requirement for row in failed_rows(report)] == [ids[3], ids[2]]


def test_reasons_have_their_requirements_with_the_revisions() -> None:
    assert reasons(sample_report()) == {"no progress came": {"base:progress": REVISIONS}}

"""HTML form of a report: one page that needs nothing else, and trusts no text of a peer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mcp_gen.compat.report.markup import Content, Markup, element, inline, joined, source_hash
from mcp_gen.compat.report.model import Evidence, Finding, Offer, Outcome, Report, Verdict
from mcp_gen.compat.report.summary import SYMBOLS, CheckRow, areas, check_rows
from mcp_gen.compat.report.texts import pretty

__all__ = ["html_report"]

HERE = Path(__file__).parent
CLASSES: dict[Verdict, str] = {"passed": "passed", "failed": "failed", "not tested": "untested"}
NAMES_AT_ONCE = 12
"""Number of names of a kind that are shown before the rest is folded away."""


def html_report(report: Report) -> str:
    """Return a report as one HTML page.

    Checks stand by area in rows, revisions in columns; a click on a cell shows its findings and
    their evidence. The page loads nothing, and its content security policy runs no script but its
    own, which is allowed by its hash.
    """
    style, script = _source("page.css"), _source("page.js")
    policy = (
        f"default-src 'none'; style-src {source_hash(style)}; script-src {source_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"MCP compatibility of {report.target}"),
        inline("style", style),
    )
    body = element("body", *_body(report), inline("script", script))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _source(name: str) -> str:
    return (HERE / name).read_text("utf-8")


def _body(report: Report) -> Iterable[Content]:
    yield element("h1", f"MCP compatibility of {report.target}")
    yield element("p", _about(report), class_="faint")
    yield _totals(report)
    yield _filters()
    for area, rows in areas(check_rows(report)).items():
        yield _area(area, rows, report.revisions)
    yield _openings(report)
    yield _listings(report.listings)


def _about(report: Report) -> str:
    name = f"{report.name}; " if report.name else ""
    return (
        f"{name}examined as a {report.side} over {report.transport} by mcp-gen {report.version} "
        f"in {report.took_s:.1f} s"
    )


def _totals(report: Report) -> Markup:
    counts = report.counts()
    failed = {level: len(report.failed(level)) for level in ("must", "should")}
    facts = (
        (counts["passed"], "passed", "passed"),
        (failed["must"], "failed, must", "failed"),
        (failed["should"], "failed, should", "failed should"),
        (counts["not tested"], "not tested", "untested"),
    )
    items = (
        element("li", element("b", str(count)), what, class_=style) for count, what, style in facts
    )
    return element("ul", *items, class_="totals")


def _filters() -> Markup:
    search = element(
        "input", type="search", id="search", placeholder="Search", aria_label="Search checks"
    )
    levels = (_box("level", level, level) for level in ("must", "should"))
    verdicts = (_box("verdict", name, f"{SYMBOLS[name]} {name}") for name in SYMBOLS)
    shown = element("span", id="shown", role="status", class_="faint")
    return element("div", search, *levels, *verdicts, shown, class_="filters")


def _box(kind: str, value: str, label: str) -> Markup:
    box = element("input", type="checkbox", data_filter=kind, value=value, checked=True)
    return element("label", box, f" {label}")


# --- the grid ---


def _area(area: str, rows: Sequence[CheckRow], revisions: Sequence[str]) -> Markup:
    dates = (element("th", element("span", one), scope="col", class_="date") for one in revisions)
    head = element("thead", element("tr", element("th", "check", scope="col"), *dates))
    body = element("tbody", *(_check(row, revisions) for row in rows))
    table = element("table", head, body, class_="grid")
    return element("section", element("h2", area), table, class_="area")


def _check(row: CheckRow, revisions: Sequence[str]) -> Markup:
    title = element(
        "th",
        element("code", row.requirement),
        " ",
        element("span", row.level, class_="level"),
        element("br"),
        row.says,
        scope="row",
    )
    verdicts = ",".join(dict.fromkeys(one.verdict for one in row.outcomes))
    cells = (_cell(row, revision) for revision in revisions)
    shown = element(
        "tr", title, *cells, class_="check", data_level=row.level, data_verdicts=verdicts
    )
    outcomes = (_outcome(one) for one in row.outcomes)
    # Beside no other cell: on a narrow screen the frames have the whole width.
    detail = element("td", *outcomes, colspan=str(1 + len(revisions)))
    return joined(shown, element("tr", detail, class_="detail", hidden=True))


def _cell(row: CheckRow, revision: str) -> Markup:
    outcome = row.at(revision)
    if outcome is None:
        return element("td", class_="cell")
    button = element(
        "button",
        SYMBOLS[outcome.verdict],
        type="button",
        class_=f"{CLASSES[outcome.verdict]} {outcome.level}",
        aria_label=f"{outcome.requirement} at {revision}: {outcome.verdict}",
        aria_expanded="false",
        title=outcome.verdict,
        data_revision=revision,
    )
    return element("td", button, class_="cell")


def _outcome(outcome: Outcome) -> Markup:
    why = f": {outcome.why}" if outcome.why else ""
    # A report that was read from a file may have any text here.
    is_link = outcome.link.startswith("https://")
    link = element("a", "specification", href=outcome.link if is_link else None, rel="noreferrer")
    return element(
        "div",
        element("h4", f"{SYMBOLS[outcome.verdict]} {outcome.verdict} at {outcome.revision}{why}"),
        element("p", link),
        *(_finding(one) for one in outcome.findings),
        data_revision=outcome.revision,
        hidden=True,
    )


def _finding(finding: Finding) -> Markup:
    facts = [("expected", finding.expected), ("came", finding.came)]
    if finding.where:
        facts.append(("where", finding.where))
    pairs = (joined(element("dt", name), element("dd", value)) for name, value in facts)
    frames = (_event(one) for one in finding.evidence)
    return element("div", element("dl", *pairs), *frames, class_="finding")


def _event(event: Evidence) -> Markup:
    left_out = f"\n… {event.left_out_bytes} more bytes" if event.left_out_bytes else ""
    said = f"{event.sender}, {event.kind}, after {event.at_s:.3f} s"
    return joined(
        element("p", said, class_="faint"),
        element("pre", f"{pretty(event.text)}{left_out}") if event.text or left_out else None,
    )


# --- the tables below it ---


def _openings(report: Report) -> Markup:
    rows = (
        element("tr", element("th", one.asked, scope="row"), element("td", one.answer))
        for one in report.openings
    )
    table = element("table", element("tbody", *rows), class_="facts")
    return element("section", element("h2", "Openings"), table)


def _listings(listings: Iterable[Offer]) -> Markup:
    return element("section", element("h2", "Listings"), *(_listing(one) for one in listings))


def _listing(listing: Offer) -> Markup:
    facts = {"capabilities": listing.capabilities, **listing.items}
    rows = (
        element("tr", element("th", kind, scope="row"), element("td", _names(names)))
        for kind, names in facts.items()
    )
    table = element("table", element("tbody", *rows), class_="facts")
    return joined(element("h3", listing.revision), table)


def _names(names: Sequence[str]) -> Markup:
    first = ", ".join(names[:NAMES_AT_ONCE]) or "none"
    rest = names[NAMES_AT_ONCE:]
    if not rest:
        return joined(first)
    folded = element("details", element("summary", f"{len(rest)} more"), ", ".join(rest))
    return joined(first, folded)

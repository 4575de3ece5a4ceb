"""Parts of HTML pages: the frame of a page, filters, cells, findings. A page loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from mcp_gen.compat.report.markup import Content, Markup, element, inline, joined, source_hash
from mcp_gen.compat.report.model import Evidence, Finding, Level, Verdict
from mcp_gen.compat.report.summary import SYMBOLS
from mcp_gen.compat.report.texts import pretty

__all__ = ["cell_button", "filters", "finding_markup", "grid", "grid_row", "page", "totals_list"]

HERE = Path(__file__).parent
CLASSES: dict[Verdict, str] = {"passed": "passed", "failed": "failed", "not tested": "untested"}


def page(title: str, *body: Content) -> str:
    """Return a page that needs nothing else.

    Its content security policy runs no script but its own, which is allowed by its hash. A click on
    a cell shows what belongs to it: the row after that of the cell has an element for each column,
    with the same `data-revision`.

    Args:
        title: The title.
        body: What it shows.
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
        element("title", title),
        inline("style", style),
    )
    shown = element("body", *body, inline("script", script))
    return f"<!doctype html>\n{element('html', head, shown, lang='en')}\n"


def _source(name: str) -> str:
    return (HERE / name).read_text("utf-8")


def totals_list(facts: Iterable[tuple[int, str, str]]) -> Markup:
    """Return numbers with their names.

    Args:
        facts: The number, its name and its style: `passed`, `failed`, `failed should`, `untested`.
    """
    items = (
        element("li", element("b", str(count)), what, class_=style) for count, what, style in facts
    )
    return element("ul", *items, class_="totals")


def filters(what: str, levels: Iterable[Level] = ()) -> Markup:
    """Return the search, and boxes for the verdicts.

    Args:
        what: The name of what a row stands for, such as `checks`.
        levels: Levels that rows have; none if they have no level.
    """
    search = element(
        "input", type="search", id="search", placeholder="Search", aria_label=f"Search {what}"
    )
    boxes = [_box("level", one, one) for one in levels]
    boxes += [_box("verdict", name, f"{SYMBOLS[name]} {name}") for name in SYMBOLS]
    shown = element("span", id="shown", role="status", class_="faint", data_what=what)
    return element("div", search, *boxes, shown, class_="filters")


def _box(kind: str, value: str, label: str) -> Markup:
    box = element("input", type="checkbox", data_filter=kind, value=value, checked=True)
    return element("label", box, f" {label}")


def grid(title: str, kind: str, columns: Sequence[str], rows: Iterable[Markup]) -> Markup:
    """Return a table of cells with a title.

    Args:
        title: The title.
        kind: The name of what a row stands for, in the singular.
        columns: The revisions.
        rows: What `grid_row` has made.
    """
    dates = (element("th", element("span", one), scope="col", class_="date") for one in columns)
    head = element("thead", element("tr", element("th", kind, scope="col"), *dates))
    table = element("table", head, element("tbody", *rows), class_="grid")
    return element("section", element("h2", title), table, class_="area")


def grid_row(
    title: Iterable[Content],
    cells: Iterable[Markup],
    details: Iterable[Markup],
    verdicts: Iterable[str],
    level: Level | None = None,
) -> Markup:
    """Return a row of cells, and the row of what they open.

    Args:
        title: The head of the row.
        cells: One per column.
        details: What the cells open: elements with `data-revision`.
        verdicts: The verdicts of the cells.
        level: The level of the row; None if rows have none.
    """
    shown = list(cells)
    row = element(
        "tr",
        element("th", *title, scope="row"),
        *shown,
        class_="check",
        data_level=level,
        data_verdicts=",".join(dict.fromkeys(verdicts)),
    )
    # Beside no other cell: on a narrow screen the frames have the whole width.
    detail = element("td", *details, colspan=str(1 + len(shown)))
    return joined(row, element("tr", detail, class_="detail", hidden=True))


def cell_button(column: str, verdict: Verdict, about: str, level: Level = "must") -> Markup:
    """Return a cell of a grid that opens what belongs to it.

    Args:
        column: The revision of the column.
        verdict: The verdict.
        about: What it is the verdict on.
        level: The level of what failed.
    """
    button = element(
        "button",
        SYMBOLS[verdict],
        type="button",
        class_=f"{CLASSES[verdict]} {level}",
        aria_label=f"{about} at {column}: {verdict}",
        aria_expanded="false",
        title=verdict,
        data_revision=column,
    )
    return element("td", button, class_="cell")


def finding_markup(finding: Finding) -> Markup:
    """Return a finding with its evidence."""
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

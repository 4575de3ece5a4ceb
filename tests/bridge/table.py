"""The table of docs/bridge.md: `python -m tests.bridge.table` writes it into the page."""

from __future__ import annotations

from pathlib import Path

from mcp_gen.compat.bridge.situations import Situation, situations

__all__ = ["PAGE", "between_marks", "table"]

PAGE = Path(__file__).parents[2] / "docs" / "bridge.md"
_BEGIN, _END = "<!-- situations -->\n", "<!-- end of situations -->\n"


def table() -> str:
    """Return the table as Markdown."""
    rows = [_row(one) for one in situations()]
    return "\n".join(
        ["| situation | | the bridge | specification |", "|---|---|---|---|", *rows, ""]
    )


def _row(one: Situation) -> str:
    links = " ".join(
        f"[{revision}]({address})"
        for page in one.pages
        for revision, address in page.links().items()
    )
    return f"| {one.what} | {one.how} | {one.answer} | {links} |"


def between_marks(text: str) -> tuple[str, str, str]:
    """Return what comes before the table of a page, the table, and what comes after it."""
    before, _, rest = text.partition(_BEGIN)
    shown, _, after = rest.partition(_END)
    return before + _BEGIN, shown, _END + after


if __name__ == "__main__":
    head, _, tail = between_marks(PAGE.read_text("utf-8"))
    PAGE.write_text(head + table() + tail, "utf-8")

"""Small writer of SVG: shapes and texts with rounded coordinates; equal data draw alike."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from math import log10

__all__ = ["INK", "LIGHT", "LINES", "MISS", "Canvas", "Scale"]

INK, LIGHT, MISS = "#24292f", "#d0d7de", "#cf222e"
LINES = ("#0969da", "#bc4c00", "#1a7f37", "#8250df")
"""Colours of series, told apart by lightness, too."""
FONT = "-apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
SMALL = 11
NOTE_PER_LINE = 6.1
"""Width of a letter of a note, roughly."""


class Canvas:
    """A picture of fixed width that grows downwards."""

    def __init__(self, width: int, title: str) -> None:
        self.width = width
        self._title = title
        self._parts: list[str] = []
        self.text(16, 26, title, size=16, weight="600")

    def line(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, width: float = 1
    ) -> None:
        """Draw a line."""
        (x, y), (x2, y2) = start, end
        self._parts.append(
            f'<line x1="{_n(x)}" y1="{_n(y)}" x2="{_n(x2)}" y2="{_n(y2)}"'
            f' stroke="{colour}" stroke-width="{_n(width)}"/>'
        )

    def path(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """Draw a line through points."""
        told = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._parts.append(
            f'<polyline points="{told}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )

    def dot(self, x: float, y: float, colour: str, radius: float = 4) -> None:
        """Draw a dot."""
        self._parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{colour}"/>')

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Draw a filled rectangle."""
        self._parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(max(0.0, width))}" height="{_n(height)}"'
            f' fill="{colour}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 12,
        anchor: str = "start",
        colour: str = INK,
        weight: str = "400",
    ) -> None:
        """Write a line of text."""
        self._parts.append(
            f'<text x="{_n(x)}" y="{_n(y)}" font-size="{size}" text-anchor="{anchor}"'
            f' fill="{colour}" font-weight="{weight}">{escape(text)}</text>'
        )

    def finished(self, height: float, notes: Sequence[str]) -> str:
        """Return the picture, with notes below it."""
        per_line = int((self.width - 32) / NOTE_PER_LINE)
        for note in notes:
            for line in textwrap.wrap(note, per_line):
                height += 15
                self.text(16, height, line, size=SMALL, colour="#57606a")
        size = f'width="{self.width}" height="{_n(height + 14)}"'
        box = f'viewBox="0 0 {self.width} {_n(height + 14)}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} font-family="{FONT}" role="img">'
        )
        background = '<rect width="100%" height="100%" fill="#ffffff"/>'
        title = f"<title>{escape(self._title)}</title>"
        return "\n".join((head, title, background, *self._parts, "</svg>", ""))


class Scale:
    """Places of values on an axis, linear or in powers of ten."""

    def __init__(self, low: float, high: float, start: float, end: float, *, log: bool) -> None:
        self._log = log
        self._low, self._high = self._of(low), self._of(high)
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        share = (self._of(value) - self._low) / ((self._high - self._low) or 1)
        return self._start + share * (self._end - self._start)

    def _of(self, value: float) -> float:
        return log10(value) if self._log else value


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")

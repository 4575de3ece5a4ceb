"""Charts: ratios on one axis, curves, and bars of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from bench.curves.measuring import Curve
from bench.pages.svg import INK, LIGHT, LINES, MISS, Canvas, Scale
from bench.steps.profiling import BENCH, LOOP, Route

__all__ = ["Mark", "Ratio", "curve_chart", "ratio_chart", "shown", "steps_chart"]

WIDTH = 960
LABELS = 470
"""Width of the labels at the left of rows."""
ROW = 24
TOP = 70


class Mark(NamedTuple):
    """One figure of a row, with its spread."""

    middle: float
    least: float
    most: float
    series: int
    is_miss: bool


class Ratio(NamedTuple):
    """A row of a chart of ratios."""

    label: str
    marks: Sequence[Mark]


def ratio_chart(
    title: str, axis: str, rows: Sequence[Ratio], series: Sequence[str], notes: Sequence[str]
) -> str:
    """Draw rows with marks on an axis in powers of ten, the weakest row first.

    Args:
        title: Title of the chart.
        axis: Text of the axis; 1 on it is the line that marks are to be right of.
        rows: Rows with at least one mark each.
        series: Names of the series of marks; none are shown for a single one.
        notes: Lines below the chart.
    """
    rows = sorted(rows, key=lambda row: min(mark.middle for mark in row.marks))
    low = min(0.5, *(mark.least for row in rows for mark in row.marks))
    high = max(2.0, *(mark.most for row in rows for mark in row.marks))
    scale = Scale(low / 1.1, high * 1.1, LABELS, WIDTH - 24, log=True)
    canvas = Canvas(WIDTH, title)
    bottom = TOP + ROW * len(rows)
    if len(series) > 1:
        _legend(canvas, series)
    for value in _ticks(low, high):
        x = scale(value)
        is_line = value == 1
        colour = INK if is_line else LIGHT
        canvas.line((x, TOP - 12), (x, bottom), colour, 1.5 if is_line else 1)
        canvas.text(x, bottom + 16, f"{value:g}", size=11, anchor="middle")
    for number, row in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        is_miss = any(mark.is_miss for mark in row.marks)
        canvas.text(LABELS - 10, y + 4, row.label, anchor="end", colour=MISS if is_miss else INK)
        for place, mark in enumerate(row.marks):
            at = y + (place - (len(row.marks) - 1) / 2) * 5
            colour = MISS if mark.is_miss else LINES[mark.series % len(LINES)]
            canvas.line((scale(mark.least), at), (scale(mark.most), at), colour, 1.5)
            canvas.dot(scale(mark.middle), at, colour)
    canvas.text((LABELS + WIDTH) / 2, bottom + 34, axis, anchor="middle")
    return canvas.finished(bottom + 44, notes)


def curve_chart(curve: Curve, notes: Sequence[str]) -> str:
    """Draw a curve; bars where what is along the axis is no number."""
    draw = _lines if curve.along else _bars
    return draw(curve, [f"{curve.placed}.", *notes])


def _lines(curve: Curve, notes: Sequence[str]) -> str:
    width, left, right, bottom = 640, 80, 610, 330
    points = [point for one in curve.series.values() for point in one]
    xs = sorted({float(point.at) for point in points})
    wide = xs[-1] > 20
    values = [value for point in points for value in point.values]
    tall = max(values) > 20 * min(values)
    # 0 has no place in powers of ten: it stands at the left of the first one.
    first = xs[1] / 5 if wide and xs[0] == 0 and len(xs) > 1 else xs[0]
    across = Scale(first, xs[-1], left + 14, right - 14, log=wide)
    low, high = (min(values) / 1.3, max(values) * 1.3) if tall else (0, max(values) * 1.15)
    up = Scale(low, high, bottom, TOP, log=tall)
    canvas = Canvas(width, curve.name)
    canvas.text(16, 44, curve.unit)
    _legend(canvas, list(curve.series), y=60)
    for value in _ticks(low, high) if tall else _steps(high):
        canvas.line((left, up(value)), (right, up(value)), LIGHT)
        canvas.text(left - 8, up(value) + 4, shown(value), size=11, anchor="end")
    for x in xs:
        canvas.text(across(x or first), bottom + 18, f"{x:,.0f}", size=11, anchor="middle")
    for number, one in enumerate(curve.series.values()):
        colour = LINES[number % len(LINES)]
        canvas.path([(across(float(p.at) or first), up(p.middle)) for p in one], colour)
        for point in one:
            x = across(float(point.at) or first)
            canvas.line((x, up(min(point.values))), (x, up(max(point.values))), colour)
            canvas.dot(x, up(point.middle), colour)
    canvas.line((left, bottom), (right, bottom), INK)
    canvas.text((left + right) / 2, bottom + 38, curve.along, anchor="middle")
    return canvas.finished(bottom + 48, notes)


def _bars(curve: Curve, notes: Sequence[str]) -> str:
    width, left = 640, 300
    rows = [(f"{name}, {p.at}", p) for name, points in curve.series.items() for p in points]
    scale = Scale(0, max(max(point.values) for _, point in rows), left, width - 80, log=False)
    canvas = Canvas(width, curve.name)
    canvas.text(16, 44, curve.unit)
    for number, (label, point) in enumerate(rows):
        y = TOP + number * 30
        canvas.text(left - 10, y + 14, label, anchor="end")
        canvas.bar(left, y, scale(point.middle) - left, 20, LINES[0])
        canvas.line((scale(min(point.values)), y + 10), (scale(max(point.values)), y + 10), INK)
        canvas.text(scale(max(point.values)) + 8, y + 14, shown(point.middle))
    return canvas.finished(TOP + len(rows) * 30, notes)


PARTS = ("mcp_gen", "libraries", LOOP, BENCH)


def steps_chart(title: str, routes: Sequence[Route], notes: Sequence[str]) -> str:
    """Draw a bar for each route, made of what is ours, of libraries, and of the rest."""
    left = 330
    scale = Scale(0, max(route.total_us for route in routes), left, WIDTH - 90, log=False)
    canvas = Canvas(WIDTH, title)
    _legend(canvas, PARTS)
    for number, route in enumerate(routes):
        y, x = TOP + number * 32, float(left)
        canvas.text(left - 10, y + 15, route.name, anchor="end")
        for place, us in enumerate(parts_of(route).values()):
            canvas.bar(x, y, scale(us) - left, 22, LINES[place])
            x += scale(us) - left
        canvas.text(x + 8, y + 15, f"{route.total_us:.0f} µs")
    return canvas.finished(TOP + len(routes) * 32, notes)


def parts_of(route: Route) -> Mapping[str, float]:
    """Return the microseconds of each part of a route."""
    sums = dict.fromkeys(PARTS, 0.0)
    for step in route.steps:
        part = step.name if step.name in sums else "mcp_gen" if step.is_ours else "libraries"
        sums[part] += step.us
    return sums


def shown(value: float) -> str:
    """Return a figure as text: three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _legend(canvas: Canvas, series: Sequence[str], y: float = 46) -> None:
    x = 20.0
    for number, name in enumerate(series):
        canvas.dot(x, y - 4, LINES[number % len(LINES)])
        canvas.text(x + 9, y, name)
        x += 30 + 6.6 * len(name)


def _ticks(low: float, high: float) -> list[float]:
    """Return round values of an axis in powers of ten."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    is_long = high / low > 300
    found = [base * 10.0**power for power in powers for base in ((1,) if is_long else (1, 2, 5))]
    return [float(f"{value:g}") for value in found if low <= value <= high]


def _steps(high: float) -> list[float]:
    """Return round values of a linear axis that begins at 0."""

    def size(base: float) -> float:
        return float(base * 10 ** floor(log10(high)))

    step = next(size(base) for base in (0.1, 0.2, 0.25, 0.5, 1, 2) if high / size(base) <= 6)
    return [step * number for number in range(int(high / step) + 1)]

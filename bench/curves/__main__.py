"""Command line of the curves: `python -m bench curves --help`."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence

import uvloop
from rich.console import Console
from rich.table import Table

from bench.about import about
from bench.curves.curves import CURVES
from bench.curves.measuring import Bench, Curve, Report
from bench.pages.__main__ import draw
from bench.pages.results import text_of
from bench.pages.results import write as save
from bench.peers.measuring import Effort

__all__ = ["main"]

EXAMPLES = """\
examples:
  python -m bench curves                        all, in some minutes
  python -m bench curves --quick                fewer points, roughly, in about a minute
  python -m bench curves tools sizes            two groups
  python -m bench curves --json > curves.json   for scripts

groups:
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    asked = parser.parse_args(words)
    if unknown := sorted(set(asked.group) - set(CURVES)):
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(CURVES)}")
    curves: list[Curve] = []
    started_s = time.monotonic()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        bench = Bench(runner, *_length(asked))
        for group in asked.group or list(CURVES):
            for curve in CURVES[group](bench):
                curves.append(curve)
                took_s = time.monotonic() - started_s
                print(f"{took_s:.0f} s: {curve.name}", file=sys.stderr, flush=True)
    report = Report(about=about(["curves", *words]), curves=curves)
    if asked.write:
        save("curves", report)
        draw()
    if asked.json:
        print(text_of(report), end="")
    else:
        console = Console(width=None if sys.stdout.isatty() else 130)
        for curve in curves:
            console.print(_table(curve))
    return 0


def _parser() -> argparse.ArgumentParser:
    groups = "\n".join(f"  {name:<13}{(one.__doc__ or '').strip()}" for name, one in CURVES.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench curves",
        description="Measure how the cost of a call grows with one quantity.",
        epilog=EXAMPLES + groups,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("group", nargs="*", help="default: all of them")
    parser.add_argument("--write", action="store_true", help="write and draw docs/benchmarks")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="fewer points, and wider spread")
    parser.add_argument("--smoke", action="store_true", help="a few points once: shows no figure")
    parser.add_argument("--rounds", type=int, help="rounds of each curve; default: 5")
    return parser


def _length(asked: argparse.Namespace) -> tuple[Effort, slice]:
    """Return the length of the measurements, and the points that are measured."""
    effort, chosen = Effort(items=5000, warm_s=0.3, run_s=0.2), slice(None)
    if asked.quick:
        effort, chosen = Effort(rounds=3, run_s=0.08, warm_s=0.1, items=1000), slice(0, None, 2)
    if asked.smoke:
        effort, chosen = Effort(rounds=1, run_s=0, warm_s=0, items=3), slice(1, 2)
    return effort._replace(rounds=asked.rounds or effort.rounds), chosen


def _table(curve: Curve) -> Table:
    table = Table(title=f"{curve.name}: {curve.unit}", caption=curve.placed)
    table.add_column(curve.along or "what")
    for name in curve.series:
        table.add_column(name, justify="right")
    labels = {point.at: None for points in curve.series.values() for point in points}
    for label in labels:
        shown = (
            next((f"{point.middle:,.4g}" for point in points if point.at == label), "")
            for points in curve.series.values()
        )
        table.add_row(label, *shown)
    return table


if __name__ == "__main__":
    sys.exit(main())

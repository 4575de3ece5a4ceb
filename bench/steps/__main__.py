"""Command line of the steps: `python -m bench steps --help`."""

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
from bench.pages.__main__ import draw
from bench.pages.results import text_of
from bench.pages.results import write as save
from bench.peers.measuring import Effort
from bench.steps.profiling import Report, Route
from bench.steps.routes import routes

__all__ = ["main"]

EXAMPLES = """\
examples:
  python -m bench steps                       seven routes, in about a minute
  python -m bench steps --quick               the same, roughly
  python -m bench steps --json > steps.json   for scripts

How it is measured: the CPU time of a call, without a profiler, is the total. Then the same calls
are profiled by CPU time: that of each Python function, without what it calls, is summed up by
module. Compiled functions count for the Python function that calls them. What a call takes more
with the profiler is taken off, as much for each frame. The rest is the event loop and the kernel.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    asked = _parser().parse_args(words)
    found: list[Route] = []
    started_s = time.monotonic()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for route in routes(runner, _effort(asked)):
            found.append(route)
            took_s = time.monotonic() - started_s
            print(f"{took_s:.0f} s: {route.name}", file=sys.stderr, flush=True)
    report = Report(about=about(["steps", *words]), routes=found)
    if asked.write:
        save("steps", report)
        draw()
    if asked.json:
        print(text_of(report), end="")
    else:
        console = Console(width=None if sys.stdout.isatty() else 150)
        for route in found:
            console.print(_table(route))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench steps",
        description="Measure what each module takes of a call, from bytes in to bytes out.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--write", action="store_true", help="write and draw docs/benchmarks")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="fewer calls; wider spread")
    parser.add_argument("--smoke", action="store_true", help="a few calls: shows no figure")
    return parser


def _effort(asked: argparse.Namespace) -> Effort:
    if asked.smoke:
        return Effort(rounds=1, run_s=0, warm_s=0)
    return Effort(rounds=3, run_s=0.1, warm_s=0.1) if asked.quick else Effort(run_s=0.3)


def _table(route: Route) -> Table:
    table = Table(title=f"{route.name}: {route.total_us:.1f} µs", caption=route.placed)
    for heading in ("step", "does"):
        table.add_column(heading)
    for heading in ("frames", "µs"):
        table.add_column(heading, justify="right")
    for step in route.steps:
        table.add_row(step.name, step.does, f"{step.frames:g}", f"{step.us:.2f}")
    return table


if __name__ == "__main__":
    sys.exit(main())

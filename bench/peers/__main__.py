"""Command line of the comparison with other SDKs: `python -m bench peers --help`."""

from __future__ import annotations

import argparse
import asyncio
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

from bench.about import about
from bench.pages.__main__ import draw
from bench.pages.results import text_of
from bench.pages.results import write as save
from bench.peers.measuring import Effort, Report, Row, status_of
from bench.peers.rows import clients, http, memory, start, stdio
from bench.peers.sides import Side, sides

__all__ = ["main"]

KINDS = {
    "http": "calls, long lists and long contents over HTTP",
    "stdio": "calls over stdio, one at a time and many in flight",
    "start": "start of a server, and imports",
    "memory": "memory of a session, and changes told to listeners",
    "clients": "clients, in memory, over stdio and HTTP",
}
SETTINGS = ("fast", "plain")

EXAMPLES = """\
examples:
  python -m bench peers                       all rows, below 15 minutes
  python -m bench peers --quick               all rows, roughly, in some 4 minutes
  python -m bench peers http stdio --quick    two kinds of rows
  python -m bench peers --setting plain       without the packages of our extra `fast` alone
  python -m bench peers --json > peers.json   for scripts
  python -m bench peers --strict              exit with 1 if we are slower than a peer in any row

The TypeScript SDK is compared where BENCH_TYPESCRIPT names its folder: `nox -s bench_peers`.

kinds of rows:
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    asked = parser.parse_args(words)
    if unknown := sorted(set(asked.kind) - set(KINDS)):
        parser.error(f"no kind {', '.join(unknown)}; there are {', '.join(KINDS)}")
    compared = list(sides())
    settings = [asked.setting] if asked.setting else SETTINGS
    rows: list[Row] = []
    progress, started_s = Console(stderr=True), time.monotonic()
    with progress.status("starting") as status:
        for row in _measured(asked.kind or list(KINDS), compared, _effort(asked), settings):
            rows.append(row)
            done = f"{time.monotonic() - started_s:.0f} s, {len(rows)} rows"
            status.update(f"{done}: {row.name}, {row.setting}: {row.verdict}")
            if not progress.is_terminal:
                print(f"{done}: {row.name}, {row.setting}", file=sys.stderr, flush=True)
    versions = {one.name: one.version for one in compared if one.version}
    report = Report(about=about(["peers", *words], versions), rows=rows)
    if asked.write:
        save("peers", report)
        draw()
    if asked.json:
        print(text_of(report), end="")
    else:
        Console(width=None if sys.stdout.isatty() else 150).print(_table(report, asked.smoke))
    return status_of(rows, strict=asked.strict)


def _parser() -> argparse.ArgumentParser:
    kinds = "\n".join(f"  {name:<10}{what}" for name, what in KINDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench peers",
        description="Compare servers and clients of mcp_gen with those of other SDKs.",
        epilog=EXAMPLES + kinds,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", nargs="*", help="default: all of them")
    parser.add_argument("--write", action="store_true", help="write and draw docs/benchmarks")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quick", action="store_true", help="a third of the work; wider spread")
    parser.add_argument("--smoke", action="store_true", help="each row once, to see that it runs")
    parser.add_argument("--rounds", type=int, help="rounds of each row; default: 5")
    parser.add_argument("--setting", choices=SETTINGS, help="default: both, one after the other")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a peer is faster")
    return parser


def _effort(asked: argparse.Namespace) -> Effort:
    effort = Effort()
    if asked.quick:
        effort = Effort(rounds=3, run_s=0.1, warm_s=0.4, items=200, runs=3)
    if asked.smoke:
        effort = Effort(rounds=1, run_s=0, warm_s=0, items=5, runs=1)
    return effort._replace(rounds=asked.rounds) if asked.rounds else effort


def _measured(
    kinds: Sequence[str], compared: Sequence[Side], effort: Effort, settings: Sequence[str]
) -> Iterator[Row]:
    absent = {one.name: one.cannot["all"] for one in compared if "all" in one.cannot}
    present = [one for one in compared if one.name not in absent]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        both: dict[str, Callable[[str], Iterator[Row]]] = {
            "http": lambda setting: http.rows(present, effort, runner, setting),
            "stdio": lambda setting: stdio.rows(present, effort, setting),
            "clients": lambda setting: clients.rows(present, effort, setting),
        }
        once: dict[str, Callable[[], Iterator[Row]]] = {
            "start": lambda: start.rows(present, effort),
            "memory": lambda: memory.rows(present, effort, runner),
        }
        for kind in kinds:
            found = (
                once[kind]()
                if kind in once
                else (row for setting in settings for row in both[kind](setting))
            )
            for row in found:
                yield msgspec.structs.replace(row, not_offered={**absent, **row.not_offered})


def _table(report: Report, smoke: bool) -> Table:
    names = list({name: None for row in report.rows for name in (*row.values, *row.not_offered)})
    table = Table(
        title=f"ours against others; Python {platform.python_version()}",
        caption="median of the rounds; x = how many times as good we are, median, least to most"
        + ("; --smoke: no figure means anything" if smoke else ""),
    )
    table.add_column("what")
    table.add_column("setting")
    table.add_column("unit")
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for row in report.rows:
        style = "red" if row.slower_than else "green"
        verdict = "" if smoke else f"[{style}]{row.verdict}[/]"
        shown = [_shown(row, name) for name in names]
        table.add_row(row.name, row.setting, row.unit, *shown, verdict)
    return table


def _shown(row: Row, name: str) -> str:
    if name not in row.values:
        return "not offered"
    values = sorted(row.values[name])
    middle = values[len(values) // 2]
    figure = f"{middle:,.0f}" if middle >= 100 else f"{middle:.3g}"
    if name not in row.peers:
        return figure
    ratios = row.advantages(name)
    return f"{figure}\nx {row.advantage(name):.3g} ({min(ratios):.3g} to {max(ratios):.3g})"


if __name__ == "__main__":
    sys.exit(main())

"""Command line of the benchmarks: `python -m bench --help`."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

import msgspec
from rich.console import Console
from rich.table import Table

from bench.about import about
from bench.child import end_programs_too
from bench.pages.__main__ import draw
from bench.pages.contract import with_goals
from bench.pages.results import write as save
from bench.rounds import Bare, merged
from bench.sampling import Row, Settings

GROUPS = {
    "stdio": "calls over stdio, one at a time and 64 in flight",
    "http": "calls over HTTP on 16 connections",
    "pauses": "the slowest calls, with and without frozen objects",
    "large": "long lists and texts over HTTP",
    "streams": "news of a change to many who listen",
    "cluster": "what a shared store costs a call, and what it holds",
    "memory": "what HTTP sessions and streams weigh, and what is left of them",
    "codec": "decoding and encoding generated types",
    "hooks": "what hooks cost, used and unused",
    "client": "our client against the official one, in memory, over stdio and HTTP",
    "imports": "import times, memory, start of a server",
    "mount": "what a mounted server adds to a call of a gateway",
    "bridge": "calls through a bridge",
    "auth": "checks of access tokens: JWTs, known tokens, proofs of keys",
    "tools": "servers with 10 000 tools: start, and a call among them",
}

OTHERS = {
    "peers": "ours against other SDKs, in one run",
    "curves": "ours with more tools, sessions, bytes, connections, hooks, processes",
    "steps": "the microseconds of a call, by module",
    "pages": "charts and tables of docs/benchmarks, from the results",
}
"""Commands with options of their own."""

EXAMPLES = """\
examples:
  python -m bench                     everything, in some minutes
  python -m bench --quick             everything in about one minute, roughly
  python -m bench stdio http --quick  two groups, roughly
  python -m bench stdio --uvloop      both sides on uvloop
  python -m bench --json > now.json   for a script to read
  python -m bench --strict            exit with 1 if a goal is missed
  python -m bench --rounds 5 --write  five rounds, into docs/benchmarks

groups:
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in OTHERS:
        command = import_module(f"bench.{words[0]}.__main__").main
        return int(command(words[1:]))
    parser = _parser()
    asked = parser.parse_args(words)
    if unknown := sorted(set(asked.name) - set(GROUPS)):
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    settings = Settings(quick=asked.quick, uvloop=asked.uvloop, smoke=asked.smoke)
    names = asked.name or list(GROUPS)
    rounds = [dict(_measured(names, settings)) for _ in range(asked.rounds)]
    found = [
        one for name in names for one in with_goals(merged(name, [each[name] for each in rounds]))
    ]
    rows = [one.row for one in found]
    if asked.write:
        save("bare", Bare(about=about(words), rows=found))
        draw()
    if settings.smoke:
        # One measurement meets or misses a goal by chance.
        rows = [msgspec.structs.replace(row, goal=None) for row in rows]
    if asked.json:
        told = [
            {**msgspec.structs.asdict(row), "met": row.met, "rounds": one.ratios}
            for row, one in zip(rows, found, strict=True)
        ]
        print(msgspec.json.format(msgspec.json.encode(told)).decode())
    else:
        Console(width=None if sys.stdout.isatty() else 130).print(_table(rows, settings))
    return int(asked.strict and any(row.met is False for row in rows))


def _parser() -> argparse.ArgumentParser:
    groups = "\n".join(f"  {name:<10}{what}" for name, what in GROUPS.items())
    others = "\n".join(f"  {name:<10}{what}" for name, what in OTHERS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Compare mcp_gen with bare programs that do the same wire work.",
        epilog=f"{EXAMPLES}{groups}\n\ncommands of their own, with `--help`:\n{others}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", metavar="group", help="default: all of them")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--write", action="store_true", help="write and draw docs/benchmarks")
    parser.add_argument("--rounds", type=int, default=1, help="run all so often; default: 1")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work; wider spread")
    parser.add_argument("--smoke", action="store_true", help="each row once, to see that it runs")
    parser.add_argument("--uvloop", action="store_true", help="uvloop for the stdio rows")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    return parser


def _measured(names: Sequence[str], settings: Settings) -> Iterator[tuple[str, list[Row]]]:
    progress = Console(stderr=True)
    for name in names:
        with progress.status(f"{name}: {GROUPS[name]}"):
            # Imported only now: uvloop is needed for HTTP alone.
            if not progress.is_terminal:
                print(f"{name}: {GROUPS[name]}", file=sys.stderr, flush=True)
            yield name, list(import_module(f"bench.{name}").rows(settings))


def _table(rows: Sequence[Row], settings: Settings) -> Table:
    loop = "uvloop" if settings.uvloop else "asyncio"
    table = Table(
        title=f"ours against bare; Python {platform.python_version()}, stdio on {loop}",
        caption="ratio = ours / bare, median of neighbouring pairs; spread = its middle half",
    )
    table.add_column("what")
    for heading in ("ours", "bare"):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    for heading in ("ratio", "spread", "goal"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for row in rows:
        style = {"meets": "green", "misses": "red"}.get(row.verdict, "")
        table.add_row(
            row.name,
            _number(row.ours),
            _number(row.bare),
            row.unit,
            f"{row.ratio:.2f}",
            f"{row.low:.2f} to {row.high:.2f}",
            str(row.goal or "none"),
            f"[{style}]{row.verdict}[/]" if style else "",
        )
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    end_programs_too()
    sys.exit(main())

"""`python -m tests.fuzz --count N --seed N`: see `nox -s fuzz`."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import re
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.table import Table

from tests.fuzz.findings import BLOCK, Block, Finding
from tests.fuzz.results import Results, state_of
from tests.fuzz.running import Ran, orders_for, run_all
from tests.fuzz.surfaces.all import SURFACES, make
from tests.fuzz.surfaces.surface import Complaints
from tests.fuzz.worker import Done, run_block

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".fuzz"
COUNT = 1_000_000
_ONLY = re.compile(rf"({'|'.join(SURFACES)}):\d+(-\d+)?(,\d+(-\d+)?)*")

_SURFACES = "\n".join(f"  {name:<10}{kind.about}" for name, kind in SURFACES.items())
_EPILOG = f"""\
surfaces:
{_SURFACES}

examples:
  nox -s fuzz                                 a million inputs, over all surfaces
  nox -s fuzz                                 once more: goes on where it stopped
  nox -s fuzz -- --seconds 30                 as many as 30 seconds allow
  nox -s fuzz -- --surface memory --count 50000
  nox -s fuzz -- --only memory:1218           one input again, alone in a session
  nox -s fuzz -- --only memory:1200-1249      a block of inputs again, in one session

Each input is made of the seed, the surface, the revision and its number alone. Results are kept in
.fuzz/ per state of the sources; delete the folder to forget them.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    if options.only:
        # What goes wrong is printed as a finding.
        logging.getLogger().addHandler(logging.NullHandler())
        return asyncio.run(_again(options.only, options.seed, as_json=options.json))
    console = Console(stderr=True)
    results = Results(CACHE / state_of(ROOT) / "results.jsonl", options.seed)
    orders = orders_for(
        options.surface or [*SURFACES],
        options.seed,
        results.done,
        count=None if options.seconds else options.count,
        seconds=options.seconds,
        jobs=options.jobs,
    )
    began = time.monotonic()
    ran: list[Ran] = []
    progress = Progress(
        *Progress.get_default_columns(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with progress, suppress(KeyboardInterrupt):
        tasks = {
            order.surface: progress.add_task(
                order.surface, total=None if order.count is None else order.count * BLOCK
            )
            for order in orders
        }

        def tell(surface: str, done: Done) -> None:
            progress.advance(tasks[surface], done.inputs)
            for one in done.findings:
                console.print(_brief(one), markup=False, highlight=False, soft_wrap=True)

        ran = run_all(orders, results, tell, options.jobs)
    return _report(results, ran, time.monotonic() - began, options)


def _report(results: Results, ran: list[Ran], seconds: float, options: argparse.Namespace) -> int:
    found = [*results.findings()]
    if options.json:
        rows = [msgspec.to_builtins(one) for one in found]
        done = {name: blocks * BLOCK for name, blocks in results.done.items()}
        print(json.dumps({"seed": options.seed, "inputs": done, "findings": rows}))
        return bool(found)
    table = Table("surface", "inputs now", "in all", "memory of the target")
    now = {one.surface: one for one in ran}
    for name, blocks in results.done.items():
        grown = now[name].growth if name in now else None
        inputs = now[name].inputs if name in now else 0
        memory = "" if grown is None else str(grown)
        table.add_row(name, f"{inputs:,}", f"{blocks * BLOCK:,}", memory)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    for one in found:
        print(f"\n{_full(one, options.seed)}")
    inputs = sum(one.inputs for one in ran)
    print(f"{inputs:,} inputs in {seconds:.0f} s, seed {options.seed}")
    print("good" if not found else f"{len(found)} findings")
    return bool(found)


def _brief(one: Finding) -> str:
    return f"{one.kind}: {one.what.splitlines()[0][:200]} - {one.reproduce}"


def _full(one: Finding, seed: int) -> str:
    lines = [f"{one.surface}, input {one.index}: {one.kind}: {one.what}"]
    if one.data:
        lines.append(f"  input: {one.data}")
    what = "--only" if ":" in one.reproduce else "--surface"
    lines.append(f"  again: python -m tests.fuzz --seed {seed} {what} {one.reproduce}")
    return "\n".join(lines)


async def _again(only: str, seed: int, *, as_json: bool) -> int:
    """Run some inputs of a surface once more, and say what is wrong."""
    surface, _, words = only.partition(":")
    block = Block(seed, surface, indexes_in(words))
    complaints = Complaints()
    with complaints.installed():
        async with make(surface) as target:
            found = await run_block(target, block, complaints)
    if as_json:
        print(json.dumps([msgspec.to_builtins(one) for one in found]))
    else:
        for one in found:
            print(_full(one, seed))
        print("good" if not found else f"{len(found)} findings")
    return bool(found)


def indexes_in(words: str) -> tuple[int, ...]:
    """Return the numbers in `17`, `0-49` or `3,9`."""
    found: list[int] = []
    for word in words.split(","):
        first, _, last = word.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return tuple(found)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description="Send made up and broken messages to every surface and judge what comes back.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--count", type=int, default=COUNT, help=f"how many inputs ({COUNT:,})")
    parser.add_argument("--seconds", type=float, help="as many as this time allows")
    parser.add_argument("--seed", type=int, default=7, help="what the inputs are made of (7)")
    parser.add_argument("--surface", action="append", choices=[*SURFACES], help="these alone")
    parser.add_argument("--only", metavar="SURFACE:INDEX", help="send these inputs again")
    parser.add_argument("--jobs", type=int, default=2, help="surfaces at the same time (2)")
    parser.add_argument("--json", action="store_true", help="print the report for a script")
    options = parser.parse_args(arguments)
    if options.only and not _ONLY.fullmatch(options.only):
        parser.error("--only: expected a surface and inputs, as in memory:17 or memory:0-49")
    return options


if __name__ == "__main__":
    sys.exit(main())

"""`python -m tests.mutants --count N --seed N`: see `nox -s mutants`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from rich.console import Console
from rich.progress import Progress

from tests.mutants import allowed, places, reach
from tests.mutants.choice.selection import Selector
from tests.mutants.copies import Copy
from tests.mutants.places import PACKAGES, Place
from tests.mutants.report import NOT_FOUND, Report, Result
from tests.mutants.results import Results
from tests.mutants.running import Outcome, Reliable, Worker

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".mutants"

_EPILOG = """\
examples:
  nox -s mutants -- --count 150 --seed 7        150 faults, chosen by the seed
  nox -s mutants -- --count 150 --seed 7        once more: goes on where it stopped
  nox -s mutants -- --package core --count 30   30 faults of one package
  nox -s mutants -- --package auth --tests tests/auth   some tests alone: soon traced
  nox -s mutants -- --minutes 20                as many of them as 20 minutes allow; exits with 0
                                                if enough of those were found
  nox -s mutants -- --count 200 --full          what the tests do not find, tried with all cases
                                                of `nox -s tests_full`, which may find one in 33
  nox -s mutants -- --only limits.py:61 --again the faults of one line, whatever is known of them
  nox -s mutants -- --list --only limits.py     show the places of a file, and try none

The first run runs all tests once, to learn which lines each one reaches; a later one those that use
what has changed. That, and every result of a state of the sources, is kept in .mutants/; delete the
folder to forget it. With --tests only the test files whose paths begin so are run and traced; a
fault that they do not find may be found by others, so that only found ones are kept.

A fault that changes nothing belongs into tests/mutants/equivalent.toml, with the reason.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of one run: chosen faults, processes, time."""

    chosen: list[Place]
    equivalent: dict[str, allowed.Equivalent]
    jobs: int
    deadline: float | None
    again: bool
    tests: Sequence[str]
    full: bool

    def wants(self, known: Outcome | None) -> bool:
        """Return True if a fault with this outcome is to be tried."""
        if known is None or self.again:
            return True
        return self.full and known.status in NOT_FOUND and not known.full


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    console = Console(stderr=True)
    every = places.all_places(ROOT)
    try:
        equivalent = allowed.equivalents(allowed.read(), every)
        chosen = _chosen(every, options)
        if options.list:
            for place in chosen:
                print(f"{place.id} | {place.text}")
            return 0
        deadline = time.monotonic() + 60 * options.minutes if options.minutes else None
        again, full = options.again, options.full
        plan = Plan(chosen, equivalent, options.jobs, deadline, again, options.tests, full)
        results = execute(plan, console)
    except reach.Unusable as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    min_full = options.min_full if full else None
    report = Report(results, ROOT, options.min_total, options.min_package, min_full)
    if options.json:
        print(json.dumps({"seed": options.seed, **report.json()}))
    else:
        report.show(Console(width=None if sys.stdout.isatty() else 120))
    left = sum(_is_left(one) for one in results)
    if left:
        why = "ended" if deadline is None else f"{options.minutes:g} minutes are over"
        console.print(f"{why}: {left} faults are left; the same command goes on with them")
    # A run that may take so long has done what it was told.
    return 1 if report.faults() or (left and deadline is None) else 0


def _is_left(result: Result) -> bool:
    return result.outcome is None and not result.reason


def _chosen(every: list[Place], options: argparse.Namespace) -> list[Place]:
    wanted = [place for place in every if not options.package or place.package in options.package]
    if options.only:
        return [place for place in wanted if any(text in place.id for text in options.only)]
    return places.choose(wanted, options.count, options.seed, ROOT)


def execute(plan: Plan, console: Console) -> list[Result]:
    """Try every chosen fault that has no result yet, on several copies at the same time."""
    state = reach.state_of(ROOT)
    folder = CACHE / state
    folder.mkdir(parents=True, exist_ok=True)
    copies = [Copy.make(ROOT, CACHE / "copies" / str(number)) for number in range(plan.jobs)]
    traced = copies[0].folder
    maps = CACHE / "maps"
    map_ = reach.make(maps, traced, plan.jobs, console.print, plan.deadline, plan.tests)
    for copy in copies[1:]:
        copy.take_compiled_tests(copies[0])
    for test in sorted(map_.failing):
        console.print(f"fails without a fault, and is left out: {test}", markup=False)
    reliable = Reliable(folder / "reliable.json")
    selector = Selector(map_, ROOT, reliable.unreliable)
    workers = [Worker(ROOT, copy, selector, reliable, plan.full) for copy in copies]
    results = Results(folder / "results.jsonl", reach.test_files(ROOT), not plan.tests)
    open_ = [
        place
        for place in plan.chosen
        if place.id not in plan.equivalent and plan.wants(results.get(place))
    ]
    console.print(f"{len(plan.chosen)} faults, {len(open_)} to be tried")
    try:
        with suppress(KeyboardInterrupt):
            try_all(open_, workers, results, plan.deadline, console)
    finally:
        for worker in workers:
            worker.close()
    return [
        Result(place, None, plan.equivalent[place.id].reason)
        if place.id in plan.equivalent
        else Result(place, results.get(place))
        for place in plan.chosen
    ]


def try_all(
    open_: Sequence[Place],
    workers: Sequence[Worker],
    results: Results,
    deadline: float | None,
    console: Console,
) -> None:
    """Try faults until none is left or the time is over; each result is written at once."""
    free: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        free.put(worker)
    progress = Progress(console=console, disable=not console.is_terminal)
    task = progress.add_task("faults", total=len(open_))

    def one(place: Place) -> None:
        worker = free.get()
        try:
            outcome = worker.try_fault(place)
        finally:
            free.put(worker)
        results.add(place, outcome)
        progress.advance(task)
        by = f" by {outcome.by}" if outcome.by else ""
        line = f"{outcome.status}{by} in {outcome.seconds:.0f} s: {place.id}"
        console.print(line, markup=False, emoji=False, highlight=False, soft_wrap=True)

    left = list(reversed(open_))
    running: set[Future[None]] = set()
    with progress, ThreadPoolExecutor(len(workers)) as pool:
        try:
            while left or running:
                if deadline is not None and time.monotonic() > deadline:
                    left.clear()
                while left and len(running) < len(workers):
                    running.add(pool.submit(one, left.pop()))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                _raise_errors(done)
        except BaseException:
            for worker in workers:
                worker.stop()
            raise


def _raise_errors(done: set[Future[None]]) -> None:
    for future in done:
        future.result()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description="Put small faults into the sources and see whether the tests find them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--count", type=int, default=150, help="how many faults (150)")
    parser.add_argument("--seed", type=int, default=7, help="what they are chosen by (7)")
    parser.add_argument("--package", action="append", choices=PACKAGES, help="of these alone")
    parser.add_argument("--only", action="append", metavar="TEXT", help="whose id has this text")
    parser.add_argument(
        "--tests", action="append", default=[], metavar="PATH", help="run these test files alone"
    )
    parser.add_argument("--list", action="store_true", help="show the chosen places, try none")
    parser.add_argument(
        "--full", action="store_true", help="try what is not found with all cases, too"
    )
    parser.add_argument("--again", action="store_true", help="try what has a result, too")
    parser.add_argument("--jobs", type=int, default=2, help="faults at the same time (2)")
    parser.add_argument("--minutes", type=float, help="begin no fault after this time")
    parser.add_argument("--min-total", type=float, default=90, help="percent over all (90)")
    parser.add_argument("--min-package", type=float, default=80, help="percent in each (80)")
    parser.add_argument(
        "--min-full", type=float, default=97, help="percent of what --full finds (97)"
    )
    parser.add_argument("--json", action="store_true", help="print the report for a script")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    # Ends like Ctrl-C: what has been started ends as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())

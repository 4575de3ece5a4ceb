"""`python -m tests.soak [memory|http|manager|kills] --seconds N`: see `nox -s soak`."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from contextlib import nullcontext

from rich.console import Console

from tests.soak import http, kills, manager, memory

LINE_EVERY_S = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    kinds = ["memory", "http", "manager", "kills"]
    parser.add_argument("kind", nargs="?", choices=kinds, default="memory")
    parser.add_argument(
        "--seconds", type=float, help="how long; 30, over HTTP 600, manager 60, kills 600"
    )
    parser.add_argument("--sessions", type=int, default=200, help="at once, in memory")
    parser.add_argument("--clients", type=int, default=32, help="at once, over HTTP")
    parser.add_argument("--seed", type=int, help="what chance is made of")
    parser.add_argument("--json", action="store_true", help="print the report for a script")
    asked = parser.parse_args()
    if asked.kind == "memory":
        return memory.run(asked.seconds or 30.0, asked.sessions, as_json=asked.json)
    seed = random.randrange(10**6) if asked.seed is None else asked.seed
    if asked.kind == "manager":
        return manager.run(asked.seconds or 60.0, seed, as_json=asked.json)
    if asked.kind == "kills":
        return kills.run(kills.Plan(seed, asked.seconds or 600.0), as_json=asked.json)
    return over_http(http.Plan.of(seed, asked.seconds or 600.0, asked.clients), as_json=asked.json)


def over_http(plan: http.Plan, *, as_json: bool) -> int:
    """Run the soak over HTTP, and print its report."""
    console = Console(stderr=True)
    console.print(f"{plan.clients} clients for {plan.seconds:g} s, --seed {plan.seed}")
    waiting = console.status("starting") if console.is_terminal else nullcontext()
    with waiting as status:
        said_s = 0.0

        def tell(line: str) -> None:
            nonlocal said_s
            if status is not None:
                status.update(line)
            elif time.monotonic() - said_s > LINE_EVERY_S:
                said_s = time.monotonic()
                print(line, file=sys.stderr, flush=True)

        def complain(what: str) -> None:
            console.print(f"wrong: {what}", markup=False, highlight=False, soft_wrap=True)

        report = asyncio.run(http.soak(plan, tell, complain))
    if as_json:
        print(json.dumps(report.json()))
        return bool(report.found_wrong)
    shown = Console(width=None if console.is_terminal else 120)
    for table in report.tables():
        shown.print(table)
    print(
        f"{report.answers:,} answers and {sum(report.done.values()):,} acts in "
        f"{report.seconds:.0f} s; {report.expired} sessions expired; "
        f"at most {report.peak_kb:,} KB; the server ended with {report.status}"
    )
    for what, number in report.warnings.items():
        print(f"{number:,} times in the log: {what}")
    print("good" if not report.found_wrong else f"{report.found_wrong} wrong (seed {report.seed})")
    return bool(report.found_wrong)


if __name__ == "__main__":
    sys.exit(main())

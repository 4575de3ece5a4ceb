"""`python -m tests.attack`: see `nox -s attack`."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence

from rich.console import Console

from tests.attack import attacks, on_client
from tests.attack.on_client import attack_client
from tests.attack.on_server import attack_server
from tests.attack.report import Row, json_of, table_of

EPILOG = """\
examples:
  nox -s attack                           every attack for 5 s; ends with 1 if others feel too much
  nox -s attack -- --smoke                every attack once; figures are shown, but none is too slow
  nox -s attack -- --only listen          the attacks with this text in their name
  nox -s attack -- --list                 the names
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the attacks and print the report; return 1 if a limit is broken."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.attack",
        description="Attack a running server and a running client; measure what others feel.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="of each attack, and of the calm before it (5)"
    )
    parser.add_argument("--smoke", action="store_true", help="each once, without limits of time")
    parser.add_argument("--only", metavar="TEXT", default="", help="whose name has this text")
    parser.add_argument("--list", action="store_true", help="show the names, attack nothing")
    parser.add_argument("--json", action="store_true", help="print the report for a script")
    asked = parser.parse_args(arguments)
    on_server = [name for name in attacks.ATTACKS if asked.only in name]
    on_clients = [name for name in on_client.ATTACKS if asked.only in name]
    if asked.list:
        print("\n".join([*on_server, *on_clients]))
        return 0
    if not on_server and not on_clients:
        parser.error(f"no attack has {asked.only!r} in its name; --list shows them")
    seconds = 0.0 if asked.smoke else asked.seconds
    return asyncio.run(run(_rows(on_server, on_clients, seconds), asked))


async def _rows(
    on_server: Sequence[str], on_clients: Sequence[str], seconds: float
) -> AsyncIterator[Row]:
    if on_server:
        async for row in attack_server(on_server, seconds):
            yield row
    if on_clients:
        async for row in attack_client(on_clients, seconds):
            yield row


async def run(made: AsyncIterator[Row], asked: argparse.Namespace) -> int:
    """Print each row as it is made, and the report; return 1 if a limit is broken."""
    console, rows = Console(stderr=True), list[Row]()
    async for row in made:
        rows.append(row)
        console.print(
            f"{row.on}: {row.name}: p99 {row.p99_ms:.1f} ms, slowest {row.slowest_ms:.1f} ms "
            f"(calm {row.calm_p99_ms:.1f} and {row.calm_slowest_ms:.1f} ms)",
            highlight=False,
        )
        for wrong in [*row.wrong, *([] if asked.smoke else row.slow())]:
            console.print(f"  wrong: {wrong[:300]}", markup=False, highlight=False)
    found_wrong = sum(len(row.wrong) + (0 if asked.smoke else len(row.slow())) for row in rows)
    if asked.json:
        print(json.dumps(json_of(rows)))
    else:
        Console(width=None if console.is_terminal else 160).print(table_of(rows))
        print("good" if not found_wrong else f"{found_wrong} wrong")
    return bool(found_wrong)


if __name__ == "__main__":
    sys.exit(main())

"""Command line of the pages: `python -m bench pages --help`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.pages.pages import pages
from bench.pages.results import FOLDER

__all__ = ["draw", "main"]

EXAMPLES = """\
examples:
  python -m bench pages                   draw all charts and tables from docs/benchmarks/results
  python -m bench pages --check           exit with 1 if they are not what the results give

The results come from: python -m bench --rounds 5 --write; python -m bench peers --write;
python -m bench curves --write; python -m bench steps --write. Each of them draws the pages, too.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the pages and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m bench pages",
        description="Draw docs/benchmarks from the results of the other commands.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    asked = parser.parse_args(arguments)
    changed = draw(write=not asked.check)
    for name in changed:
        print(f"docs/benchmarks/{name}", file=sys.stderr)
    return int(asked.check and bool(changed))


def draw(*, write: bool = True) -> list[str]:
    """Write the pages that differ from what the results give; return their names."""
    wanted = pages()
    changed = [
        name
        for name, text in wanted.items()
        if not (FOLDER / name).exists() or (FOLDER / name).read_text("utf-8") != text
    ]
    gone = [one.name for one in FOLDER.glob("*.svg") if one.name not in wanted]
    if write:
        for name in changed:
            (FOLDER / name).write_text(wanted[name], "utf-8")
        for name in gone:
            (FOLDER / name).unlink()
    return [*changed, *gone]


if __name__ == "__main__":
    sys.exit(main())

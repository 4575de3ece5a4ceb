"""Report of the self-test, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from codegen.verify.judge import Difference, Tally
from codegen.verify.known import KNOWN
from codegen.verify.rows import DEVIATIONS

_COUNTS = ("instances", "accepted", "refused", "differing", "unexplained")
_HEADS = ("instances", "accepted by all", "refused by all", "differ by a row", "unexplained")


def as_text(tallies: Mapping[str, Tally], seed: int, seconds: float) -> str:
    """Return the report: a table per revision, the rows that explain, and what nothing explains."""
    total = sum(tally.instances for tally in tallies.values())
    wrong = sum(tally.unexplained for tally in tallies.values())
    lines = [f"verified {total:,} instances with seed {seed} in {seconds:.1f} s", ""]
    lines += _table(
        ["", *_HEADS],
        [
            [revision, *(f"{getattr(tally, name):,}" for name in _COUNTS)]
            for revision, tally in tallies.items()
        ],
    )
    lines += ["", *_table(["differing by", *tallies], _explained(tallies))]
    for revision, tally in tallies.items():
        if tally.never_accepted:
            names = ", ".join(sorted(tally.never_accepted))
            lines += ["", f"{revision}: no valid instance was made of {names}"]
    for number, difference in differences(tallies):
        lines += ["", *_told(number, difference)]
    lines += ["", f"unexplained: {wrong:,}" if wrong else "every difference has its row"]
    return "\n".join(lines) + "\n"


def as_json(tallies: Mapping[str, Tally], seed: int) -> str:
    """Return the same as JSON, without the time: equal for an equal seed and count."""
    revisions = {
        revision: {name: getattr(tally, name) for name in _COUNTS}
        | {
            "explained": dict(sorted(tally.explained.items())),
            "known": dict(sorted(tally.known.items())),
            "never_accepted": sorted(tally.never_accepted),
        }
        for revision, tally in tallies.items()
    }
    unexplained = [
        {
            "revision": one.revision,
            "definition": one.definition,
            "surface": one.surface,
            "what": one.what,
            "count": number,
            "instance": json.loads(one.instance),
            "published": one.published,
            "expected": one.expected,
            "got": one.got,
        }
        for number, one in differences(tallies)
    ]
    said = {"seed": seed, "revisions": revisions, "unexplained": unexplained}
    return json.dumps(said, indent=2) + "\n"


def differences(tallies: Mapping[str, Tally]) -> list[tuple[int, Difference]]:
    """Return the unexplained differences of one kind as their number and the shortest of them."""
    found = [one for tally in tallies.values() for one in tally.examples.values()]
    return sorted(found, key=lambda pair: (len(pair[1].instance), pair[1].group))


def _explained(tallies: Mapping[str, Tally]) -> Iterator[list[str]]:
    for kind in DEVIATIONS:
        counts = [tally.explained[kind] for tally in tallies.values()]
        if any(counts):
            word, _, rule = kind.partition(" ")
            yield [f"[[{word}]] {rule}".strip(), *map("{:,}".format, counts)]
    for entry in KNOWN:
        counts = [tally.known[entry.name] for tally in tallies.values()]
        if any(counts):
            yield [f"pydantic: {entry.name}", *map("{:,}".format, counts)]


def _told(number: int, one: Difference) -> list[str]:
    more = f"  ({number:,} of this kind; the shortest)" if number > 1 else ""
    surface = [f"    {one.surface:9}{one.got}"] if one.got else []
    lines = [
        f"{one.revision} {one.definition}: {one.surface} {one.what}{more}",
        f"    instance {one.instance}",
        f"    schema   {one.published}; with the overlay's rows {one.expected}",
        *surface,
    ]
    return [_printable(line) for line in lines]


def _printable(text: str) -> str:
    """Escape what a terminal would not show: instances hold such characters on purpose."""
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [list(heads), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            word.ljust(width) if place == 0 else word.rjust(width)
            for place, (word, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]

"""Every place of the sources where a fault can be put, and the choice of some by a seed."""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.facts import allowed_values, facts_changes, overlay_changes
from tests.mutants.operators import Change, changes, is_valid

__all__ = [
    "MIN_PER_PACKAGE",
    "PACKAGES",
    "ROOT",
    "Place",
    "all_places",
    "choose",
    "diff",
    "sources",
]

ROOT = Path(__file__).parents[2]
RUNTIME = tuple(sorted(path.parent.name for path in (ROOT / "mcp_gen").glob("*/__init__.py")))
"""Packages of the runtime: each new one is among them by itself."""
PACKAGES = (*RUNTIME, "codegen", "facts")
PLUGIN = "pytest_mcp_gen.py"
"""The plugin of pytest: it is a file of its own, and belongs to `mcp_gen.testing`."""

MIN_PER_PACKAGE = 8
"""Places chosen in each package, so that its share of found faults says something."""


@dataclass(frozen=True, slots=True)
class Place:
    """One fault: a change of one file.

    Args:
        path: The file, relative to the checkout.
        package: One of `PACKAGES`.
        text: The line that changes, without its indentation.
        fact: Attribute of the Profile that the change is about, or "".
        revision: Revision whose facts change, or "".
    """

    path: str
    package: str
    change: Change
    text: str
    fact: str = ""
    revision: str = ""

    @property
    def id(self) -> str:
        return f"{self.path}:{self.change.line}:{self.change.column}: {self.change.what}"

    @property
    def at(self) -> int:
        """Bytes before the change in the line without its indentation."""
        return self.change.column - self.change.indentation

    @property
    def is_fact(self) -> bool:
        return self.package == "facts"


def sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the package and the path of each file that faults are put into."""
    for package in RUNTIME:
        for path in sorted((root / "mcp_gen" / package).rglob("*.py")):
            yield package, path
    for path in sorted((root / "mcp_gen").glob("*.py")):
        yield "core", path
    for path in root.glob(PLUGIN):
        yield "testing", path
    for path in sorted((root / "codegen").rglob("*.py")):
        yield "codegen", path
    for path in sorted((root / "schema").rglob("facts.toml")):
        yield "facts", path
    yield "facts", root / "schema" / "overlay.toml"


def all_places(
    root: Path, packages: Iterable[str] = PACKAGES, only: Container[str] | None = None
) -> list[Place]:
    """Return every place of the given packages, in the order of files and texts.

    Args:
        root: Folder of the sources.
        packages: Names of packages, as in `PACKAGES`.
        only: Paths of files, from `root` on; None for all files.
    """
    wanted = frozenset(packages)
    return [
        place
        for package, path in sources(root)
        if package in wanted and (only is None or path.relative_to(root).as_posix() in only)
        for place in _places(root, package, path)
    ]


def _places(root: Path, package: str, path: Path) -> Iterator[Place]:
    source = path.read_bytes()
    name = path.relative_to(root).as_posix()
    lines = source.decode().splitlines()
    if package != "facts":
        for change in changes(source):
            yield Place(name, package, change, lines[change.line - 1].strip())
        return
    if path.name == "overlay.toml":
        found = overlay_changes(source)
    else:
        found = facts_changes(source, allowed_values(root / "schema"), path.parent.name)
    for one in found:
        # `value = true` stands in many rows: the description names the row.
        text = lines[one.change.line - 1].strip()
        yield Place(name, package, one.change, text, one.fact, one.revision)


def choose(places: Sequence[Place], count: int, seed: int, root: Path) -> list[Place]:
    """Return `count` places by a seed, spread over the packages by their numbers of places.

    A package has `MIN_PER_PACKAGE` places at least, if there are as many and `count` allows. With
    the same seed, a greater count adds places and keeps those of a smaller one. A place keeps its
    rank as long as its line stays the same: changes elsewhere do not bring other faults.
    """
    by_package: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        by_package[place.package].append(place)
    chosen: list[Place] = []
    for package, number in _shares({k: len(v) for k, v in by_package.items()}, count).items():
        chosen += _valid(_ranked(by_package[package], seed), number, root)
    return _ranked(chosen, seed)


def _ranked(places: Iterable[Place], seed: int) -> list[Place]:
    """Return places in an order by the seed and what each one says, not by where it is."""
    alike: Counter[tuple[str, str, int, str]] = Counter()
    ranks: list[tuple[bytes, Place]] = []
    for place in places:
        said = place.path, place.text, place.at, place.change.what
        alike[said] += 1
        rank = hashlib.sha256(f"{seed} {said} {alike[said]}".encode()).digest()
        ranks.append((rank, place))
    return [place for _, place in sorted(ranks, key=lambda one: one[0])]


def _shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """Return how many places each package gets."""
    least = min(MIN_PER_PACKAGE, count // len(sizes)) if sizes else 0
    shares = {package: min(size, least) for package, size in sizes.items()}
    total = sum(sizes.values())
    while (left := count - sum(shares.values())) > 0 and sum(shares.values()) < total:
        # The package that lacks most to its proportion comes next.
        package = max(
            (one for one in sizes if shares[one] < sizes[one]),
            key=lambda one: (sizes[one] * count / total - shares[one], one),
        )
        shares[package] += min(1, left)
    return shares


def _valid(drawn: Iterable[Place], number: int, root: Path) -> Iterator[Place]:
    for place in drawn:
        if number == 0:
            return
        if place.is_fact or is_valid((root / place.path).read_bytes(), place.change):
            number -= 1
            yield place


def diff(place: Place, root: Path) -> str:
    """Return the fault as a unified diff."""
    before = (root / place.path).read_bytes()
    after = place.change.applied(before)
    old, new = (one.decode().splitlines(keepends=True) for one in (before, after))
    return "".join(difflib.unified_diff(old, new, f"a/{place.path}", f"b/{place.path}"))

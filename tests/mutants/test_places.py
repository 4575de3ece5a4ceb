"""The choice of places: by a seed, and spread over the packages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

from tests.mutants.places import (
    MIN_PER_PACKAGE,
    PACKAGES,
    Place,
    all_places,
    choose,
    diff,
)

ROOT = Path(__file__).parents[2]


@cache
def every() -> list[Place]:
    return all_places(ROOT)


def test_every_package_has_places_and_each_place_one_id() -> None:
    assert {place.package for place in every()} == set(PACKAGES)
    assert len({place.id for place in every()}) == len(every())


def test_a_seed_chooses_the_same_places_each_time() -> None:
    assert choose(every(), 20, 7, ROOT) == choose(every(), 20, 7, ROOT)
    assert choose(every(), 20, 7, ROOT) != choose(every(), 20, 8, ROOT)


def test_a_greater_count_keeps_the_places_of_a_smaller_one() -> None:
    assert set(choose(every(), 40, 7, ROOT)) < set(choose(every(), 120, 7, ROOT))


def test_each_package_has_its_share_and_a_small_one_enough() -> None:
    counts = Counter(place.package for place in choose(every(), 150, 7, ROOT))
    assert counts.total() == 150
    assert min(counts[package] for package in PACKAGES) >= MIN_PER_PACKAGE
    assert counts["compat"] == max(counts.values())
    assert counts["server"] >= MIN_PER_PACKAGE


def test_one_package_gets_all_of_the_count() -> None:
    core = [place for place in every() if place.package == "core"]
    assert len(choose(core, 30, 7, ROOT)) == 30


def test_more_than_there_is_gives_all_there_is() -> None:
    some = [place for place in every() if place.path == "schema/overlay.toml"]
    assert len(choose(some, 10**6, 7, ROOT)) == len(some)


def test_a_diff_shows_one_place() -> None:
    place = next(one for one in every() if one.path == "mcp_gen/core/revisions.py")
    lines = diff(place, ROOT).splitlines()
    assert lines[0] == "--- a/mcp_gen/core/revisions.py"
    assert sum(line[0] == "+" for line in lines) == 2


def test_a_change_elsewhere_keeps_the_places_of_a_seed() -> None:
    moved = [
        replace(place, text=f"{place.text} ") if place.path == "mcp_gen/core/errors.py" else place
        for place in every()
    ]
    kept = {place.id for place in choose(moved, 150, 7, ROOT)}
    before = {place.id for place in choose(every(), 150, 7, ROOT)}
    assert len(kept & before) >= 145

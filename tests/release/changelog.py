"""Cuts the section of one version out of CHANGELOG.md."""

from __future__ import annotations

import re

__all__ = ["NoSection", "section"]

_HEADING = re.compile(r"^## (?P<version>\S+)(?P<state>.*)$", re.MULTILINE)


class NoSection(Exception):
    """Raised if the changelog has no section of a version, an empty one, or several."""


def section(changelog: str, version: str) -> str:
    """Return the text of a version's section, without its heading.

    A heading is `## VERSION`, which a state in parentheses may follow: `(unreleased)` or a date.

    Raises:
        NoSection: no heading names the version, several do, or nothing stands below it.
    """
    headings = list(_HEADING.finditer(changelog))
    places = [place for place, one in enumerate(headings) if one["version"] == version]
    if len(places) != 1:
        known = ", ".join(one["version"] for one in headings) or "none"
        raise NoSection(f"expected one section `## {version}`, found {len(places)} among {known}")
    here = places[0]
    end = headings[here + 1].start() if here + 1 < len(headings) else len(changelog)
    text = changelog[headings[here].end() : end].strip()
    if not text:
        raise NoSection(f"the section `## {version}` is empty")
    return text

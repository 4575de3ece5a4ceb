"""Authorization leg: the suite against the example authorization server, with its consent page."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from urllib.parse import urlencode

from tests.conformance.server_leg import serving
from tests.conformance.suite import Cell, Outcome, Suite
from tests.support.ports import free_port

__all__ = ["LEFT_OUT", "Opener", "cells", "consent", "run"]

LEFT_OUT: Mapping[str, str] = {}
VERSIONS = ("0.2.0-alpha.12",)
"""Versions of the suite that have this leg."""

SERVER = "examples.oauth.authorization_server"
CLIENT = "conformance"
RESOURCE = "https://api.example/mcp"
PAGE_S = 20.0
_LINK = re.compile(r"^http://\S+/authorize\?\S+$")


def cells(suite: Suite, version: str) -> list[Cell]:
    """Return every scenario for authorization servers, at every revision that it is about."""
    return suite.cells("authorization", version, LEFT_OUT) if version in VERSIONS else []


def run(suite: Suite, cells: list[Cell], faults: list[str]) -> dict[Cell, Outcome]:
    """Run the cells, those of one revision in one process: its scenarios follow each other."""
    port = str(free_port())
    redirect = f"http://127.0.0.1:{port}/callback"
    # A fetcher of client metadata documents: without one the server rightly announces none.
    words = ("--client", CLIENT, redirect, "--client-host", "localhost")
    outcomes: dict[Cell, Outcome] = {}
    with serving(faults, SERVER, *words) as server:
        told = ("--url", server.origin, "--client-id", CLIENT, "-p", port, "--resource", RESOURCE)
        for of_revision in by_revision(cells):
            outcomes |= suite.outcomes(of_revision, *told, heard=Opener())
    return outcomes


def by_revision(cells: list[Cell]) -> Iterator[list[Cell]]:
    """Yield the cells of each revision and version."""
    for key in dict.fromkeys((one.suite, one.revision) for one in cells):
        yield [one for one in cells if (one.suite, one.revision) == key]


class Opener:
    """User who opens the link that the suite prints, once the suite listens, and allows."""

    def __init__(self) -> None:
        self._link = ""
        self._listens = False

    def __call__(self, line: str) -> None:
        if line.startswith("Callback server started"):
            self._listens = True
        elif _LINK.match(line):
            self._link = line.strip()
        if self._listens and self._link:
            link, self._link = self._link, ""
            consent(link)


def consent(url: str, user: str = "demo", password: str = "demo") -> None:
    """Send the form of a consent page, and follow the redirect to the client."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=PAGE_S) as page:
        form = _Form()
        form.feed(page.read().decode())
    fields = {**form.fields, "user": user, "password": password, "decision": "allow"}
    with opener.open(form.action, urlencode(fields).encode(), timeout=PAGE_S) as answer:
        answer.read()


class _Form(HTMLParser):
    """The form of a page: where it goes, and its hidden fields."""

    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "form":
            self.action = found.get("action") or ""
        elif tag == "input" and found.get("type") == "hidden":
            self.fields[found.get("name") or ""] = found.get("value") or ""

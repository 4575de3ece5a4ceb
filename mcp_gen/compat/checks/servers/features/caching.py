"""Checks of caching hints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json
from mcp_gen.compat.views.exchanges import LISTS, RequestExchange, exchanges, listings

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript

CACHEABLE = ("discover", *LISTS, "read_resource")
NOTHING = "no result came that may be kept"


@rule("caching:hints", unseen=NOTHING)
def results_say_how_long_and_by_whom_they_may_be_kept(transcript: Transcript, found: Found) -> None:
    for exchange, result in _results(transcript):
        found.saw()
        for hint in ("ttlMs", "cacheScope"):
            if result.get(hint) is None:
                found.broken(
                    f"the result of {exchange.name} has `{hint}`",
                    "it has none",
                    *exchange.events,
                    where=f"{exchange.path}.result.{hint}",
                )


@rule("caching:ttl:not-negative", unseen=NOTHING)
def times_are_not_negative(transcript: Transcript, found: Found) -> None:
    for exchange, result in _results(transcript):
        time = result.get("ttlMs")
        if isinstance(time, int | float):
            found.saw()
            if time < 0:
                found.broken(
                    "a time to live is zero or more",
                    f"{time} for {exchange.name}",
                    *exchange.events,
                    where=f"{exchange.path}.result.ttlMs",
                )


@rule("caching:scope:all-pages", unseen="no list had a second page")
def all_pages_have_one_scope(transcript: Transcript, found: Found) -> None:
    for name in LISTS:
        for walk in listings(transcript, name):
            scopes = [(page.result or {}).get("cacheScope") for page in walk.pages]
            if len(scopes) > 1:
                found.saw()
            for page, scope in zip(walk.pages, scopes, strict=True):
                if scope != scopes[0] and None not in (scope, scopes[0]):
                    found.broken(
                        f"all pages of {name} have the scope {scopes[0]!r} of the first",
                        f"a page has {scope!r}",
                        *walk.pages[0].events,
                        *page.events,
                        where=f"{page.path}.result.cacheScope",
                    )


def _results(transcript: Transcript) -> Iterator[tuple[RequestExchange, Json]]:
    """Yield the exchanges with results that may be kept, and the results."""
    for exchange in exchanges(transcript, *CACHEABLE):
        if exchange.complete is not None:
            yield exchange, exchange.complete

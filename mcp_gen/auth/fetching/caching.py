"""Responses that are kept for as long as their headers allow."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from msgspec import Struct

from mcp_gen.auth.fetching.addresses import AddressClass
from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk, Purpose

__all__ = ["AnswerCache", "fresh_s"]

_CACHED = frozenset(
    {
        Purpose.RESOURCE_METADATA,
        Purpose.SERVER_METADATA,
        Purpose.JWKS,
        Purpose.CLIENT_METADATA,
    }
)
_ABSENT = (404, 410)


class _Kept(Struct):
    answer: HttpAnswer
    reached: AddressClass | None
    configured: str | None
    since: float
    fresh_s: float


class AnswerCache:
    """Bounded cache of metadata documents and keys.

    A request with the header `cache-control: no-cache` is sent anew, and its response kept.

    Args:
        default_age_s: Seconds for which a document is kept whose headers say nothing.
        max_age_s: Maximum of seconds, whatever the headers say.
        absent_age_s: Maximum of seconds for which it is remembered that there is no document.
        max_entries: Maximum number of documents.
        max_bytes: Maximum size of all documents.
        clock: Returns seconds.

    Source: https://www.rfc-editor.org/rfc/rfc9111#section-4.2
    """

    def __init__(
        self,
        *,
        default_age_s: float = 60.0,
        max_age_s: float = 3600.0,
        absent_age_s: float = 10.0,
        max_entries: int = 100,
        max_bytes: int = 4 * 1024 * 1024,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._default_age_s = default_age_s
        self._max_age_s = max_age_s
        self._absent_age_s = absent_age_s
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._kept: dict[object, _Kept] = {}
        self._bytes = 0

    def get(self, ask: HttpAsk, configured: str | None) -> HttpAnswer | None:
        """Return the kept response to a request; None if it has to be sent.

        What came from an address that is not public is for the configured URL alone that led
        there: another one may not lead there.

        Args:
            ask: The request.
            configured: The URL that the user or operator configured; None for none.
        """
        kept = self._kept.get(_key(ask))
        if kept is None or "no-cache" in _directives(ask.headers):
            return None
        if not 0 <= self._clock() - kept.since < kept.fresh_s:
            return None
        if kept.reached is not AddressClass.PUBLIC and kept.configured != configured:
            return None
        return kept.answer

    def put(
        self,
        ask: HttpAsk,
        answer: HttpAnswer,
        reached: AddressClass | None,
        configured: str | None,
    ) -> None:
        """Keep a response, if its headers and the purpose of the request allow it.

        Args:
            ask: The request.
            answer: The response.
            reached: The class of the address that it came from; None if it is not known.
            configured: The URL that the user or operator configured; None for none.
        """
        key = _key(ask)
        self._drop(key)
        age_s = self._age_s(ask, answer)
        size = len(answer.body)
        if age_s <= 0 or size > self._max_bytes:
            return
        while self._kept and (
            len(self._kept) >= self._max_entries or self._bytes + size > self._max_bytes
        ):
            self._drop(next(iter(self._kept)))
        self._kept[key] = _Kept(answer, reached, configured, self._clock(), age_s)
        self._bytes += size

    def _drop(self, key: object) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept.answer.body)

    def _age_s(self, ask: HttpAsk, answer: HttpAnswer) -> float:
        if ask.method != "GET" or ask.purpose not in _CACHED or "authorization" in ask.headers:
            return 0.0
        if answer.status == 200:
            default_s, max_s = self._default_age_s, self._max_age_s
        elif answer.status in _ABSENT:
            default_s = max_s = self._absent_age_s
        else:
            return 0.0
        said = fresh_s(answer.headers)
        return min(default_s if said is None else said, max_s)


def fresh_s(headers: Mapping[str, str]) -> float | None:
    """Return the seconds for which a response may be kept, by its headers; None if none says.

    Args:
        headers: The response headers, names in lower case.

    Source: https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1
    """
    directives = _directives(headers)
    if "no-store" in directives or "no-cache" in directives or "*" in headers.get("vary", ""):
        return 0.0
    if "max-age" in directives:
        said = _seconds(directives["max-age"])
    elif "expires" in headers:
        said = _until(headers["expires"], headers.get("date", ""))
    else:
        return None
    return max(0.0, said - _seconds(headers.get("age", "0")))


def _directives(headers: Mapping[str, str]) -> Mapping[str, str]:
    pairs = (one.partition("=") for one in headers.get("cache-control", "").lower().split(","))
    found: dict[str, str] = {}
    for name, _, value in pairs:
        # The first of several counts.
        found.setdefault(name.strip(), value.strip().strip('"'))
    return found


def _seconds(text: str) -> float:
    text = text.strip()
    # What is no number is stale already.
    return float(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0.0


def _until(expires: str, date: str) -> float:
    """Return the seconds between two times of the server's clock; 0 if one is no time."""
    try:
        return (parsedate_to_datetime(expires) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _key(ask: HttpAsk) -> object:
    others = sorted(one for one in ask.headers.items() if one[0] != "cache-control")
    return ask.url.partition("#")[0], tuple(others)

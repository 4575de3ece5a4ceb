"""Accounts of one session: what was asked, what was answered, and whether it fits."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import mcp_wire
from tests.fuzz.findings import Findings
from tests.fuzz.reading import Reading, id_key, read
from tests.fuzz.values import is_array, is_object
from tests.support.checks.watch import Watch

__all__ = ["INTERNAL", "Ledger"]

INTERNAL = -32603


class Ledger:
    """Accounts of one session.

    Args:
        revision: Revision of the session.
    """

    findings: Findings
    """Told what does not fit."""

    def __init__(self, revision: str) -> None:
        self._revision = revision
        self._batches: bool | None = mcp_wire.profile(revision).allows_batches
        self._settled = mcp_wire.profile(revision).handshake is not None
        self._watch = Watch(revision if self._settled else None)
        self._must: Counter[str] = Counter()
        self._may: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()
        self._cancelled: set[str] = set()
        self._elsewhere: set[str] = set()
        """Ids of handshakes beside the session's own."""
        self._anonymous = 0
        self._asked_by: dict[str, int] = {}
        self.questions: dict[str, dict[str, Any]] = {}
        """Requests of the server that have no sure answer yet, by the key of their id."""

    # --- what the client sends ---

    def sent(self, data: bytes, index: int | None) -> Reading:
        """Take note of a message; returns what it asks for."""
        if not self._settled and b"initialize" in data:
            # A handshake in a session that needs none decides what later arrays are.
            self._batches = None
        found = read(data, batches=self._batches)
        self._must.update(found.must)
        self._may.update(found.may)
        self._anonymous += found.anonymous
        self._cancelled.update(found.cancels)
        if index is not None:
            self._asked_by |= dict.fromkeys([*found.must, *found.may], index)
        if self._settled and index is not None and b"initialize" in data:
            # Over HTTP another handshake opens another session, of a revision of its own.
            self._elsewhere.update([*found.must, *found.may])
        elif not data.lstrip().startswith(b"[") or self._batches:
            # It would take the entries of an array for requests.
            self._watch.saw("client", data)
            self._watch.violations.clear()
        return found

    def settled_questions(self, key: str) -> None:
        """Take note that a question has got an answer that ends it for sure."""
        self.questions.pop(key, None)

    def is_plain(self, data: bytes) -> bool:
        """Return True if every reader reads the message in the same way."""
        found = read(data, batches=False)
        return not found.anonymous and not found.may

    def index_of(self, key: str) -> int | None:
        """Return the input that asked with this id."""
        return self._asked_by.get(key)

    # --- what the server sends ---

    def came(self, data: bytes) -> list[dict[str, Any]]:
        """Take note of a message of the server; returns its parts."""
        try:
            value = json.loads(data.decode(), parse_constant=_refuse)
        except ValueError as error:
            self.findings.add("invalid", f"not JSON: {error}: {data[:200]!r}")
            return []
        parts = value if is_array(value) else [value]
        sure = [self._take(part, data) for part in parts]
        if any(is_object(part) and id_key(part.get("id")) in self._elsewhere for part in parts):
            return [part for part in parts if is_object(part)]
        self._watch.saw("server", data)
        if all(sure):
            for one in self._watch.violations:
                self.findings.add("invalid", f"{one}: {data[:300]!r}", self._index(parts[0]))
        self._watch.violations.clear()
        return [part for part in parts if is_object(part)]

    def _take(self, part: Any, data: bytes) -> bool:
        """Count one message; returns True if it is sure which request it belongs to."""
        if not is_object(part):
            self.findings.add("invalid", f"no object: {data[:200]!r}")
            return False
        if "method" in part:
            if "id" in part:
                self.questions[id_key(part["id"])] = part
            return True
        self._look_at_error(part)
        if "id" not in part:
            self._anonymous -= 1
            if self._anonymous < 0:
                self.findings.add("unasked", f"an error that nothing asked for: {data[:300]!r}")
            return True
        key = id_key(part["id"])
        self._answered[key] += 1
        if self._answered[key] > self._must[key] + self._may[key]:
            again = "again" if self._must[key] else "what was not asked"
            what = f"answers {again}: {data[:300]!r}"
            self.findings.add("unasked", what, self._index(part))
        return self._must[key] + self._may[key] == 1

    def _look_at_error(self, part: dict[str, Any]) -> None:
        error = part.get("error")
        if is_object(error) and error.get("code") == INTERNAL:
            self.findings.add("internal", json.dumps(error)[:500], self._index(part))

    def refused(self, data: bytes) -> None:
        """Take note of an error that refuses an HTTP request, whatever it carries."""
        try:
            part = json.loads(data.decode(), parse_constant=_refuse)
        except ValueError:
            return  # It may be a text for people.
        if is_object(part):
            self._look_at_error(part)

    def _index(self, part: Any) -> int | None:
        id = part.get("id") if is_object(part) else None
        return self._asked_by.get(id_key(id))

    def is_settled(self, key: str) -> bool:
        """Return True if this id needs no further answer."""
        return self._answered[key] >= self._must[key] or key in self._cancelled

    def excuse(self, reading: Reading) -> None:
        """Demand no answers to a message that was refused by other means."""
        self._cancelled.update(reading.must)

    def excuse_all(self) -> None:
        """Demand no answer to what is open: the session has ended."""
        self._cancelled.update(self._must)

    def begin(self) -> None:
        """Begin a new session: ids that were used in the one before may be used in it.

        Not when that one ends, as more of it may be heard until the new one is opened.
        """
        self._watch.renew()

    # --- at the end ---

    def missing(self) -> list[str]:
        """Return the ids that still need an answer."""
        return [
            key
            for key, number in self._must.items()
            if self._answered[key] < number and key not in self._cancelled
        ]

    def close(self) -> None:
        """Report what has got no answer."""
        for key in self.missing():
            number = self._must[key] - self._answered[key]
            what = f"{number} of {self._must[key]} requests got no answer: id {key[:100]}"
            self.findings.add("unanswered", what, self._asked_by.get(key))
            self._must[key] = self._answered[key]


def _refuse(text: str) -> Any:
    raise ValueError(text)

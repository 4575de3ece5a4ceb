"""Patience with one server: how long its answers are waited for, at all revisions together."""

from __future__ import annotations

__all__ = ["Patience", "Waits"]

SHORTER = 0.2
"""Part of the longest wait that is left where one was in vain."""
LEAST_S = 0.2
START_S = 20.0
"""Longest wait for the first answer of a process of which none has started yet, in seconds."""
SLOWEST_FACTOR = 3.0
"""Every wait is at least this many times that of the slowest answer so far."""


class Patience:
    """Longest wait for answers of one server, and what it was in vain for.

    Args:
        timeout_s: Longest wait for an answer, in seconds, of a server that answers at once.
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self.in_vain: set[str] = set()
        """Names of the turns, such as checks, in which an answer did not come in time."""
        self._slowest_s = 0.0
        self._slowest_start_s: float | None = None
        self._opens_in_vain = False

    def heard(self, waited_s: float, *, is_first: bool = False) -> None:
        """Note that an answer came.

        Args:
            waited_s: After how many seconds.
            is_first: True for the first one of a process, which had to start.
        """
        if is_first:
            self._slowest_start_s = max(self._slowest_start_s or 0.0, waited_s)
        else:
            self._slowest_s = max(self._slowest_s, waited_s)

    def open_in_vain(self) -> None:
        """Note that the request that opens a connection was not answered in time."""
        self._opens_in_vain = True

    @property
    def open_s(self) -> float:
        """Longest wait for the first answer on a connection, in seconds."""
        return self.shorter_s if self._opens_in_vain else self.longest_s

    @property
    def slow_s(self) -> float:
        """Shortest wait that is long enough for the slowest answer so far, in seconds."""
        return min(self._slowest_s * SLOWEST_FACTOR, START_S)

    @property
    def longest_s(self) -> float:
        """Longest wait for an answer, in seconds: longer where answers have been slow."""
        return max(self.timeout_s, self.slow_s)

    @property
    def start_s(self) -> float:
        """Longest wait for the first answer of a process, in seconds."""
        if self._slowest_start_s is not None:
            return max(self.open_s, self._slowest_start_s * SLOWEST_FACTOR)
        return self.open_s if self._opens_in_vain else max(self.longest_s, START_S)

    @property
    def shorter_s(self) -> float:
        """Longest wait where an earlier one was in vain, in seconds."""
        least_s = max(LEAST_S, self.timeout_s * SHORTER, self.slow_s)
        return min(self.longest_s, least_s)


class Waits:
    """Waits at one revision: the first one in vain of a turn is the only one of full length.

    Args:
        patience: What is known of the server at all revisions.
    """

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.count = 0
        """Number of waits in vain in this turn."""
        self._shortest_s = 0.0
        self._turn = ""

    def begin(self, turn: str) -> None:
        """Begin a turn, such as a check, by its name."""
        self._turn = turn
        self.count = 0

    @property
    def timeout_s(self) -> float:
        """Longest wait for an answer now, in seconds."""
        is_known = self.count > 0 or self._turn in self.patience.in_vain
        return self.patience.shorter_s if is_known else self.patience.longest_s

    @property
    def is_doubtful(self) -> bool:
        """True if a wait of this turn is in vain, and would be longer now.

        An answer has come since that was slow: one more may only be late.
        """
        return self.count > 0 and self._shortest_s < self.patience.slow_s

    def in_vain(self, waited_s: float) -> None:
        """Note that an answer did not come in time.

        Args:
            waited_s: After how many seconds.
        """
        self._shortest_s = min(waited_s, self._shortest_s) if self.count else waited_s
        self.count += 1
        self.patience.in_vain.add(self._turn)

"""Memory of the proofs that a server has accepted, so that none is accepted twice."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from heapq import heappop, heappush
from math import ceil

from mcp_gen.core.errors import UsageError

__all__ = ["SeenProofs"]


class SeenProofs:
    """Remembers accepted proofs for as long as their `iat` would be accepted.

    Each is about 200 bytes. When it is full, further proofs are refused until old ones have ended:
    forgetting one would allow its replay. A key has a limit of its own, so that one client cannot
    shut out the others. Only a proof of a valid token gets here, so only clients that have one can
    fill it. It belongs to one event loop; processes do not share it: give them a load balancer
    that sends a client to one of them, or demand nonces with a short life.

    Args:
        max_proofs: Proofs of all keys that are remembered.
        max_per_key: Proofs of one key that are remembered.

    Source: https://www.rfc-editor.org/rfc/rfc9449.html#section-11.1
    """

    def __init__(self, max_proofs: int = 200_000, max_per_key: int = 50_000) -> None:
        if not 0 < max_per_key <= max_proofs:
            raise UsageError("max_per_key is at least 1 and at most max_proofs")
        self.max_proofs = max_proofs
        self.max_per_key = max_per_key
        self._known: set[bytes] = set()
        self._per_key: dict[bytes, int] = {}
        self._ending: defaultdict[int, list[tuple[bytes, bytes]]] = defaultdict(list)
        self._seconds: list[int] = []

    def __len__(self) -> int:
        return len(self._known)

    def is_full(self, thumbprint: str, now: float) -> bool:
        """Return True if no further proof of a key can be remembered.

        Args:
            thumbprint: Thumbprint of the key.
            now: Seconds since 1970.
        """
        self._forget(now)
        of_key = self._per_key.get(_digest(thumbprint), 0)
        return len(self._known) >= self.max_proofs or of_key >= self.max_per_key

    def add(self, thumbprint: str, proof_id: str, *, until: float, now: float) -> bool:
        """Remember a proof, and return True if it is new.

        Args:
            thumbprint: Thumbprint of its key.
            proof_id: Its `jti`.
            until: When its `iat` is too old, in seconds since 1970.
            now: Seconds since 1970.

        Returns:
            False if it was seen before, or cannot be remembered.
        """
        if self.is_full(thumbprint, now):
            return False
        key = _digest(thumbprint)
        # The thumbprint stands first: no client can use up the ids of another.
        proof = _digest(f"{thumbprint} {proof_id}")
        if proof in self._known:
            return False
        self._known.add(proof)
        self._per_key[key] = self._per_key.get(key, 0) + 1
        second = ceil(until)
        if second not in self._ending:
            heappush(self._seconds, second)
        self._ending[second].append((key, proof))
        return True

    def _forget(self, now: float) -> None:
        while self._seconds and self._seconds[0] < now:
            for key, proof in self._ending.pop(heappop(self._seconds)):
                self._known.discard(proof)
                left = self._per_key[key] - 1
                if left:
                    self._per_key[key] = left
                else:
                    del self._per_key[key]

    def __repr__(self) -> str:
        return f"SeenProofs({len(self)} of {self.max_proofs}, of {len(self._per_key)} keys)"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:16]

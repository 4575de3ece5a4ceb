"""Agreement of all nodes on the stream that carries messages of no request."""

from __future__ import annotations

__all__ = ["Claims"]


class Claims:
    """Streams of one session that are open for messages of no request, on all nodes.

    Nodes claim through the bus. All hear the claims in one order, and the last one counts, so that
    they agree on the owner without asking.
    """

    __slots__ = ("_claims", "owner")

    def __init__(self) -> None:
        self._claims: dict[tuple[str, str], int] = {}
        """Number of the response that carries each stream, by node and name."""
        self.owner: str | None = None
        """Node that sends the messages; None if no stream is known."""

    def claim(self, node: str, stream: str, number: int) -> None:
        """Add a stream that a node has opened: it is the owner from now on."""
        key = node, stream
        self._claims.pop(key, None)
        self._claims[key] = number
        self.owner = node

    def leave(self, node: str, stream: str, number: int) -> None:
        """Remove a stream that has ended, unless a later response of the node carries it."""
        if self._claims.get((node, stream)) == number:
            del self._claims[node, stream]
            self._find_owner()

    def drop(self, node: str) -> None:
        """Remove the streams of a node that is gone."""
        for key in [key for key in self._claims if key[0] == node]:
            del self._claims[key]
        self._find_owner()

    def clear(self) -> None:
        """Forget all: claims may have been missed."""
        self._claims.clear()
        self.owner = None

    def _find_owner(self) -> None:
        self.owner = next(reversed(self._claims))[0] if self._claims else None

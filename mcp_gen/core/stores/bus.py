"""Bus contract: messages to all nodes of a cluster in one order, and questions to one node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

__all__ = ["Bus", "BusMessage"]


class BusMessage(NamedTuple):
    """A message to all nodes.

    Args:
        offset: Place of the message in the order of all messages.
        node: The node that published it.
        topic: Its topic.
        body: Its content.
    """

    offset: str
    node: str
    topic: str
    body: bytes


class Bus(Protocol):
    """Carries messages between the nodes of a cluster.

    Every node gets all published messages in one order, its own included. Where messages may have
    been lost, every callback of `on_gap` is called before the next message.
    """

    @property
    def is_up(self) -> bool:
        """True while messages are received and can be published."""
        ...

    async def publish(self, topic: str, body: bytes) -> str:
        """Send a message to all nodes.

        Args:
            topic: Topic of the message.
            body: Content of the message.

        Returns:
            The offset of the message.

        Raises:
            BusDown: The bus cannot be reached; the message may have been published.
        """
        ...

    async def ask(self, node: str, topic: str, body: bytes, timeout_s: float = 0.5) -> bytes:
        """Send a question to a node and return its answer.

        Args:
            node: The node to ask.
            topic: Topic of the question.
            body: Content of the question.
            timeout_s: Seconds to wait for the answer.

        Raises:
            NodeGone: The node's lease has lapsed.
            NodeSilent: There was no answer in time; the node may have acted on the question.
            BusDown: The bus cannot be reached.
        """
        ...

    def on(self, topic: str, handler: Callable[[BusMessage], None]) -> Callable[[], None]:
        """Call a function with each message of a topic, in the order of the bus.

        Returns:
            A function that ends this.
        """
        ...

    def answer(
        self, topic: str, handler: Callable[[str, bytes], Awaitable[bytes]]
    ) -> Callable[[], None]:
        """Answer the questions of a topic.

        Args:
            topic: Topic of the questions.
            handler: Called with the node that asks and the content. If it fails, there is no
                answer: the node that asks gets NodeSilent.

        Returns:
            A function that ends this.
        """
        ...

    def on_gap(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function when messages may have been lost; return a function that ends this."""
        ...

    def on_down(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the bus goes down; return a function that ends this."""
        ...

    def on_up(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the bus is up again; return a function that ends this."""
        ...

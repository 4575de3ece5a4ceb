"""Plan of a storm: how long, how many, and what fails."""

from __future__ import annotations

from dataclasses import dataclass

import mcp_wire

__all__ = ["LIMIT_S", "SABOTAGE", "Plan"]

LIMIT_S = 20.0
"""Seconds within which each request has its answer or its error."""

SABOTAGE = ("unfenced", "send-first", "pubsub")
"""Faults that a node can be built with: each must be found."""


@dataclass(frozen=True)
class Plan:
    """One storm.

    Args:
        seed: What chance is made of.
        seconds: Duration of the faults.
        nodes: Number of nodes behind the balancer.
        clients: Number of clients that write frames themselves.
        official: Number of clients of the official SDK.
        cluster: True gives the nodes a shared store; False leaves each to itself.
        fault_every_s: Seconds between two faults of nodes; None leaves them alone.
        stop_s: Seconds that a stopped node stands still: longer than its lease.
        store_faults: True stops, restarts and empties the store, too, and cuts nodes off from it.
        sabotage: Fault that the nodes are built with; empty for none.
        revisions: Revisions of the clients that write frames.
        settle_s: Seconds after the last fault in which clients finish.
        rest_s: Mean seconds that a client rests between two requests.
    """

    seed: int
    seconds: float = 90.0
    nodes: int = 3
    clients: int = 60
    official: int = 6
    cluster: bool = True
    fault_every_s: float | None = 4.0
    stop_s: float = 8.0
    store_faults: bool = True
    sabotage: str = ""
    revisions: tuple[str, ...] = mcp_wire.REVISIONS
    settle_s: float = 13.0
    rest_s: float = 0.6

    @property
    def command(self) -> str:
        """Options that repeat this storm."""
        words = [f"--seed {self.seed}", f"--seconds {self.seconds:g}"]
        if self.sabotage:
            words.append(f"--sabotage {self.sabotage}")
        return " ".join(words)

"""Errors of a cluster's stores and bus, and the check that a store has the methods of a cluster.

McpGenError
├── StoreDown      a shared store cannot be reached, or does not answer in time
│   └── BusDown    nor can the bus; also a BusError
└── BusError       a node cannot be asked
    ├── NodeGone   its lease has lapsed
    ├── NodeSilent it did not answer in time
    └── BusDown    the bus cannot be reached
"""

from __future__ import annotations

from mcp_gen.core.errors import McpGenError, UsageError

__all__ = ["BusDown", "BusError", "NodeGone", "NodeSilent", "StoreDown", "require_methods"]


class StoreDown(McpGenError):
    """A shared store cannot be reached, or does not answer in time.

    It is not known if the operation took place.
    """


class BusError(McpGenError):
    """A question to another node has no answer."""


class NodeGone(BusError):
    """The node's lease has lapsed: it has ended, or it is cut off from the others."""


class NodeSilent(BusError):
    """The node holds its lease, but did not answer in time."""


class BusDown(BusError, StoreDown):
    """The bus cannot be reached."""


def require_methods(store: object, contract: type, used_for: str) -> None:
    """Check that a store has every method of a contract.

    Args:
        store: A store that a user has given.
        contract: The Protocol that it must implement.
        used_for: Option that needs the contract, such as `cluster=`.

    Raises:
        UsageError: A method is missing.
    """
    wanted = {
        name
        for base in contract.__mro__
        if getattr(base, "_is_protocol", False)
        for name in vars(base)
        if not name.startswith("_")
    }
    missing = sorted(name for name in wanted if not callable(getattr(store, name, None)))
    if missing:
        raise UsageError(
            f"{used_for}: {type(store).__name__} has no {', '.join(missing)}: implement "
            f"{contract.__module__}.{contract.__name__}, or leave the store out"
        )

"""One peer of the zoo as a program over stdin and stdout.

python -m mcp_gen.compat.zoo ID --breaks --revision REVISION
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

import mcp_wire
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.zoo.zoo import zoo
from mcp_gen.transports.stdio import StdioTransport

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> None:
    """Serve one client over stdin and stdout until it closes stdin.

    Args:
        words: The arguments of the command line; None: those of this process.
    """
    parser = argparse.ArgumentParser(description="Serve one client as a server of the zoo.")
    parser.add_argument("id", choices=zoo(), metavar="ID")
    parser.add_argument("--revision", default=mcp_wire.REVISIONS[-1], choices=mcp_wire.REVISIONS)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--breaks", action="store_true", help="the one that breaks the requirement")
    which.add_argument("--keeps", action="store_true", help="its twin, which keeps it")
    args = parser.parse_args(words)
    pair = zoo()[args.id]
    server = (pair.breaks if args.breaks else pair.keeps)(args.revision)
    asyncio.run(DuplexServing(server, "stdio").serve(StdioTransport()))


if __name__ == "__main__":
    main()

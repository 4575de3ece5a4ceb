"""Program that is a strict server, or a server of the zoo, for one client on stdin and stdout.

    python -m mcp_gen.compat.reference.program REVISION MODULE:CLASS [FOLDER]

The folder takes the transcript; see `ServerPeer`.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.transcript_log import log_to
from mcp_gen.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from mcp_gen.compat.reference.server import ReferenceServer

__all__ = ["main"]


def main(words: list[str]) -> None:
    """Serve one client until it closes stdin.

    Args:
        words: The revision, the class of the server, and the folder of transcripts, if any.
    """
    revision, name, *folder = words
    module, _, kind = name.partition(":")
    made: type[ReferenceServer] = getattr(import_module(module), kind)
    serving = DuplexServing(made(revision), "stdio")
    if folder:
        serving.transcript.listen(log_to(Path(folder[0])))
    asyncio.run(serving.serve(StdioTransport()))


if __name__ == "__main__":
    main(sys.argv[1:])

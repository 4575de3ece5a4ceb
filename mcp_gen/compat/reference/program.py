"""Programs that are a server for one client on stdin and stdout, and what they have in common.

    python -m mcp_gen.compat.reference.program MODULE:CLASS --revision REVISION [--into FOLDER]

The folder takes the transcript; see `ServerPeer`.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.transcript_files import count_transcripts, write_transcript
from mcp_gen.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from mcp_gen.compat.reference.server import ReferenceServer

__all__ = ["main", "program_arguments", "serve_stdio"]


def program_arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that all programs have: `--revision` and `--into`.

    Args:
        description: The description of the program.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--revision", default=mcp_wire.LATEST, choices=mcp_wire.REVISIONS)
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="where the transcript goes")
    return parser


def serve_stdio(server: ReferenceServer, into: Path | None) -> None:
    """Serve one client over stdin and stdout until it closes stdin.

    Args:
        server: The server.
        into: Folder for the transcript, and for those of other processes of the client; None for
            none.

    Raises:
        SystemExit: the server has left its client.
    """
    serving = DuplexServing(server, "stdio")
    if into is not None:
        server.earlier = count_transcripts(into)
        write_transcript(serving.transcript, into)
    asyncio.run(serving.serve(StdioTransport()))
    if serving.has_left:
        raise SystemExit(1)


def main(words: Sequence[str] | None = None) -> None:
    """Serve one client.

    Args:
        words: The arguments of the command line; None: those of this process.
    """
    parser = program_arguments("Serve one client as a strict server.")
    parser.add_argument("kind", metavar="MODULE:CLASS", help="class of the server")
    args = parser.parse_args(words)
    module, _, name = args.kind.partition(":")
    kind: type[ReferenceServer] = getattr(import_module(module), name)
    serve_stdio(kind(args.revision), args.into)


if __name__ == "__main__":
    main()

"""Program with the server of one scenario over stdin and stdout; it writes its transcript.

python -m mcp_gen.compat.scenarios.program --revision REVISION --scenario ID --into FOLDER
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

import mcp_wire
from mcp_gen.compat.checks.client_run import STRICT
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.scenarios.scenario import scenario_of
from mcp_gen.compat.scenarios.transcript_files import write_transcript
from mcp_gen.transports.stdio import StdioTransport

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> None:
    """Serve one client over stdin and stdout until it closes stdin.

    Args:
        words: The arguments of the command line; None: those of this process.
    """
    parser = argparse.ArgumentParser(description="Serve one client in a scenario of the doctor.")
    parser.add_argument("--revision", default=mcp_wire.REVISIONS[-1], choices=mcp_wire.REVISIONS)
    parser.add_argument("--scenario", default=STRICT, metavar="ID")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="where the transcript goes")
    args = parser.parse_args(words)
    server = scenario_of(args.scenario).server(args.revision)
    serving = DuplexServing(server, "stdio")
    if args.into is not None:
        write_transcript(serving.transcript, args.into)
    asyncio.run(serving.serve(StdioTransport()))


if __name__ == "__main__":
    main()

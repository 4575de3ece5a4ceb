"""Program that runs the server of a cell for one client, and records what passes.

python -m mcp_gen.compat.matrix.tapped FOLDER RECORDING COMMAND...
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp_gen.compat.recordings.redactor import Redactor
from mcp_gen.compat.recordings.taps.command import tap_command
from mcp_gen.compat.recordings.writer import RecordingWriter, new_file

__all__ = ["main"]


def main(words: list[str]) -> int:
    """Serve one client, and return the exit code of the server.

    Args:
        words: The folder in which the server runs, the file of the recording, and the command.
    """
    folder, path, *command = words
    file, _ = new_file(Path(path))
    writer = RecordingWriter(file, Redactor(), transport="stdio", server=command[0])
    os.chdir(folder)
    try:
        return tap_command(command, writer)
    finally:
        writer.aclose()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

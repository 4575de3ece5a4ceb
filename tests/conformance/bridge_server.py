"""A bridge in front of the server of this folder, which speaks one revision alone.

`python -m tests.conformance.bridge_server --port 8000 --revision 2025-11-25` serves it over HTTP.
The server behind it is a process of its own, over HTTP too.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_gen.compat.bridge.bridge import Bridge
from tests.conformance.server_leg import ServerUnderTest


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--revision", required=True)
    told = parser.parse_args()
    with TemporaryDirectory() as folder:
        server = ServerUnderTest(Path(folder) / "log", "server", "--revision", told.revision)
        try:
            Bridge(server.url).run("http", host="127.0.0.1", port=told.port)
        finally:
            for fault in server.end():
                print("Traceback: behind the bridge:", fault)


if __name__ == "__main__":
    main()

"""Relay in front of the quickstart server that adds icons to every tool, at any revision."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

QUICKSTART = Path(__file__).parents[3] / "examples/quickstart_server.py"


def forward(source: IO[str], sink: IO[str]) -> None:
    for line in source:
        sink.write(line)
        sink.flush()
    sink.close()


def main() -> None:
    command = [sys.executable, str(QUICKSTART)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        threading.Thread(target=forward, args=(sys.stdin, server.stdin)).start()
        for line in server.stdout:
            frame = json.loads(line)
            for tool in frame.get("result", {}).get("tools", ()):
                tool["icons"] = [{"src": "https://example.org/icon.png"}]
            print(json.dumps(frame), flush=True)


main()

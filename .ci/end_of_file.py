"""Make text files end with one newline: `python .ci/end_of_file.py FILE...`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["main"]


def main(files: Iterable[str]) -> int:
    """Mend the files that end otherwise, and print their names; return 1 if there were any."""
    code = 0
    for path in map(Path, files):
        data = path.read_bytes()
        mended = data.rstrip() + b"\n" if data.strip() else b""
        if mended != data:
            path.write_bytes(mended)
            print(f"mended the end of {path}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

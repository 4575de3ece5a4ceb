"""Fill in pages of docs/ anew: `python -m tests.docs tools resources`, or all of them.

Read the difference before you commit it: the tests compare what a page shows with what happens.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.pages import filled_in, pages


def main(names: list[str]) -> None:
    """Write the pages of these names."""
    for page in pages():
        if page.name != "README.md" and (not names or page.stem in names):
            with tempfile.TemporaryDirectory() as folder:
                page.write_text(filled_in(page, Path(folder)), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

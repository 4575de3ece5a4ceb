"""Check that a release is described: `python -m tests.release [VERSION]` prints its changes.

VERSION is the one to release. Without it, the version in pyproject.toml is taken.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from tests.release.changelog import NoSection, section

__all__ = ["main"]

ROOT = Path(__file__).parents[2]


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Print the changelog section of the version; return 1 if there is none to release."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    version = project["version"]
    wanted = arguments[0] if arguments else version
    if wanted != version:
        print(f"asked to release {wanted}, but pyproject.toml says {version}", file=sys.stderr)
        return 1
    try:
        text = section((root / "CHANGELOG.md").read_text("utf-8"), version)
    except NoSection as error:
        print(f"CHANGELOG.md: {error}", file=sys.stderr)
        return 1
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

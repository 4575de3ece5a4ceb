"""The generated package of an invented extension, from the schema and facts beside this file."""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from codegen.__main__ import main

__all__ = ["made", "parcels"]

HERE = Path(__file__).parent


def made(extension: Path) -> Any:
    """Return the package of an extension in a folder, by the folder's name."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--root", str(HERE.parents[1]), "--extension", str(extension)]
        assert main([*arguments, "--out", folder]) == 0
        sys.path.insert(0, folder)
        try:
            return import_module(extension.name)
        finally:
            sys.path.remove(folder)


parcels = made(HERE / "parcels")

"""The package of an extension that nobody has, made from its schema and facts beside this file."""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from codegen.__main__ import main

__all__ = ["parcels"]

HERE = Path(__file__).parent


def _made(name: str) -> Any:
    folder = tempfile.TemporaryDirectory()
    arguments = ["--root", str(HERE.parents[1]), "--extension", str(HERE / name)]
    assert main([*arguments, "--out", folder.name]) == 0
    sys.path.insert(0, folder.name)
    try:
        package = import_module(name)
    finally:
        sys.path.remove(folder.name)
        folder.cleanup()
    return package


parcels = _made("parcels")

"""Programs of the guides as modules, for tests that use them with other peers."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tests.docs.pages import SNIPPETS


@contextmanager
def program(page: str, name: str) -> Generator[Any]:
    """Import a program of a page anew, with its neighbours; they are forgotten afterwards.

    Args:
        page: Name of the page, such as `asking`.
        name: Name of the program, such as `travel`.
    """
    folder = str(SNIPPETS / page)
    # Other tests may have imported modules of these names.
    names = [path.stem for path in (SNIPPETS / page).glob("*.py")]
    others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    before = set(sys.modules)
    sys.path.insert(0, folder)
    try:
        yield import_module(name)
    finally:
        sys.path.remove(folder)
        for added in set(sys.modules) - before:
            if str(getattr(sys.modules[added], "__file__", "")).startswith(folder):
                del sys.modules[added]
        sys.modules.update(others)

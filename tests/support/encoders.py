"""The encoders of the extra `fast`, and their absence."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from mcp_gen.core import text_encoding

__all__ = ["encoders", "with_and_without_fast"]

with_and_without_fast = pytest.mark.parametrize("fast", [True, False], ids=["fast", "plain"])


@contextmanager
def encoders(*, fast: bool) -> Generator[None]:
    """Encode long values with the installed encoders, or without those of `fast`."""
    hidden = {} if fast else {"orjson": None, "pybase64": None}
    with patch.dict(sys.modules, hidden):
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    text_encoding.writer.cache_clear()
    text_encoding.fast_base64.cache_clear()

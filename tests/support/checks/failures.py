"""Runs one check for many names, and collects every failure with its reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from textwrap import shorten
from typing import TypeVar

import pytest

MAX_CHARACTERS = 400

T = TypeVar("T")


def failures(names: Iterable[T], check: Callable[[T], object]) -> dict[T, str]:
    """Return the reason for each name whose check raises; an error hides no other name's.

    A test of thousands of names has one item with this, where parametrization has thousands.

    Raises:
        LookupError: there are no names, so that the check shows nothing.
    """
    to_check = [*names]
    if not to_check:
        raise LookupError("expected at least one name to check")
    found: dict[T, str] = {}
    for name in to_check:
        try:
            check(name)
        except (Exception, pytest.fail.Exception) as error:
            found[name] = shorten(f"{type(error).__name__}: {error}", MAX_CHARACTERS)
    return found

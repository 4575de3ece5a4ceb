"""Parameters of functions: what `inspect.signature` finds, also where it is not asked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from mcp_gen.server.functions.function import inspect_function


def nothing() -> None: ...


def required(a: int, b: str) -> None: ...


def some_optional(a: int, b: str = "b", c: int | None = None) -> None:
    left = a  # a local variable is no parameter
    del left


def all_optional(a: int = 1, b: int = 2) -> None: ...


def by_keyword(a: int, b: int = 2, *, c: int, d: int = 4, e: int) -> None: ...


def by_keyword_alone(*, c: int = 3, d: int) -> None: ...


def by_position(a: int, /, b: int = 2) -> None: ...


def more(a: int, *others: int, b: int = 2, **named: int) -> None: ...


def named(a: int, **named: int) -> None: ...


async def waiting(a: int, b: int = 2) -> None: ...


@functools.wraps(some_optional)
def wrapped(*args: Any, **kwargs: Any) -> Any: ...


def declared(a: int, b: int) -> None: ...


vars(declared)["__signature__"] = inspect.signature(required)


class Methods:
    def bound(self, a: int, b: int = 2) -> None: ...

    @staticmethod
    def static(a: int, b: int = 2) -> None: ...

    def __call__(self, a: int, *, b: int = 2) -> None: ...


@pytest.mark.parametrize(
    "function",
    [
        nothing,
        required,
        some_optional,
        all_optional,
        by_keyword,
        by_keyword_alone,
        by_position,
        more,
        named,
        waiting,
        wrapped,
        declared,
        Methods().bound,
        Methods.static,
        Methods(),
        functools.partial(some_optional, 1),
        lambda a, b=2: None,
    ],
    ids=lambda one: getattr(one, "__name__", type(one).__name__),
)
def test_parameters_are_those_of_inspect_signature(function: Callable[..., Any]) -> None:
    read = [(one.name, one.kind, one.default) for one in inspect_function(function).parameters]
    expected = inspect.signature(function).parameters.values()
    assert read == [(one.name, one.kind, one.default) for one in expected]

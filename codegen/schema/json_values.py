"""JSON values as Python has them, told apart for type checkers."""

from typing import Any, TypeAlias, TypeGuard

Object: TypeAlias = dict[str, Any]
"""A JSON object: a schema, or a table of schemas or facts."""


def is_object(value: Any) -> TypeGuard[Object]:
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)

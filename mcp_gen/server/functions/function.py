"""What is known of a function from its definition: name, docstring, parameters, annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, partial
from types import CodeType, NoneType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    get_args,
    get_origin,
    get_type_hints,
)

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.blocking import BlockingContext
from mcp_gen.server.context.context import Context

__all__ = ["NO_DEFAULT", "FunctionInfo", "inspect_function"]

NO_DEFAULT: Any = inspect.Parameter.empty
"""What stands where a parameter has no default, and where the result has no annotation."""

# Names that programs often import for type checkers alone.
_OURS = {"Context": Context, "BlockingContext": BlockingContext}


class FunctionInfo(NamedTuple):
    """A function, method, partial or callable object, as its definition has it."""

    function: Callable[..., Any]
    """What is to be called."""
    definition: Callable[..., Any]
    """The function, or class, whose source says what it takes."""
    name: str
    parameters: list[inspect.Parameter]
    """What is left to pass: neither `self`, nor what a partial has bound."""
    hints: dict[str, Any]
    """Annotations by parameter, and `return`; all names are looked up."""

    @property
    def doc(self) -> str | None:
        """The docstring."""
        return self.definition.__doc__

    @property
    def is_async(self) -> bool:
        """Whether a call has to be awaited."""
        return inspect.iscoroutinefunction(self.definition)


def inspect_function(function: Any, *, classes: bool = False) -> FunctionInfo:
    """Look at a function without calling it; `classes` allows one to be called for its instances.

    Raises:
        UsageError: nothing that can be called, or an annotation that means nothing.
    """
    if isinstance(function, staticmethod):
        function = function.__func__
    given, bound = function, set[str]()
    while isinstance(given, partial):
        bound |= given.keywords.keys()
        given = given.func
    if isinstance(given, type):
        if not classes:
            raise UsageError(f"{given.__name__} is a class: offer a function, or a bound method")
        definition, name = inspect.getattr_static(given, "__init__"), given.__name__
    elif inspect.isroutine(given) and callable(given):
        definition, name = given, given.__name__
    elif callable(given):
        definition, name = type(given).__call__, type(given).__name__
    else:
        raise UsageError(
            f"{given!r} cannot be called: offer a function; a class method as `Class.method`, "
            "when there is the class"
        )
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:
        raise UsageError(f"{name} does not say what it takes: wrap it in a function") from None
    # What the program has bound is not for the caller to give.
    free = [one for one in parameters if one.name not in bound] if bound else parameters
    return FunctionInfo(function, definition, name, free, _hints(definition, name))


def _hints(definition: Any, name: str) -> dict[str, Any]:
    try:
        annotations: dict[str, Any] = getattr(definition, "__annotations__", None) or {}
        space: dict[str, Any] = getattr(inspect.unwrap(definition), "__globals__", {})
        hints = {key: _named(hint, space) for key, hint in annotations.items()}
        return _resolved(definition) if any(map(_names_inside, hints.values())) else hints
    except Exception as error:
        # An annotation is any expression, and so may fail in any way.
        raise _meaningless(name, error) from None


def _named(hint: Any, space: dict[str, Any]) -> Any:
    if hint is None:
        return NoneType
    if not isinstance(hint, str):
        return hint
    # As typing.get_type_hints does it, but compiled once per text: servers have many tools.
    code = _compiled(hint)
    try:
        found = eval(code, space)
    except NameError as error:
        if error.name not in _OURS:
            raise
        found = eval(code, space, _OURS)
    return NoneType if found is None else found


def _names_inside(hint: Any) -> bool:
    """Whether there are names in strings inside of an annotation: `list["Point"]`."""
    if type(hint) is type:
        return False
    if isinstance(hint, (str, ForwardRef)):
        return True
    origin = get_origin(hint)
    if origin is None or origin is Literal:
        return False
    arguments = get_args(hint)
    return any(map(_names_inside, arguments[:1] if origin is Annotated else arguments))


def _resolved(definition: Any) -> dict[str, Any]:
    try:
        return get_type_hints(definition, include_extras=True)
    except NameError:
        return get_type_hints(definition, localns=_OURS, include_extras=True)


@lru_cache(maxsize=1024)
def _compiled(text: str) -> CodeType:
    return compile(text.strip(), "<annotation>", "eval")


def _meaningless(name: str, error: Exception) -> UsageError:
    return UsageError(
        f"{name}: an annotation means nothing here: {error}. Import what it names at the top of "
        "the module, not for type checkers alone, and define it there, not in a function"
    )

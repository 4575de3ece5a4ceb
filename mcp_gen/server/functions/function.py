"""Introspects a function: name, docstring, parameters and annotations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import repeat
from types import CodeType, FunctionType, NoneType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.blocking import BlockingContext
from mcp_gen.server.context.context import Context
from mcp_gen.values.json_schema import NO_DEFAULT
from mcp_gen.values.json_types import cached_by_hint

__all__ = ["NO_DEFAULT", "FunctionInfo", "Passed", "inspect_function"]

# Names that programs often import under TYPE_CHECKING alone.
_IMPLICIT_NAMES = {"Context": Context, "BlockingContext": BlockingContext}

_STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_BOTH_WAYS = inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Passed(Struct, frozen=True):
    """A parameter of a function: what `inspect.Parameter` knows of it, but for the annotation."""

    name: str
    kind: Any
    """Kind of `inspect.Parameter`: `KEYWORD_ONLY` and so on."""
    default: Any
    """Default value, or `NO_DEFAULT`."""


class FunctionInfo(Struct, frozen=True):
    """Facts about a function, method, partial or callable object, from its definition."""

    function: Callable[..., Any]
    """The object to call."""
    definition: Callable[..., Any]
    """The function, `__init__` or `__call__` whose source declares the parameters."""
    name: str
    parameters: list[Passed]
    """Parameters left to pass: without `self` and without those bound by a partial."""
    hints: dict[str, Any]
    """Resolved annotations by parameter name, and `return`."""
    bound: frozenset[str]
    """Names of the parameters that a partial has bound."""

    @property
    def reserved(self) -> frozenset[str]:
        """Names of parameters, also of those that are bound: a `**` parameter takes none."""
        return self.bound.union(
            one.name for one in self.parameters if one.kind is not inspect.Parameter.VAR_KEYWORD
        )

    @property
    def is_async(self) -> bool:
        """True if a call returns a coroutine."""
        return inspect.iscoroutinefunction(self.definition)


def inspect_function(function: Any, *, classes: bool = False) -> FunctionInfo:
    """Inspect a function without calling it.

    Args:
        function: Function, bound method, partial, callable object or static method.
        classes: Accept a class, to be called for its instances.

    Raises:
        UsageError: The object is not callable or has no signature, it is a class and `classes` is
            false, or an annotation cannot be resolved.
    """
    if isinstance(function, staticmethod):
        function = function.__func__
    unwrapped, bound = function, set[str]()
    while isinstance(unwrapped, partial):
        bound |= unwrapped.keywords.keys()
        unwrapped = unwrapped.func
    if isinstance(unwrapped, type):
        if not classes:
            raise UsageError(
                f"{unwrapped.__name__} is a class: offer a function, or a bound method"
            )
        definition, name = inspect.getattr_static(unwrapped, "__init__"), unwrapped.__name__
    elif inspect.isroutine(unwrapped) and callable(unwrapped):
        definition, name = unwrapped, unwrapped.__name__
    elif callable(unwrapped):
        definition, name = type(unwrapped).__call__, type(unwrapped).__name__
    else:
        raise _not_callable(unwrapped)
    try:
        parameters = _parameters_of(function)
    except ValueError:
        raise UsageError(f"{name} does not say what it takes: wrap it in a function") from None
    # Callers cannot pass arguments that a partial has bound.
    free = [one for one in parameters if one.name not in bound] if bound else parameters
    hints = _resolve_hints(definition, name)
    return FunctionInfo(function, definition, name, free, hints, frozenset(bound))


def _parameters_of(function: Any) -> list[Passed]:
    if type(function) is FunctionType and not function.__dict__:
        code = function.__code__
        if not code.co_posonlyargcount and not code.co_flags & _STARRED:
            return _plain_parameters(function, code)
    found = inspect.signature(function).parameters.values()
    return [Passed(one.name, one.kind, one.default) for one in found]


def _plain_parameters(function: FunctionType, code: CodeType) -> list[Passed]:
    """Return what `inspect.signature` finds, in a fifth of its time: servers have many tools."""
    names, ends = code.co_varnames, code.co_argcount
    defaults = function.__defaults__ or ()
    required = ends - len(defaults)
    named = function.__kwdefaults__ or {}
    return [
        *(Passed(one, _BOTH_WAYS, NO_DEFAULT) for one in names[:required]),
        *map(Passed, names[required:ends], repeat(_BOTH_WAYS), defaults),
        *(
            Passed(one, _BY_KEYWORD, named.get(one, NO_DEFAULT))
            for one in names[ends : ends + code.co_kwonlyargcount]
        ),
    ]


def _not_callable(given: Any) -> UsageError:
    if inspect.iscoroutine(given):
        name = given.__qualname__.rpartition("<locals>.")[2]
        given.close()  # otherwise Python warns that nobody awaits it
        return UsageError(f"{name}(...) was called already: offer `{name}`, the function itself")
    if isinstance(given, dict):
        return UsageError(
            "a dict cannot be called: offer a function, or a description of `mcp_gen.types`, such "
            "as `Tool(...)`, with its handler"
        )
    return UsageError(
        f"{given!r} cannot be called: offer a function; a class method as `Class.method`, when "
        "there is the class"
    )


def _resolve_hints(definition: Any, name: str) -> dict[str, Any]:
    try:
        annotations: dict[str, Any] = getattr(definition, "__annotations__", None) or {}
        space: dict[str, Any] = getattr(inspect.unwrap(definition), "__globals__", {})
        hints = {key: _evaluate(hint, space) for key, hint in annotations.items()}
        return (
            _get_type_hints(definition)
            if any(map(_has_forward_reference, hints.values()))
            else hints
        )
    except Exception as error:
        # An annotation is an arbitrary expression: evaluating it can raise anything.
        raise _annotation_error(name, error) from None


def _evaluate(hint: Any, space: dict[str, Any]) -> Any:
    if hint is None:
        return NoneType
    if not isinstance(hint, str):
        return hint
    # Like typing.get_type_hints, but each text is compiled once: servers have many tools.
    code = _compiled(hint)
    try:
        found = eval(code, space)
    except NameError as error:
        if error.name not in _IMPLICIT_NAMES:
            raise
        found = eval(code, space, _IMPLICIT_NAMES)
    return NoneType if found is None else found


@cached_by_hint
def _has_forward_reference(hint: Any) -> bool:
    """Return True if an annotation contains a name in a string: `list["Point"]`."""
    if type(hint) is type:
        return False
    if isinstance(hint, (str, ForwardRef)):
        return True
    origin = get_origin(hint)
    if origin is None or origin is Literal:
        return False
    arguments = get_args(hint)
    return any(map(_has_forward_reference, arguments[:1] if origin is Annotated else arguments))


def _get_type_hints(definition: Any) -> dict[str, Any]:
    try:
        return get_type_hints(definition, include_extras=True)
    except NameError:
        return get_type_hints(definition, localns=_IMPLICIT_NAMES, include_extras=True)


@lru_cache(maxsize=1024)
def _compiled(text: str) -> CodeType:
    return compile(text.strip(), "<annotation>", "eval")


def _annotation_error(name: str, error: Exception) -> UsageError:
    return UsageError(
        f"{name}: an annotation means nothing here: {error}. Import what it names at the top of "
        "the module, not for type checkers alone, and define it there, not in a function"
    )

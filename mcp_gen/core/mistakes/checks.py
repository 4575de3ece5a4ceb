"""Messages for what users write wrongly: unknown options and names, wrong functions and types.

Each names what the user wrote and the next step. What other SDKs call differently is in `words`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from mcp_gen.core.errors import UsageError

__all__ = [
    "Elsewhere",
    "check_call_options",
    "check_callable",
    "check_choice",
    "check_options",
    "check_progress",
    "check_seconds",
    "check_type",
    "checks_options",
    "explains_calls",
    "is_above_zero",
    "missing_attribute",
    "name_of",
    "nearest",
    "unknown_transport",
    "with_name",
    "wrong_call",
]

F = TypeVar("F", bound=Callable[..., Any])

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def name_of(function: object) -> str:
    """Return the name of a function as its author knows it; the class of another object."""
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    return name.rpartition("<locals>.")[2]


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that is most like a name, however it is spelled."""
    # Loaded with the first mistake.
    import difflib

    plain = {one.replace("_", "").lower(): one for one in known}
    word = name.replace("_", "").lower()
    found = difflib.get_close_matches(word, plain, n=1)
    return plain[found[0]] if found else None


def _hint(topic: str, name: str, known: Collection[str]) -> str:
    """Return the end of a message on an unknown name: what it is called here."""
    # Loaded with the first mistake.
    from mcp_gen.core.mistakes.words import WORDS

    meant = WORDS.get(topic, {}).get(name)
    if meant is not None:
        return f": {meant}"
    near = nearest(name, known)
    if near is not None:
        return f": did you mean `{near}`?"
    return f"; there are: {', '.join(sorted(known))}" if known else ""


def check_options(what: str, topic: str, given: Collection[str], known: Collection[str]) -> None:
    """Check the names of options.

    Args:
        what: What the options are for, such as `tool add`.
        topic: Table of `words` for what other SDKs call differently.
        given: The given names.
        known: The names that there are.

    Raises:
        UsageError: One of them is not known.
    """
    for name in given:
        if name not in known:
            raise UsageError(f"{what}: no option `{name}`{_hint(topic, name, known)}")


def checks_options(what: str) -> Callable[[F], F]:
    """Return a decorator for a function whose unknown options are reported by name.

    Args:
        what: Name of the function for users, also the table of `words`.
    """

    def decorate(function: F) -> F:
        code = inspect.unwrap(function).__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        options = frozenset(known) - {"self"}

        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            if not options.issuperset(given):
                check_options(what, what, given, options)
            return function(*args, **given)

        return cast("F", checked)

    return decorate


def explains_calls(what: str, example: str) -> Callable[[F], F]:
    """Return a decorator for a function: a call with wrong arguments is told a right one.

    Args:
        what: Name of the function for users, also the table of `words`.
        example: A right call.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            try:
                return function(*args, **given)
            except TypeError as error:
                raise wrong_call(what, example, function, args, given, error) or error from None

        return cast("F", checked)

    return decorate


def wrong_call(
    what: str,
    example: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    given: Mapping[str, Any],
    error: TypeError,
) -> UsageError | None:
    """Return the error for a call that does not fit the parameters of a function.

    Args:
        what: Name of the function for users, also the table of `words`.
        example: A right call.
        function: The function.
        args: Positional arguments of the call.
        given: Named arguments of the call.
        error: What the call raised.

    Returns:
        The error; None if the function itself raised.
    """
    if error.__traceback__ is None or error.__traceback__.tb_next is not None:
        return None  # raised inside of the function
    # Loaded with the first mistake.
    from mcp_gen.core.mistakes.words import WORDS

    parameters = inspect.signature(function).parameters
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    named = {one.name for one in parameters.values() if one.kind is not one.POSITIONAL_ONLY}
    for name in given:
        if name not in named and (name in parameters or not takes_any):
            meant = WORDS.get(what, {}).get(name) or f"write `{example}`"
            return UsageError(f"{what}: no option `{name}`: {meant}")
    positional = [one.name for one in parameters.values() if one.kind in _POSITIONAL]
    twice = next((name for name in positional[: len(args)] if name in given), None)
    passed = {*given, *positional[: len(args)]}
    missing = [name for name, one in parameters.items() if _is_needed(one) and name not in passed]
    if twice is not None:
        problem = f"`{twice}` is given twice"
    elif missing:
        problem = f"`{missing[0]}` is missing"
    else:
        problem = "too many arguments without a name"
    return UsageError(f"{what}: {problem}: write `{example}`")


def _is_needed(one: inspect.Parameter) -> bool:
    return one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)


def unknown_transport(name: object) -> UsageError:
    """Return the error for a transport of `Server.run` that there is not."""
    # Loaded with the first mistake.
    from mcp_gen.core.mistakes.words import WORDS

    meant = WORDS["transport"].get(name) if isinstance(name, str) else None
    return UsageError(f"transport {name!r}: " + (meant or "expected 'stdio' or 'http'"))


def check_callable(what: str, function: Any, names: tuple[str, ...]) -> None:
    """Check that a function can be called with positional arguments.

    Args:
        what: What the function is for.
        function: The function.
        names: Names of the arguments.

    Raises:
        UsageError: It is no function, or it takes other arguments.
    """
    written = f"({', '.join(names)})"
    if not callable(function):
        raise UsageError(f"{what}: expected a function of {written}, got {function!r}")
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # written in C: nothing is known of it
    try:
        signature.bind(*names)
    except TypeError:
        name, own = name_of(function), ", ".join(_spelled(signature.parameters))
        advice = f"`def {name}{written}`" if name.isidentifier() else f"a function of {written}"
        raise UsageError(
            f"{what}: {name}({own}) is called with {written}: write {advice}, async or not"
        ) from None


def check_call_options(name: object, given: Collection[str], known: Collection[str]) -> None:
    """Check the names of options of `call_tool`, which may be arguments of the tool.

    Args:
        name: Name of the tool.
        given: The given names.
        known: The names that there are.

    Raises:
        UsageError: One of them is not known.
    """
    # Loaded with the first mistake.
    from mcp_gen.core.mistakes.words import WORDS

    for one in given:
        if one not in known and one not in WORDS["call_tool"] and nearest(one, known) is None:
            raise UsageError(
                f"call_tool: no option `{one}`; arguments of the tool are one dict: "
                f'`call_tool({name!r}, {{"{one}": ...}})`'
            )
    check_options("call_tool", "call_tool", given, known)


def check_progress(function: Any) -> None:
    """Check that a function can be called with progress.

    Raises:
        UsageError: It is no function of three arguments.
    """
    code = getattr(function, "__code__", None)
    # Nearly all are functions of three arguments: their signature is not read in each call.
    if code is None or code.co_argcount != 3 or code.co_kwonlyargcount:
        check_callable("progress", function, ("progress", "total", "message"))


def _spelled(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    return [str(one.replace(annotation=inspect.Parameter.empty)) for one in parameters.values()]


def check_type(what: str, value: object, kind: type | tuple[type, ...], example: str) -> None:
    """Check the type of an option.

    Args:
        what: Name of the option, such as `Server: tasks`.
        value: Its value; None is accepted.
        kind: The types to accept.
        example: Code that is right.

    Raises:
        UsageError: The value has another type.
    """
    if value is not None and not isinstance(value, kind):
        raise UsageError(f"{what}={_shown(value)}: write `{example}`")


def check_choice(what: str, value: object, known: Collection[str]) -> None:
    """Check that an option is one of its words.

    Args:
        what: Name of the option, such as `Client: validation`.
        value: Its value.
        known: The words.

    Raises:
        UsageError: It is none of them.
    """
    if value not in known:
        near = nearest(value, known) if isinstance(value, str) else None
        advice = f"did you mean {near!r}?" if near else f"there are {', '.join(map(repr, known))}"
        raise UsageError(f"{what}={_shown(value)}: {advice}")


def check_seconds(what: str, value: object) -> None:
    """Check that an option is a number of seconds.

    Raises:
        UsageError: It has another type, such as `timedelta`.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise UsageError(f"{what}: expected seconds as a number, such as 30, got {name_of(value)}")


def with_name(what: str, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a decorator that has the name in front of them.

    Raises:
        UsageError: The options have a name, too.
    """
    if options.get("name", name) != name:
        raise UsageError(
            f"{what} {name!r}: it has two names: leave out name={options['name']!r}, or the first"
        )
    return {**options, "name": name}


def is_above_zero(value: Any) -> bool:
    """Return True for a number above zero; False for other numbers, NaN and other types."""
    return isinstance(value, int | float) and value > 0


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 and not text.startswith("<") else f"<{name_of(type(value))}>"


def missing_attribute(owner: object, name: str, known: Collection[str]) -> AttributeError:
    """Return the error for an attribute that there is not, with what to write instead.

    Args:
        owner: The object.
        name: The attribute.
        known: Attributes of the object.
    """
    kind = type(owner).__name__
    message = f"{kind!r} object has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(message, name=name, obj=owner)
    public = [one for one in known if not one.startswith("_")]
    # Loaded with the first mistake.
    from mcp_gen.core.mistakes.words import WORDS

    meant = WORDS.get(kind, {}).get(name)
    near = nearest(name, public)
    if meant is not None:
        message += f": {meant}"
    elif near is not None:
        message += f": did you mean `{near}`?"
    return AttributeError(message, name=name, obj=owner)


class Elsewhere:
    """Attribute that objects have in other SDKs: reading it says in the error what to write.

    For classes whose attributes are read in each call: `__getattr__` would slow down all of them.

    Args:
        name: Name of the attribute; `words` has the rest of the message.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, owner: object, kind: type) -> Elsewhere:
        """Raise AttributeError; on the class, return this object."""
        if owner is None:
            return self
        raise missing_attribute(owner, self._name, dir(kind))

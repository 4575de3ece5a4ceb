"""Puts definitions after those that they need."""

from collections.abc import Callable, Iterable, Iterator


def in_turn(
    names: Iterable[str],
    needs: Callable[[str], Iterator[str]],
    in_a_circle: Callable[[str], None] = lambda _name: None,
) -> list[str]:
    """Return the names in their order, but each after those that it needs.

    Without recursion: a chain of definitions may be long.

    Args:
        names: The definitions.
        needs: The names that one needs; others than `names` are passed over.
        in_a_circle: Called with a name that needs itself, directly or through others.
    """
    there = dict.fromkeys(names)
    done: dict[str, None] = {}
    for first in there:
        waiting = {first: needs(first)}
        while waiting:
            name, others = next(reversed(waiting.items()))
            inner = next((one for one in others if one in there), None)
            if inner is None or name in done:
                done.setdefault(name)
                del waiting[name]
            elif inner in waiting:
                in_a_circle(inner)
            elif inner not in done:
                waiting[inner] = needs(inner)
    return [*done]

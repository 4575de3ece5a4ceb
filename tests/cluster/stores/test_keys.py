"""Names of keys: slots, forged names, and prefixes."""

from __future__ import annotations

import re

import pytest

from mcp_gen.cluster.redis.keys import Keys, sortable
from mcp_gen.core.errors import UsageError
from mcp_gen.testing.stores.running import ODD_NAMES


def tag(key: str) -> str:
    """Return what Redis computes the slot from."""
    found = re.search(r"\{([^}]+)\}", key)
    return key if found is None else found[1]


def test_the_keys_of_one_session_are_in_one_slot() -> None:
    keys = Keys()
    for id in ODD_NAMES:
        assert len({tag(key) for key in keys.session(id)}) == 1


def test_sessions_are_in_slots_of_their_own() -> None:
    keys = Keys()
    assert len({tag(keys.session(id).session) for id in ODD_NAMES}) == len(ODD_NAMES)


def test_no_name_makes_the_key_of_something_else() -> None:
    keys = Keys()
    names = [*ODD_NAMES, "heard", "tasks", "{mcp:heard}", "a}:streams", "a}:session:b", "", "="]
    made = [key for name in names for key in keys.session(name)]
    made += [key for name in names for key in (keys.task(name), keys.state(name))]
    made += [key for principal in (None, *names) for key in keys.once(principal)]
    made += [keys.heard, *keys.tasks]
    assert len(set(made)) == len(made)
    assert [key for key in made if not re.fullmatch(r"\{mcp:[\w.~:=-]+\}(:\w+)?", key)] == []


def test_a_key_of_once_values_does_not_tell_the_principal() -> None:
    assert [key for key in Keys().once("ada") if "ada" in key] == []


def test_clusters_with_different_prefixes_share_no_key() -> None:
    one, other = Keys("a"), Keys("a:session")
    assert not {*one.session("x"), one.task("x"), one.heard} & {
        *other.session("x"),
        other.task("x"),
        other.heard,
    }


@pytest.mark.parametrize("prefix", ["", "a{b", "}"])
def test_a_prefix_that_would_break_hash_tags_is_refused(prefix: str) -> None:
    with pytest.raises(UsageError, match="expected a name without braces"):
        Keys(prefix)


def test_texts_for_numbers_sort_like_the_numbers() -> None:
    numbers = [0.0, 1e-9, 0.5, 1.0, 1.0000000001, 255.0, 256.0, 1.8e9, 1.8e9 + 1e-6, 1e18]
    assert sorted(numbers, key=sortable) == numbers
    assert len({len(sortable(number)) for number in numbers}) == 1

"""The memory of proofs knows each again, forgets it when it has ended, and is bounded."""

from __future__ import annotations

import pytest

from mcp_gen.auth.proofs.seen_proofs import SeenProofs
from mcp_gen.core.errors import UsageError


def test_a_proof_is_new_once() -> None:
    seen = SeenProofs()
    assert seen.add("key", "a", until=10, now=0)
    assert not seen.add("key", "a", until=10, now=10)
    assert seen.add("key", "b", until=10, now=10)


def test_ids_of_two_keys_are_told_apart_whatever_they_contain() -> None:
    seen = SeenProofs()
    assert seen.add("key", "a b", until=10, now=0)
    assert seen.add("key2", "a b", until=10, now=0)
    assert seen.add("key", "a", until=10, now=0)


def test_a_proof_is_forgotten_after_its_end() -> None:
    seen = SeenProofs(max_proofs=100, max_per_key=100)
    for _ in range(2):
        for number in range(100):
            assert seen.add("key", str(number), until=number + 0.5, now=0)
        assert seen.is_full("key", 0)
        assert not seen.is_full("key", 49.9)
        assert len(seen) == 51
        assert not seen.is_full("key", 1000)
        assert repr(seen) == "SeenProofs(0 of 100, of 0 keys)"


def test_a_key_that_has_used_its_share_does_not_shut_out_another() -> None:
    seen = SeenProofs(max_proofs=3, max_per_key=2)
    assert seen.add("busy", "a", until=10, now=0)
    assert seen.add("busy", "b", until=10, now=0)
    assert seen.is_full("busy", 0)
    assert not seen.add("busy", "c", until=10, now=0)
    assert seen.add("calm", "a", until=10, now=0)
    assert not seen.add("third", "a", until=20, now=10)
    assert seen.add("busy", "c", until=20, now=10.5 + 1)


def test_a_full_memory_still_refuses_what_it_knows() -> None:
    seen = SeenProofs(max_proofs=1, max_per_key=1)
    seen.add("key", "a", until=10, now=0)
    assert not seen.add("key", "a", until=10, now=0)
    assert len(seen) == 1


@pytest.mark.parametrize(("total", "per_key"), [(0, 0), (10, 0), (10, 11)])
def test_limits_that_make_no_sense_are_refused(total: int, per_key: int) -> None:
    with pytest.raises(UsageError, match="max_per_key"):
        SeenProofs(total, per_key)

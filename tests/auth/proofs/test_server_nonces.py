"""Nonces follow from the time and a key: known again by all who have the key, for a while."""

from __future__ import annotations

import pytest

from mcp_gen.auth.proofs.nonces import NonceIssuer
from mcp_gen.core.errors import UsageError

KEYS = ["k" * 32]


def test_a_nonce_is_accepted_until_the_one_after_it_is_replaced() -> None:
    issuer = NonceIssuer(KEYS, lifetime_s=100)
    nonce = issuer.issue(150)
    assert [issuer.accepts(nonce, now) for now in (99, 100, 199, 299, 300)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_a_nonce_is_replaced_when_its_time_is_over() -> None:
    issuer = NonceIssuer(KEYS, lifetime_s=100)
    assert issuer.issue(100) == issuer.issue(199)
    assert issuer.issue(199) != issuer.issue(200)


def test_processes_that_share_keys_accept_the_nonces_of_each_other() -> None:
    old, new = NonceIssuer(KEYS), NonceIssuer([b"n" * 32, *KEYS])
    assert new.accepts(old.issue(5), 5)
    assert not old.accepts(new.issue(5), 5)


def test_issuers_without_keys_do_not_know_the_nonces_of_each_other() -> None:
    assert not NonceIssuer().accepts(NonceIssuer().issue(5), 5)


@pytest.mark.parametrize("nonce", ["", "ä", "\ud800", "x" * 100_000])
def test_text_that_is_no_nonce_is_not_accepted(nonce: str) -> None:
    assert not NonceIssuer().accepts(nonce, 5)


def test_a_nonce_has_only_characters_that_a_header_may_have() -> None:
    nonce = NonceIssuer().issue(1_800_000_000)
    assert nonce.replace("-", "").replace("_", "").isalnum()
    assert len(nonce) == 24


def test_short_keys_and_lifetimes_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 32 bytes"):
        NonceIssuer(["short"])
    with pytest.raises(UsageError, match="lifetime_s"):
        NonceIssuer(lifetime_s=0.5)


def test_the_keys_are_not_in_the_repr() -> None:
    assert KEYS[0] not in repr(NonceIssuer(KEYS))

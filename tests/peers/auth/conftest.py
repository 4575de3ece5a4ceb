"""Authorization servers of others, which the tests of a process share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.peers.auth.oidc_provider import Issuers, issuing


@pytest.fixture(scope="session")
def issuers() -> Iterator[Issuers]:
    """Run oidc-provider."""
    with issuing() as running:
        yield running

"""The client of the zoo that asks for tokens: why it gives up."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.compat.reference.client_script import ScriptFailure
from mcp_gen.compat.zoo.clients.authorization.authorizing import Authorizes

RESOURCE = {"authorization_servers": ["https://issuer.example"]}


class Answered(Authorizes):
    """Finds the same metadata everywhere."""

    def __init__(self, metadata: dict[str, Any] | None) -> None:
        self.metadata = metadata

    async def first_of(self, urls: list[str]) -> dict[str, Any] | None:
        return self.metadata


@pytest.mark.parametrize(
    ("metadata", "why"),
    [(None, "has no metadata"), ({"issuer": "https://other.example"}, "those of another issuer")],
)
async def test_without_metadata_of_its_issuer_it_gives_up(
    metadata: dict[str, Any] | None, why: str
) -> None:
    with pytest.raises(ScriptFailure, match=why):
        await Answered(metadata).found_server(RESOURCE)

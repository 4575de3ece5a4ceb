"""Names of resources, as tokens and metadata give them."""

from __future__ import annotations

import pytest

from mcp_gen.auth.server.locations import canonical_uri


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("HTTPS://API.Example/Mcp", "https://api.example/Mcp"),
        ("https://api.example", "https://api.example"),
        ("https://API.example:8443/", "https://api.example:8443/"),
        ("Reports", "Reports"),
        ("urn:Example:Reports", "urn:Example:Reports"),
        ("", ""),
    ],
)
def test_scheme_and_host_are_in_lower_case_and_other_texts_are_kept(
    text: str, canonical: str
) -> None:
    assert canonical_uri(text) == canonical

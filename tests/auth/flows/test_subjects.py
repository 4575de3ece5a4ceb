"""Whom an ID token names."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from mcp_gen.auth.flows.subjects import subject_of
from tests.auth.scripts import ISSUER

CLAIMS: dict[str, Any] = {"iss": ISSUER, "sub": "ann", "aud": "client"}


def id_token(**claims: Any) -> str:
    payload = base64.urlsafe_b64encode(json.dumps({**CLAIMS, **claims}).encode()).rstrip(b"=")
    return f"e30.{payload.decode()}.x"


@pytest.mark.parametrize("audience", ["client", ["other", "client"]])
def test_an_id_token_for_the_client_names_the_user(audience: Any) -> None:
    assert subject_of(id_token(aud=audience), ISSUER, "client") == "ann"


@pytest.mark.parametrize(
    "claims", [{"iss": "https://evil.example"}, {"aud": "other"}, {"sub": 7}, {"aud": []}]
)
def test_an_id_token_for_another_names_nobody(claims: dict[str, Any]) -> None:
    assert subject_of(id_token(**claims), ISSUER, "client") is None


@pytest.mark.parametrize("text", [None, "", "x", "a.b", "a.b.c", "e30.!!!.x", "e30.e30.x", "a.ä.b"])
def test_what_is_no_id_token_names_nobody(text: str | None) -> None:
    assert subject_of(text, ISSUER, "client") is None

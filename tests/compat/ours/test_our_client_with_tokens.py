"""Our own client goes for tokens as it must, with each server of the examination that wants one."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin

import httpx2
import pytest

from mcp_gen import Client
from mcp_gen.auth import OAuth
from mcp_gen.auth.flows.authorization_code import AuthorizationRequest
from mcp_gen.compat.doctor.client_examination import examine_client
from mcp_gen.compat.requirements.manifest import requirements, rows
from mcp_gen.compat.scenarios.authorization.steps import GRANTED
from mcp_gen.compat.scenarios.scenario import scenarios
from tests.compat.examining import area_of
from tests.compat.examining_clients import LIMIT_S, TIMEOUT_S
from tests.compat.local_http import LocalHttpStage

DOCUMENT_URL = "authorization:client:metadata-document:url"
SEEN = [row for row in rows() if row.applies == "client" and area_of(row.id) == "authorization"]


async def agree(request: AuthorizationRequest) -> str:
    """Open the link as a browser does, and return where it leads to."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        found = await browser.get(request.url)
    return urljoin(request.url, found.headers["location"])


async def log_in_and_list(said: Mapping[str, str]) -> None:
    """List the tools of a server over HTTP, with a token."""
    auth = OAuth(redirect_uri="http://127.0.0.1:3999/callback", on_authorize=agree)
    async with auth, Client("own", "1.0.0", timeout_s=TIMEOUT_S) as client:
        session = await client.connect(said["url"], auth=auth)
        assert [tool async for tool in session.tools()]


@pytest.mark.parametrize("revision", requirements()[GRANTED].revisions)
async def test_our_client_breaks_no_rule_of_authorization(revision: str) -> None:
    only = [one.id for one in scenarios(revision, "http") if area_of(one.id) == "authorization"]
    report = await examine_client(
        LocalHttpStage(log_in_and_list),
        target="own",
        revisions=(revision,),
        limit_s=LIMIT_S,
        only=only,
    )
    assert {one.requirement: one.findings for one in report.failed()} == {}
    verdicts = {one.requirement: one.verdict for one in report.outcomes}
    due = {row.id for row in SEEN if revision in row.revisions and not row.unseen}
    # Our client has no document on the web here.
    untested = {id for id in due if verdicts[id] == "not tested"} - {DOCUMENT_URL}
    assert untested == set()

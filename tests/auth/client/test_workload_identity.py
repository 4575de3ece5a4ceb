"""WorkloadIdentity shows the JWT of its platform, and gives up when that is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_gen.auth.client.workload import WorkloadIdentity
from mcp_gen.auth.proofs.keys import SigningKey
from mcp_gen.core.errors import AuthError, UsageError
from tests.auth.client.scripted import AS, URL, Clock, Web, admitted, bearer, refused

KEY = SigningKey.generate()
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def jwt(subject: str = "workload") -> str:
    """Return a JWT of a platform."""
    return KEY.sign({}, {"iss": "https://platform.example", "sub": subject, "aud": AS})


async def test_the_jwt_is_exchanged_for_a_token() -> None:
    web = Web({"token_endpoint_auth_methods_supported": ["none"]})
    text = jwt()
    assert await admitted(WorkloadIdentity("me", text, fetcher=web)) == bearer("token1")
    assert web.forms == [
        {
            "grant_type": JWT_BEARER,
            "assertion": text,
            "resource": URL,
            "scope": "read",
            "client_id": "me",
        }
    ]


async def test_the_file_is_read_anew_for_each_token(tmp_path: Path) -> None:
    clock, web = Clock(), Web(token={"expires_in": 60})
    path = tmp_path / "token"
    path.write_text(f"{jwt('a')}\n")
    auth = WorkloadIdentity("me", path, fetcher=web, clock=clock)
    await admitted(auth)
    path.write_text(second := jwt("b"))
    clock.now += 60
    await auth.headers("POST", URL)
    assert web.forms[1]["assertion"] == second


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_function_returns_the_jwt(is_async: bool) -> None:
    async def later() -> str:
        return jwt()

    web = Web()
    await admitted(WorkloadIdentity("me", later if is_async else jwt, fetcher=web))
    assert len(web.forms) == 1


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_scope", "unauthorized_client"])
async def test_a_refused_jwt_is_not_sent_again_and_no_other_grant_is_tried(code: str) -> None:
    web = Web(answer=lambda ask: refused(code))
    auth = WorkloadIdentity("me", jwt(), fetcher=web)
    for _ in range(3):
        with pytest.raises(AuthError) as caught:
            await admitted(auth)
        assert caught.value.error == code
    assert [form["grant_type"] for form in web.forms] == [JWT_BEARER]


async def test_another_jwt_is_sent_after_one_was_refused() -> None:
    subjects = iter(["a", "b"])
    web = Web(answer=lambda ask: refused("invalid_grant") if len(web.asks) == 1 else None)
    auth = WorkloadIdentity("me", lambda: jwt(next(subjects)), fetcher=web)
    with pytest.raises(AuthError):
        await admitted(auth)
    assert await admitted(auth) == bearer("token2")


@pytest.mark.parametrize("text", ["", "secret", "a.b", "a.b.c d", "a.b.c\nX: y", "a.é.c"])
async def test_what_is_no_jwt_is_not_sent_and_not_shown(text: str) -> None:
    web = Web()
    with pytest.raises(AuthError, match="expected a signed JWT") as caught:
        await admitted(WorkloadIdentity("me", lambda: text, fetcher=web))
    assert web.asks == []
    assert "secret" not in str(caught.value)


async def test_a_file_that_is_missing_or_endless_is_an_error_with_its_path(tmp_path: Path) -> None:
    for path, told in ((tmp_path / "none", "No such file"), (Path("/dev/zero"), "signed JWT")):
        with pytest.raises(AuthError, match=told):
            await admitted(WorkloadIdentity("me", path, fetcher=Web()))


async def test_workloads_are_told_apart_by_the_subject_of_their_jwt() -> None:
    async def identity(text: str) -> Any:
        auth = WorkloadIdentity("me", text, fetcher=Web())
        await admitted(auth)
        return auth.identity

    assert await identity(jwt("a")) == await identity(jwt("a"))
    assert await identity(jwt("a")) != await identity(jwt("b"))
    assert await identity("e30.e30.AA") != await identity("e30.e30.BB")


def test_what_is_no_source_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a JWT, a Path or a function"):
        WorkloadIdentity("me", 5)  # type: ignore[arg-type]


async def test_the_jwt_is_in_no_repr() -> None:
    text = jwt()
    auth = WorkloadIdentity("me", text, fetcher=Web())
    await admitted(auth)
    assert text not in f"{auth!r} {auth.__dict__!r}"

"""Which scopes are asked for."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.auth.flows.scopes import choose_scopes, is_scope


def chosen(**given: Any) -> tuple[str, ...] | None:
    nothing: dict[str, Any] = dict.fromkeys(("configured", "challenged", "resource", "server"))
    return choose_scopes(**{**nothing, **given})


def test_the_scopes_of_the_challenge_come_before_those_of_the_resource() -> None:
    assert chosen(challenged=["a"], resource=["b", "c"]) == ("a",)


def test_without_a_challenge_all_scopes_of_the_resource_are_asked_for() -> None:
    assert chosen(resource=["b", "c"]) == ("b", "c")


@pytest.mark.parametrize("resource", [None, []])
def test_without_both_none_is_asked_for(resource: list[str] | None) -> None:
    assert chosen(resource=resource, server=["x", "y"]) is None


def test_scopes_of_the_user_replace_those_of_the_resource() -> None:
    assert chosen(configured=["a"], resource=["b"]) == ("a",)


def test_scopes_of_the_user_are_asked_for_beside_those_of_the_challenge() -> None:
    assert chosen(configured=["a"], challenged=["b"]) == ("a", "b")


def test_scopes_of_before_are_asked_for_again() -> None:
    assert chosen(previous=["a", "b"], challenged=["b", "c"]) == ("a", "b", "c")


def test_offline_access_is_added_where_the_authorization_server_lists_it() -> None:
    assert chosen(challenged=["a"], server=["a", "offline_access"]) == ("a", "offline_access")


@pytest.mark.parametrize("server", [None, [], ["a"]])
def test_offline_access_is_not_added_where_it_is_not_listed(server: list[str] | None) -> None:
    assert chosen(challenged=["a"], server=server) == ("a",)


@pytest.mark.parametrize("place", ["challenged", "resource", "previous"])
def test_offline_access_of_others_is_left_out_where_it_is_not_listed(place: str) -> None:
    given: dict[str, Any] = {"challenged": ["a"], "server": ["a"]}
    assert chosen(**{**given, place: ["a", "offline_access"]}) == ("a",)


def test_offline_access_can_be_turned_off() -> None:
    assert chosen(challenged=["a"], server=["offline_access"], offline=False) == ("a",)


def test_offline_access_of_the_user_is_asked_for_wherever_it_is_listed() -> None:
    assert chosen(configured=["a", "offline_access"]) == ("a", "offline_access")


def test_offline_access_alone_would_narrow_what_the_server_gives_by_default() -> None:
    assert chosen(server=["offline_access"]) is None


@pytest.mark.parametrize("text", ["", "a b", 'a"b', "a\\b", "ä", "a\n"])
def test_what_is_no_scope_is_left_out(text: str) -> None:
    assert (is_scope(text), chosen(resource=[text, "ok"])) == (False, ("ok",))


@pytest.mark.parametrize("text", ["mcp:basic", "https://api.example/read", "a!#[]~"])
def test_scopes_are_printable_ascii(text: str) -> None:
    assert is_scope(text)

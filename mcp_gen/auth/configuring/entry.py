"""Reads the `auth` member of a server in a config file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_gen.auth.configuring.auth_settings import GRANTS, AuthSettings

__all__ = ["EntryMistake", "auth_settings"]

Text = Callable[[Any, str], str]
"""Returns a text with its variables replaced, or raises an error that names its place."""


class EntryMistake(Exception):
    """Mistake in an `auth` member: where, and what was expected."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where = where
        self.what = what


_TEXTS = ("client_id", "client_metadata_url", "issuer", "redirect_uri", "store", "account")
_LISTS = ("scopes", "allow_hosts")
_SECRETS = ("client_secret", "private_key")
_KNOWN = ("type", *_TEXTS, *_LISTS, *(f"{one}_env" for one in _SECRETS), "dpop")
_FOR_USERS = ("client_metadata_url", "redirect_uri", "store", "account")
"""Members that only a login of a user needs."""


def auth_settings(
    given: Any, where: str, text: Text, env: Mapping[str, str] | None
) -> AuthSettings:
    """Return the settings of an `auth` member.

    Args:
        given: The member: an object, or the type alone, such as `"oauth"`.
        where: Its path, for errors.
        text: Reads a text, with variables replaced.
        env: Variables that hold secrets; None if the server is not used, and they may be missing.

    Raises:
        EntryMistake: A member is unknown, missing or of the wrong type, or a variable is not set.
    """
    members: Any = {"type": given} if isinstance(given, str) else given
    if members.__class__ is not dict:
        raise EntryMistake(where, 'expected an object such as {"type": "oauth"}')
    for name in members:
        if name in _SECRETS:
            raise EntryMistake(
                f"{where}.{name}", f"expected `{name}_env`, the name of a variable that holds it"
            )
        if name not in _KNOWN:
            raise EntryMistake(f"{where}.{name}", f"expected one of {', '.join(_KNOWN)}")
    kind = GRANTS.get(text(members.get("type", "oauth"), f"{where}.type"))
    if kind is None:
        raise EntryMistake(f"{where}.type", f"expected one of {', '.join(GRANTS)}")
    found: dict[str, Any] = {"type": kind}
    for name in _TEXTS:
        if name in members:
            found[name] = text(members[name], f"{where}.{name}")
    for name in _LISTS:
        if name in members:
            found[name] = _texts(members[name], f"{where}.{name}", text)
    for name in _SECRETS:
        if f"{name}_env" in members:
            found[name] = _secret(members[f"{name}_env"], f"{where}.{name}_env", env)
    found["dpop"] = members.get("dpop", False)
    if not isinstance(found["dpop"], bool):
        raise EntryMistake(f"{where}.dpop", "expected true or false")
    _check(found, where)
    return AuthSettings(**found)


def _check(found: Mapping[str, Any], where: str) -> None:
    if found["type"] == "oauth":
        if "private_key" in found:
            raise EntryMistake(
                f"{where}.private_key_env", 'expected `"type": "client_credentials"` with this'
            )
        return
    if "client_id" not in found:
        raise EntryMistake(where, "expected `client_id` with this type")
    if ("client_secret" in found) == ("private_key" in found):
        raise EntryMistake(where, "expected one of `client_secret_env` and `private_key_env`")
    for name in _FOR_USERS:
        if name in found:
            raise EntryMistake(f"{where}.{name}", 'expected `"type": "oauth"` with this')


def _texts(given: Any, where: str, text: Text) -> tuple[str, ...]:
    if given.__class__ is not list:
        raise EntryMistake(where, "expected an array of strings")
    return tuple(text(one, f"{where}[{place}]") for place, one in enumerate(given))


def _secret(given: Any, where: str, env: Mapping[str, str] | None) -> str:
    # The name is shown in no error: it may be the secret itself, in the wrong place.
    if not isinstance(given, str) or not given.isidentifier():
        raise EntryMistake(where, "expected the name of a variable")
    if env is None:
        return ""
    if not env.get(given):
        raise EntryMistake(where, "the environment has no such variable, or it is empty")
    return env[given]

"""Redaction: how URLs, commands and credentials appear in reprs, errors, logs and events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

__all__ = [
    "HIDDEN",
    "command_secrets",
    "hide",
    "is_secret_name",
    "shown_command",
    "shown_id",
    "shown_names",
    "shown_text",
    "shown_url",
    "url_secrets",
]

HIDDEN = "***"
MIN_SECRET_CHARS = 6
"""Shorter texts are not searched for: they are part of too many words."""

_SECRET_NAME = re.compile(
    r"token|secret|passw|pwd|key|auth(?!or)|credential|cookie|bearer|header|dsn|pat\b", re.I
)
"""Names of environment variables and options whose values are secrets."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.I)
_RUN = re.compile(r"[A-Za-z0-9+_=-]{16,}")
_SWITCH = re.compile(r"[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])")
MIN_SWITCHES = 3
"""Switches between letters and digits in a text that looks random; `server-2025` has none."""


def shown_url(url: str) -> str:
    """Return a URL without its user info, fragment, query values and random parts of its path.

    Args:
        url: The URL; a text that cannot be parsed is hidden as a whole.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    user, at, host = parts.netloc.rpartition("@")
    # A pair without `=` may be a secret itself.
    pairs = [pair.partition("=") for pair in parts.query.split("&") if pair]
    query = "&".join(f"{name}={HIDDEN}" if found else HIDDEN for name, found, _ in pairs)
    return urlunsplit(
        (
            parts.scheme,
            f"{HIDDEN}@{host}" if user or at else host,
            hide(parts.path, _random_runs(parts.path)),
            query,
            HIDDEN if parts.fragment else "",
        )
    )


def shown_command(words: Sequence[str]) -> str:
    """Return the program of a command in backticks, and the number of its arguments."""
    program, count = f"`{words[0]}`" if words else "``", len(words) - 1
    return f"{program} ({count} argument{'s' * (count > 1)})" if count > 0 else program


def shown_id(id: str) -> str:
    """Return the beginning of a session id: enough to find it, too little to use the session."""
    return f"{id[:8]}..."


def is_secret_name(name: str) -> bool:
    """Return True if the name of a variable, option or argument is that of a secret."""
    return _SECRET_NAME.search(name) is not None


def shown_text(text: str) -> str:
    """Return a text without random texts, and without the secrets of the URLs in it."""
    secrets = _random_runs(text)
    for url in _URL.findall(text):
        secrets |= url_secrets(url)
    return hide(text, secrets)


def shown_names(values: Iterable[str]) -> str:
    """Return the names of environment variables or headers, without their values."""
    return f"<{', '.join(values)}>"


def url_secrets(url: str) -> set[str]:
    """Return the user info, query values, fragment and random parts of the path of a URL.

    Args:
        url: The URL; a text that cannot be parsed is a secret as a whole.

    Returns:
        The texts as they stand and decoded.
    """
    try:
        parts = urlsplit(url)
        found = {parts.netloc.rpartition("@")[0], parts.username or "", parts.password or ""}
    except ValueError:
        return {url}
    found |= {parts.fragment} | _random_runs(parts.path)
    found |= {value for _, value in parse_qsl(parts.query)}
    for pair in parts.query.split("&"):
        name, equals, value = pair.partition("=")
        # A pair without `=` may be a secret itself.
        found.add(value if equals else name)
    return {one for each in found for one in (each, unquote(each)) if one}


def command_secrets(words: Sequence[str], env: Mapping[str, str]) -> set[str]:
    """Return the texts of a command that are likely to be secrets.

    These are the values of environment variables and options whose names say so, the user info and
    query values of URLs, and words that look random: letters with digits, 16 characters or more.

    Args:
        words: The program and its arguments.
        env: Environment variables of the command.
    """
    found = {value for name, value in env.items() if _SECRET_NAME.search(name)}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if (equals or name.startswith("-")) and _SECRET_NAME.search(name):
            found.add(value if equals else following)
    for text in (*words[1:], *env.values()):
        found |= _random_runs(text)
        for url in _URL.findall(text):
            found |= url_secrets(url)
    return found - {""}


def _random_runs(text: str) -> set[str]:
    runs: list[str] = _RUN.findall(text)
    return {run for run in runs if len(_SWITCH.findall(run)) >= MIN_SWITCHES}


def hide(text: str, secrets: Iterable[str]) -> str:
    """Return a text with each of the secrets in it replaced, percent-encoded ones too.

    Args:
        text: The text.
        secrets: Secrets; those of fewer than 6 characters are not searched for.
    """
    known = {one for one in secrets if len(one) >= MIN_SECRET_CHARS}
    known |= {quote(one, safe="") for one in known}
    # The longest first: one secret may hold another.
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text

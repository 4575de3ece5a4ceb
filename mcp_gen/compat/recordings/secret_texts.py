"""Secrets in texts: headers, variables, options, URLs and encoded texts, by their form."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from typing import Protocol
from urllib.parse import unquote

from mcp_gen.compat.recordings.json_text import JsonText
from mcp_gen.compat.recordings.secret_names import (
    NO_SECRETS,
    PLACEHOLDER,
    WORDS,
    is_secret_name,
)

__all__ = ["SUSPICIOUS", "Hide", "SecretTexts", "credentials_of"]

_FORMS = rf"{WORDS}|basic|://|\\u|PRIVATE KEY-----|\beyJ|(?<![\w-])(?:-u|--user)\b"
SUSPICIOUS = re.compile(_FORMS.encode(), re.I)
"""Bytes of a message in which there may be a secret."""
MAX_ENCODED_CHARS = 65_536
"""Maximum length of a text that is looked into as base64."""

_URL = re.compile(r"(?:https?|wss?)://[^\s\"'<>\\]+", re.I)
_USER = re.compile(
    r"(?<![a-z0-9+.-])(?P<scheme>[a-z][a-z0-9+.-]{0,30}+://)(?P<user>[^\s/\"'<>\\:@]*+)"
    r":(?P<value>[^\s/\"'<>\\]+)@",
    re.I,
)
"""A password in a URL of any scheme, such as that of a database."""
_SCHEME = re.compile(r"\b(?P<scheme>bearer|basic|dpop)(?P<gap>\s+)(?P<value>[\w+/=.~-]{6,})", re.I)
_HEADER = re.compile(
    r"(?P<quote>['\"])?\b(?P<name>(?:proxy-)?authorization|(?:set-)?cookie)"
    r"(?P<gap>[ \t]*+:[ \t]*+)"
    r"(?P<value>(?(quote)(?:\\[^\r\n]|(?!(?P=quote))[^\r\n])++|[^\r\n]++))",
    re.I,
)
"""A header in a text: to the end of the line, or of the quotes that it stands in."""
_VARIABLE = re.compile(
    r"^(?P<before>[ \t]*+(?:export[ \t]++)?)(?P<name>[\w.-]{1,64}+)=(?P<value>[^\s\"'][^\r\n]*+)$",
    re.M,
)
"""A line of an environment: the value is what follows."""
_OPTION = re.compile(
    rf"(?<![\w-])(?P<name>--?[\w-]{{0,64}}?(?:{WORDS})[\w-]{{0,64}}+)(?P<gap>[ \t]++)"
    r"(?P<value>\"[^\"]*+\"?|'[^']*+'?|[^\s\"'\\,;<>(){}\[\]-][^\s\"'\\<>]*+)",
    re.I,
)
_USER_OPTION = re.compile(
    r"(?<![\w-])(?P<before>(?:-u|--user)[ \t]++[\"']?[^\s:\"']++:)(?P<value>[^\s\"']++)"
)
_QUOTED = re.compile(
    rf"(?P<before>(?:{WORDS})[\w.-]{{0,64}}+\s(?P<quote>[\"'`]))"
    r"(?P<value>[^\s\"'`]{6,}+)(?P=quote)",
    re.I,
)
"""A quoted value that follows its name, as in messages of errors."""
_PRIVATE_KEY = re.compile(
    r"(?P<before>-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----\s*+)(?P<value>(?:(?!-----)[\s\S])++)"
)
_JSON_WEB_TOKEN = re.compile(r"\b(?P<value>eyJ[\w-]{6,}+\.[\w-]{6,}+(?:\.[\w-]*+){1,3})")
_ENCODED = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,}+={0,2}")
_ENDS = re.compile(r"[\s,;&]")
_SCHEMES = ("bearer", "basic", "dpop")
_NO_VALUES = frozenset({"true", "false", "null", "none", "undefined"})


class Hide(Protocol):
    """Returns what stands for a secret."""

    def __call__(self, secret: str, /, *, is_known: bool = True) -> str:
        """Return the placeholder; a known secret is replaced wherever it appears."""
        ...


class SecretTexts:
    """Replaces secrets in texts by their form.

    Args:
        names: Names of secrets beside those that look like it.
        hide: Returns the placeholder of a secret.
        hide_number: Returns the placeholder of a number in JSON.
        known: Returns True if a text holds a secret that is known.
    """

    def __init__(
        self,
        names: Iterable[str],
        hide: Hide,
        hide_number: Callable[[str], str],
        known: Callable[[str], bool],
    ) -> None:
        self._names = frozenset(names)
        self._hide = hide
        self._hide_number = hide_number
        self._is_known = known
        words = "|".join([WORDS, *map(re.escape, sorted(self._names))])
        self._words = re.compile(words, re.I)
        self._forms = re.compile(f"{_FORMS}|{words}", re.I)
        # A value may stand in quotes, in those of a text inside of JSON too.
        self._named = re.compile(
            rf"(?P<name>(?:{words})[\w.-]{{0,64}}+)"
            r"(?P<gap>\\*[\"']?\]?(?:\s(?:provided|given|used|value|\([^()\s]{1,32}\)))?"
            r"\s{0,8}+(?::=|[:=]>?|->)\s{0,8}+|>(?=[^\s<>]))"
            r"(?P<value>\\+\"[^\"]*+\"?|\\+'[^']*+'?|\"(?:[^\"\\]|\\[\s\S])*+\"?"
            r"|'(?:[^'\\]|\\[\s\S])*+'?|[^\s\"'\\,;&<>(){}\[\]]++)",
            re.I,
        )

    def replaced(self, text: str) -> str:
        """Return a text without its secrets."""
        if not self._forms.search(text):
            return _ENCODED.sub(self._encoded_hidden, text)
        if '"' in text and (self._words.search(text) or "\\u" in text):
            text = JsonText(text, self._names_secret, self._hide, self._hide_number).replaced()
        text = _PRIVATE_KEY.sub(self._after_hidden, text)
        text = _HEADER.sub(self._header_hidden, text)
        text = _VARIABLE.sub(self._variable_hidden, text)
        text = self._named.sub(self._named_hidden, text)
        text = _OPTION.sub(self._option_hidden, text)
        text = _USER_OPTION.sub(self._after_hidden, text)
        text = _QUOTED.sub(self._quoted_hidden, text)
        text = _SCHEME.sub(self._scheme_hidden, text)
        text = _URL.sub(lambda found: self.without_query(found[0]), text)
        text = _USER.sub(self._user_hidden, text)
        text = _JSON_WEB_TOKEN.sub(lambda found: self._hidden(found["value"]), text)
        return _ENCODED.sub(self._encoded_hidden, text)

    def holds_secret(self, value: object) -> bool:
        """Return True if a value is a text with a secret in it."""
        return isinstance(value, str) and self.replaced(value) != value

    def is_suspicious(self, text: str) -> bool:
        """Return True if a text has a secret in another encoding."""
        return any(self._encoded_hidden(found) != found[0] for found in _ENCODED.finditer(text))

    def without_query(self, url: str) -> str:
        """Return a URL, or a path, without user info, fragment and the values of its query."""
        url, hash_mark, fragment = url.partition("#")
        url, mark, query = url.partition("?")
        scheme, slashes, rest = url.partition("://")
        if slashes:
            host, slash, path = rest.partition("/")
            user, at, name = host.rpartition("@")
            self._hidden(user.partition(":")[2])
            host = f"{self._hidden(user)}@{name}" if at else host
            url = f"{scheme}://{host}{slash}{path}"
        return f"{url}{mark}{self.query(query)}{hash_mark}{self._hidden(fragment)}"

    def query(self, query: str) -> str:
        """Return a query, or a form, without its values."""
        pairs: list[str] = []
        for pair in query.split("&"):
            name, equals, value = pair.partition("=")
            # A pair without `=` may be a secret itself.
            secret = value if equals else name
            pairs.append(f"{name}=" * bool(equals) + self._hidden(unquote(secret)))
        return "&".join(pairs)

    def _names_secret(self, name: str) -> bool:
        return is_secret_name(name) or name in self._names

    # --- what is found ---

    def _hidden(self, value: str) -> str:
        is_done = not value or PLACEHOLDER.search(value)
        # A word of a sentence is no secret elsewhere.
        return value if is_done else self._hide(value, is_known=not _is_word(value))

    def _after_hidden(self, found: re.Match[str]) -> str:
        return f"{found['before']}{self._hidden(found['value'])}"

    def _header_hidden(self, found: re.Match[str]) -> str:
        name, value = found["name"].lower(), found["value"]
        if PLACEHOLDER.search(value):
            return found[0]
        for secret in credentials_of(name, value):
            self._hidden(secret)
        scheme, space, credentials = value.partition(" ")
        is_split = name.endswith("authorization") and space and scheme.isidentifier()
        shown, hidden = (f"{scheme} ", credentials) if is_split else ("", value)
        return f"{found['quote'] or ''}{found['name']}{found['gap']}{shown}{self._hidden(hidden)}"

    def _variable_hidden(self, found: re.Match[str]) -> str:
        value = found["value"]
        if not self._names_secret(found["name"]) or value.lower() in _NO_VALUES:
            return found[0]
        if not PLACEHOLDER.search(value):
            # A sentence may follow: the secret alone can appear elsewhere.
            self._hidden(_ENDS.split(value)[0])
        return f"{found['before']}{found['name']}={self._hidden(value)}"

    def _named_hidden(self, found: re.Match[str]) -> str:
        bare = found["value"].strip("\\\"'")
        if bare.lower() in _NO_VALUES or not bare or _is_label(found):
            return found[0]
        if PLACEHOLDER.search(bare) or bare.lower() in _SCHEMES:
            return found[0]
        before, _, after = found["value"].partition(bare)
        return f"{found['name']}{found['gap']}{before}{self._hidden(bare)}{after}"

    def _option_hidden(self, found: re.Match[str]) -> str:
        bare = found["value"].strip("\"'")
        # Such as "use --token to ...".
        if bare.isalpha() and len(bare) < 6:
            return found[0]
        before, _, after = found["value"].partition(bare)
        return f"{found['name']}{found['gap']}{before}{self._hidden(bare)}{after}"

    def _quoted_hidden(self, found: re.Match[str]) -> str:
        # Names have fewer digits: the error of a missing key tells its name.
        if sum(map(str.isdigit, found["value"])) < 2:
            return found[0]
        return f"{found['before']}{self._hidden(found['value'])}{found['quote']}"

    def _scheme_hidden(self, found: re.Match[str]) -> str:
        # Words of a sentence, such as "basic functions", have letters alone.
        if found["value"].isalpha() and len(found["value"]) < 16:
            return found[0]
        return f"{found['scheme']}{found['gap']}{self._hidden(found['value'])}"

    def _user_hidden(self, found: re.Match[str]) -> str:
        return f"{found['scheme']}{found['user']}:{self._hidden(found['value'])}@"

    def _encoded_hidden(self, found: re.Match[str]) -> str:
        encoded = found[0]
        if len(encoded) > MAX_ENCODED_CHARS:
            return encoded
        plain = encoded.rstrip("=").replace("-", "+").replace("_", "/")
        try:
            data = base64.b64decode(plain + "=" * (-len(plain) % 4))
        except ValueError:
            return encoded
        try:
            text = data.decode()
        except UnicodeDecodeError:
            is_secret = self._is_known(data.decode("latin-1"))
        else:
            is_secret = self._is_known(text) or (
                SUSPICIOUS.search(data) is not None and self.replaced(text) != text
            )
        return self._hidden(encoded) if is_secret else encoded


def credentials_of(name: str, value: str) -> Iterable[str]:
    """Yield the secrets in the value of a header.

    Args:
        name: Its name in lower case.
        value: The value.
    """
    if name == "cookie":
        yield from (part.partition("=")[2].strip() for part in value.split(";"))
    elif name == "set-cookie":
        yield value.partition(";")[0].partition("=")[2].strip()
    else:
        scheme, _, credentials = value.strip().rpartition(" ")
        yield credentials
        yield from re.findall(r'="([^"]*)"', value)
        if scheme.lower() == "basic":
            try:
                yield base64.b64decode(credentials).decode("latin-1").partition(":")[2]
            except ValueError:
                return


def _is_word(text: str) -> bool:
    return text.isalpha() and len(text) < 16


def _is_label(found: re.Match[str]) -> bool:
    """Return True for the end of a name that is no secret, such as that of `progressToken`."""
    before = found.string[max(0, found.start() - 8) : found.start()]
    return any((before + found["name"]).endswith(name) for name in NO_SECRETS)

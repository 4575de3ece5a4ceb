"""Redactor: replaces secrets in what is recorded, each by a placeholder of its own."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from mcp_gen.compat.json_values import Json, is_array, is_object
from mcp_gen.compat.recordings.json_text import JsonText
from mcp_gen.compat.recordings.pointers import read_pointer, replaced_at

__all__ = ["PLACEHOLDER", "Redactor", "is_secret_name"]

PLACEHOLDER = re.compile(r"<redacted-\d+>")
"""The form of placeholders."""

HEADERS = frozenset(
    {
        "authorization",
        "cookie",
        "dpop",
        "mcp-session-id",
        "proxy-authorization",
        "set-cookie",
    }
)
"""Headers whose values are replaced as a whole, beside those with the name of a secret."""
NO_SECRETS = frozenset({"progressToken", "maxTokens"})
"""Names of the protocol that look like those of secrets, and are none: a label and a number."""
SCHEMAS = frozenset({"inputSchema", "outputSchema", "requestedSchema"})
"""Members that are JSON Schemas: there, names of properties have no values."""
VALUES_OF_SCHEMAS = frozenset({"default", "const", "enum", "examples"})
NAMED_SCHEMAS = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
NAMES_OF_SCHEMAS = frozenset({"required", "dependentRequired", "type", "$ref"})

MIN_KNOWN_CHARS = 6
"""Shorter secrets are replaced where they are named, and not searched for elsewhere."""
MAX_KNOWN = 1000
"""Maximum number of secrets that are searched for: the latest ones."""
MAX_PLACEHOLDERS = 100_000
"""Maximum number of values that keep their placeholder: the latest ones."""

_WORDS = r"token|secret|passw|pwd|key|credential|authorization|cookie|requestState|dpop|session.?id"
_NAME = re.compile(_WORDS, re.I)
_SUSPICIOUS = re.compile(rf"{_WORDS}|bearer|basic|://|\\\\u".encode(), re.I)
_URL = re.compile(r"(?:https?|wss?)://[^\s\"'<>\\]+", re.I)
_SCHEME = re.compile(r"\b(?P<scheme>bearer|basic|dpop)(?P<gap>\s+)(?P<value>[\w+/=.~-]{6,})", re.I)
_NO_VALUES = frozenset({"true", "false", "null", "none", "undefined"})


def is_secret_name(name: str) -> bool:
    """Return True if the value of a member, argument, header or parameter is a secret."""
    return _NAME.search(name) is not None and name not in NO_SECRETS


class Redactor:
    """Replaces secrets by placeholders; the same value has the same one throughout.

    A value is a secret by its name, by its place (headers, queries of URLs), or by a pointer. From
    then on it is replaced wherever it appears, if it has at least 6 characters.

    Args:
        pointers: JSON pointers to parts of messages that are replaced as well.
        known: Secrets that are known beforehand.

    Raises:
        UsageError: a pointer is none.
    """

    def __init__(self, pointers: Sequence[str] = (), known: Iterable[str] = ()) -> None:
        self._pointers = [read_pointer(one) for one in pointers]
        names = {one[-1] for one in self._pointers} - {"*"}
        words = "|".join([_WORDS, *map(re.escape, sorted(names))])
        # A value may stand in quotes, in those of a text inside of JSON too.
        self._named = re.compile(
            rf"(?P<name>(?:{words})[\w.-]{{0,64}}+)(?P<gap>\\*[\"']?\s{{0,8}}+[:=]\s{{0,8}}+)"
            r"(?P<value>\\*\"[^\"]*+\"?|\\*'[^']*+'?|[^\s\"'\\,;&<>(){}\[\]]++)",
            re.I,
        )
        self._extra_names = names
        self._placeholders: dict[str, str] = {}
        self._last = 0
        self._known: dict[str, str] = {}
        """Texts that are searched for, with their placeholders."""
        self._search: re.Pattern[str] | None = None
        for secret in known:
            self.learn(secret)

    def learn(self, secret: str) -> None:
        """Take a text for a secret from now on."""
        self._placeholder(secret, is_known=True)

    # --- places ---

    def message(self, value: Any) -> Any:
        """Return a JSON-RPC message, or a batch of them, without secrets."""
        for pointer in self._pointers:
            if is_array(value):
                value = [replaced_at(one, pointer, self._hidden) for one in value]
            else:
                value = replaced_at(value, pointer, self._hidden)
        if not self._is_suspicious(value):
            return value
        number = self._last
        found = self._value(value)
        # What became known late in the message may stand at its beginning.
        return found if self._last == number else self._value(value)

    def text(self, text: str) -> str:
        """Return a text that is no JSON, or that stands in a message, without secrets."""
        number = self._last
        found = self._text(text)
        return found if self._last == number else self._text(text)

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return HTTP headers without secrets.

        Args:
            headers: The values by names in lower case.
        """
        return {name: self._header(name, value) for name, value in headers.items()}

    def path(self, text: str) -> str:
        """Return a path with its query, or a URL, without the values of the query."""
        return self._without_query(text)

    def form(self, text: str) -> str:
        """Return the body of a form without its values."""
        return self._query(text)

    # --- values ---

    def _value(self, value: Any, *, secret: bool = False) -> Any:
        if isinstance(value, str):
            return self._hidden(value) if secret else self._text(value)
        if is_object(value):
            return {self._known_hidden(k): self._member(value, k, secret) for k in value}
        if is_array(value):
            return [self._value(one, secret=secret) for one in value]
        return self._hidden(value) if secret else value

    def _member(self, owner: Json, name: str, secret: bool) -> Any:
        value = owner[name]
        if secret:
            return self._value(value, secret=True)
        if name in SCHEMAS and is_object(value):
            return self._schema(value)
        if name == "inputRequests" and is_object(value):
            # Names of requests: a request for a secret holds none yet.
            return {key: self._value(one) for key, one in value.items()}
        if name == "inputResponses" and is_object(value):
            return {key: self._response(key, one) for key, one in value.items()}
        if name == "value" and self._is_named(owner.get("name")):
            return self._value(value, secret=True)
        return self._value(value, secret=self._is_named(name))

    def _response(self, key: str, response: Any) -> Any:
        """Return an answer; its content is a secret if the request for it is named so."""
        if not is_object(response) or not self._is_named(key):
            return self._value(response)
        return {name: self._value(one, secret=name == "content") for name, one in response.items()}

    def _schema(self, schema: Any, *, secret: bool = False) -> Any:
        if is_array(schema):
            return [self._schema(one, secret=secret) for one in schema]
        if not is_object(schema):
            return self._value(schema)
        made: Json = {}
        for name, value in schema.items():
            if name in VALUES_OF_SCHEMAS:
                made[name] = self._value(value, secret=secret)
            elif name in NAMED_SCHEMAS and is_object(value):
                made[name] = {
                    key: self._schema(one, secret=self._is_named(key)) for key, one in value.items()
                }
            elif name in NAMES_OF_SCHEMAS:
                made[name] = value
            else:
                made[name] = self._schema(value, secret=secret)
        return made

    def _is_named(self, name: Any) -> bool:
        return isinstance(name, str) and is_secret_name(name)

    # --- texts ---

    def _text(self, text: str) -> str:
        if '"' in text and (_NAME.search(text) or "\\u" in text):
            text = JsonText(text, self._names_secret, self._hidden).replaced()
        text = self._named.sub(self._named_hidden, text)
        text = _SCHEME.sub(self._scheme_hidden, text)
        text = _URL.sub(lambda found: self._without_query(found[0]), text)
        return self._known_hidden(text)

    def _names_secret(self, name: str) -> bool:
        return is_secret_name(name) or name in self._extra_names

    def _named_hidden(self, found: re.Match[str]) -> str:
        bare = found["value"].strip("\\\"'")
        if bare.lower() in _NO_VALUES or not bare or _is_label(found):
            return found[0]
        if PLACEHOLDER.fullmatch(bare) or bare.lower() in ("bearer", "basic", "dpop"):
            return found[0]
        before, _, after = found["value"].partition(bare)
        return f"{found['name']}{found['gap']}{before}{self._hidden(bare)}{after}"

    def _scheme_hidden(self, found: re.Match[str]) -> str:
        # Words of a sentence, such as "basic functions", have letters alone.
        if found["value"].isalpha() and len(found["value"]) < 16:
            return found[0]
        return f"{found['scheme']}{found['gap']}{self._hidden(found['value'])}"

    def _without_query(self, url: str) -> str:
        url, hash_mark, fragment = url.partition("#")
        url, mark, query = url.partition("?")
        scheme, slashes, rest = url.partition("://")
        if slashes:
            host, slash, path = rest.partition("/")
            user, at, name = host.rpartition("@")
            self._secret_text(user.partition(":")[2])
            host = f"{self._secret_text(user)}@{name}" if at else host
            url = f"{scheme}://{host}{slash}{path}"
        query = self._query(query)
        fragment = self._secret_text(fragment)
        return f"{url}{mark}{query}{hash_mark}{fragment}"

    def _query(self, query: str) -> str:
        pairs: list[str] = []
        for pair in query.split("&"):
            name, equals, value = pair.partition("=")
            # A pair without `=` may be a secret itself.
            secret = value if equals else name
            pairs.append(f"{name}=" * bool(equals) + self._secret_text(unquote(secret)))
        return "&".join(pairs)

    def _header(self, name: str, value: str) -> str:
        if name in HEADERS or is_secret_name(name):
            for secret in _parts(name, value):
                self.learn(secret)
            return self._secret_text(value)
        if value.startswith("/"):
            return self.path(value)
        return self.text(value)

    # --- placeholders ---

    def _hidden(self, value: Any) -> Any:
        """Return the placeholder of a value; of an object or array, one with its leaves hidden."""
        if is_object(value):
            return {key: self._hidden(one) for key, one in value.items()}
        if is_array(value):
            return [self._hidden(one) for one in value]
        if value is None or isinstance(value, bool) or value == "":
            return value
        if isinstance(value, str):
            return self._secret_text(value)
        return self._placeholder(json.dumps(value), is_known=False)

    def _secret_text(self, text: str) -> str:
        is_done = not text or PLACEHOLDER.fullmatch(text)
        return text if is_done else self._placeholder(text, is_known=True)

    def _placeholder(self, secret: str, *, is_known: bool) -> str:
        found = self._placeholders.get(secret)
        if found is None:
            self._last += 1
            found = f"<redacted-{self._last}>"
            _keep(self._placeholders, secret, found, MAX_PLACEHOLDERS)
        if is_known and len(secret.strip()) >= MIN_KNOWN_CHARS and secret not in self._known:
            _keep(self._known, secret, found, MAX_KNOWN)
            self._search = None
        return found

    def _known_hidden(self, text: str) -> str:
        if not self._known:
            return text
        if self._search is None:
            self._forms = {
                form: shown for one, shown in self._known.items() for form in _forms(one)
            }
            longest_first = sorted(self._forms, key=len, reverse=True)
            self._search = re.compile("|".join(map(re.escape, longest_first)))
        return self._search.sub(lambda found: self._forms[found[0]], text)

    def _is_suspicious(self, value: Any) -> bool:
        """Return True if a message may hold a secret: most hold none, which is fast to see."""
        encoded = msgspec.json.encode(value)
        if _SUSPICIOUS.search(encoded):
            return True
        text = encoded.decode("utf-8", "replace")
        return self._known_hidden(text) != text


def _is_label(found: re.Match[str]) -> bool:
    """Return True for the end of a name that is no secret, such as that of `progressToken`."""
    before = found.string[max(0, found.start() - 8) : found.start()]
    return any((before + found["name"]).endswith(name) for name in NO_SECRETS)


def _parts(name: str, value: str) -> Iterable[str]:
    """Yield the secrets in the value of a header."""
    if name == "cookie":
        yield from (part.partition("=")[2].strip() for part in value.split(";"))
    elif name == "set-cookie":
        yield value.partition(";")[0].partition("=")[2].strip()
    else:
        scheme, _, credentials = value.rpartition(" ")
        yield credentials
        if scheme.lower() == "basic":
            with suppress(ValueError):
                yield base64.b64decode(credentials).decode("latin-1").partition(":")[2]


def _keep(kept: dict[str, str], key: str, value: str, most: int) -> None:
    if len(kept) >= most:
        del kept[next(iter(kept))]
    kept[key] = value


def _forms(secret: str) -> Iterable[str]:
    """Return the forms in which a text may stand in others."""
    return {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}

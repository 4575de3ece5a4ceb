"""Redactor: replaces secrets in what is recorded, each by a placeholder of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

import mcp_wire
from mcp_gen.compat.json_values import Json, is_array, is_object
from mcp_gen.compat.method_names import methods_of
from mcp_gen.compat.recordings.pointers import read_pointer, replaced_at
from mcp_gen.compat.recordings.secret_names import HEADERS, PLACEHOLDER, is_secret_name
from mcp_gen.compat.recordings.secret_texts import SUSPICIOUS, SecretTexts, credentials_of

__all__ = ["Redactor"]

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

PROTOCOL_WORDS = frozenset(
    {
        *(name for row in mcp_wire.REVISIONS for name in methods_of(mcp_wire.profile(row))),
        *("array", "boolean", "integer", "number", "object", "string"),
        *("assistant", "resource", "resource_link", "tool_use", "tool_result"),
        *("accept", "cancel", "decline", "elicitation", "sampling"),
        *("cancelled", "complete", "completed", "failed", "input_required", "working"),
    }
)
"""Values of the protocol: a message without them could not be played again."""
_IDENTIFIER = re.compile(r"[A-Za-z_]+")
_HEADER_NAME = re.compile(r"[\w.]+(?:-[\w.]+)+")


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
        self._texts = SecretTexts(names, self._secret_text, self._number, self._holds_known)
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
        return self._texts.without_query(text)

    def form(self, text: str) -> str:
        """Return the body of a form without its values."""
        return self._texts.query(text)

    # --- values ---

    def _value(self, value: Any, *, secret: bool = False) -> Any:
        if isinstance(value, str):
            return self._hidden(value) if secret else self._text(value)
        if is_object(value):
            return {self._shown_name(k): self._member(value, k, secret) for k in value}
        if is_array(value):
            return self._entries(value, secret)
        return self._hidden(value) if secret else value

    def _entries(self, values: list[Any], secret: bool) -> list[Any]:
        """Return an array; an option may be followed by its value, a header be a pair."""
        made: list[Any] = []
        before: Any = None
        for one in values:
            is_named = self._is_named(before) and (
                before.startswith("-")
                or (len(values) == 2 and _is_header_name(before) and isinstance(one, str))
            )
            made.append(self._value(one, secret=secret or is_named))
            before = one
        return made

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
        if name == "value" and any(self._is_named(owner.get(one)) for one in ("name", "key")):
            return self._value(value, secret=True)
        if name == "key" and "value" in owner and self._is_named(value):
            return value
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
            return self._value(schema, secret=secret)
        made: Json = {}
        for name, value in schema.items():
            if name in VALUES_OF_SCHEMAS:
                made[name] = self._value(value, secret=secret)
            elif name in NAMED_SCHEMAS and is_object(value):
                made[name] = {
                    key: self._schema(one, secret=self._is_named(key)) for key, one in value.items()
                }
            elif name in NAMES_OF_SCHEMAS and not self._texts.holds_secret(value):
                made[name] = value
            elif is_object(value) or is_array(value):
                made[name] = self._schema(value, secret=secret)
            else:
                made[name] = self._value(value, secret=self._is_named(name))
        return made

    def _is_named(self, name: Any) -> bool:
        return isinstance(name, str) and is_secret_name(name)

    def _shown_name(self, name: str) -> str:
        # A word is one of the protocol, or of a tool's arguments.
        return name if _IDENTIFIER.fullmatch(name) else self._known_hidden(name)

    def _text(self, text: str) -> str:
        # Known ones first: an echo is replaced as what it repeats, whatever stands around it.
        return self._known_hidden(self._texts.replaced(self._known_hidden(text)))

    def _header(self, name: str, value: str) -> str:
        if name in HEADERS or is_secret_name(name):
            for secret in credentials_of(name, value):
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
        return self._number(json.dumps(value))

    def _secret_text(self, text: str, /, *, is_known: bool = True) -> str:
        is_done = not text or PLACEHOLDER.fullmatch(text)
        return text if is_done else self._placeholder(text, is_known=is_known)

    def _number(self, text: str) -> str:
        return self._placeholder(text, is_known=False, kind="number-")

    def _placeholder(self, secret: str, *, is_known: bool, kind: str = "") -> str:
        found = self._placeholders.get(kind + secret)
        if found is None:
            self._last += 1
            found = f"<redacted-{kind}{self._last}>"
            _keep(self._placeholders, kind + secret, found, MAX_PLACEHOLDERS)
        is_long = len(secret.strip()) >= MIN_KNOWN_CHARS and secret not in PROTOCOL_WORDS
        if is_known and is_long and secret not in self._known:
            _keep(self._known, secret, found, MAX_KNOWN)
            self._search = None
        return found

    def _holds_known(self, text: str) -> bool:
        return self._known_hidden(text) != text

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
        if SUSPICIOUS.search(encoded):
            return True
        text = encoded.decode("utf-8", "replace")
        return self._holds_known(text) or self._texts.is_suspicious(text)


def _is_header_name(text: str) -> bool:
    return text.lower() in HEADERS or _HEADER_NAME.fullmatch(text) is not None


def _keep(kept: dict[str, str], key: str, value: str, most: int) -> None:
    if len(kept) >= most:
        del kept[next(iter(kept))]
    kept[key] = value


def _forms(secret: str) -> Iterable[str]:
    """Return the forms in which a text may stand in others."""
    return {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}

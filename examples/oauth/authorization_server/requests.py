"""Received requests: what tests read in the log, and what endpoints read of parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from examples.oauth.authorization_server.errors import OAuthError

__all__ = ["Parameters", "Received"]

FORM = "application/x-www-form-urlencoded"
MOST_PARAMETERS = 64
REPEATABLE = frozenset({"resource", "audience"})
"""Parameters that may stand in a request more than once (RFC 8707, RFC 8693)."""


class Parameters(Mapping[str, str]):
    """Parameters of a query or a form. One without a value counts as absent (RFC 6749)."""

    def __init__(self, encoded: str = "") -> None:
        try:
            pairs = parse_qsl(encoded, max_num_fields=MOST_PARAMETERS, errors="strict")
        except ValueError:
            raise OAuthError("invalid_request", "too many parameters, or no UTF-8") from None
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def __getitem__(self, name: str) -> str:
        return self._values[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value of a parameter that may be repeated."""
        return tuple(self._values.get(name, ()))

    def required(self, name: str) -> str:
        """Return the value of a parameter.

        Raises:
            OAuthError: it is missing.
        """
        try:
            return self[name]
        except KeyError:
            raise OAuthError("invalid_request", f"{name} is missing") from None

    def with_default(self, name: str, value: str) -> Parameters:
        """Return the parameters, and this one where it is absent."""
        found = Parameters()
        found._values = {name: [value], **self._values}
        return found

    def refuse_repeated(self, *names: str) -> None:
        """Refuse parameters that stand twice: the named ones, or all that must not.

        Raises:
            OAuthError: one does.
        """
        for name in names or self._values.keys() - REPEATABLE:
            if len(self._values.get(name, ())) > 1:
                raise OAuthError("invalid_request", f"{name} is repeated")


@dataclass(frozen=True)
class Received:
    """Request to the authorization server. Header names are lower case."""

    method: str
    path: str
    query_string: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def endpoint(self) -> str:
        """Last part of the path, such as `token`."""
        return self.path.rpartition("/")[2]

    @property
    def query(self) -> Parameters:
        """Parameters of the query.

        Raises:
            OAuthError: they are too many, or no UTF-8.
        """
        return Parameters(self.query_string)

    @property
    def form(self) -> Parameters:
        """Parameters of the body.

        Raises:
            OAuthError: the body is no form.
        """
        content_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type != FORM:
            raise OAuthError("invalid_request", f"the content type must be {FORM}")
        try:
            text = self.body.decode("ascii")
        except UnicodeDecodeError:
            raise OAuthError("invalid_request", "the form is not URL-encoded") from None
        return Parameters(text)

    @property
    def parameters(self) -> Parameters:
        """Parameters of the body of a POST, or of the query."""
        return self.form if self.method == "POST" else self.query

"""Errors of OAuth endpoints: a code of RFC 6749 or its extensions, a status, a sentence."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["OAuthError"]


class OAuthError(Exception):
    """Refusal of a request, as the JSON of RFC 6749, section 5.2.

    Args:
        error: Code, such as `invalid_grant`.
        description: Sentence for the developer of the client.
        status: HTTP status; None: 401 for `invalid_client`, else 400.
        headers: More headers of the response.
    """

    def __init__(
        self,
        error: str,
        description: str,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{error}: {description}")
        self.error = error
        self.description = description
        self.status = status or (401 if error == "invalid_client" else 400)
        self.headers = dict(headers or {})

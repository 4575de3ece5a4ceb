"""Proofs of a client for all its requests: one key, and the nonces that servers gave."""

from __future__ import annotations

import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from mcp_gen.auth.flows.challenges import bearer_challenge
from mcp_gen.auth.flows.exchange import HttpAnswer
from mcp_gen.auth.flows.targets import origin_of
from mcp_gen.auth.proofs.keys import SigningKey, decode_base64url
from mcp_gen.auth.proofs.making import make_proof
from mcp_gen.core.errors import AuthError

__all__ = ["KeyProofs"]

NONCE_WANTED = "use_dpop_nonce"
"""Error code of a server that asks for the nonce of its response.

Source: https://www.rfc-editor.org/rfc/rfc9449.html#section-8
"""
MAX_ORIGINS = 64
"""Number of servers whose nonces are remembered, the latest."""
MAX_NONCE_CHARS = 1024
MAX_REFUSED = 3
"""Number of nonces in a row that one server may give and then refuse."""

_NONCE = re.compile(r"[!#-\[\]-~]+")


class _Nonces:
    """Nonces of one role, by origin."""

    def __init__(self) -> None:
        self._latest: OrderedDict[object, str] = OrderedDict()
        self._refused: dict[object, set[str]] = {}

    def of(self, url: str) -> str | None:
        return self._latest.get(origin_of(url))

    def note(self, url: str, headers: Mapping[str, str]) -> None:
        nonce = headers.get("dpop-nonce", "")
        if len(nonce) > MAX_NONCE_CHARS or not _NONCE.fullmatch(nonce):
            return
        origin = origin_of(url)
        self._latest[origin] = nonce
        self._latest.move_to_end(origin)
        while len(self._latest) > MAX_ORIGINS:
            gone, _ = self._latest.popitem(last=False)
            self._refused.pop(gone, None)

    def accepted(self, url: str) -> None:
        self._refused.pop(origin_of(url), None)

    def refuse(self, url: str, nonce: str | None) -> bool:
        """Take notice of a refused nonce; return True if there is another one to try.

        Requests that were sent at the same time with the same nonce count as one.
        """
        origin = origin_of(url)
        latest = self._latest.get(origin)
        if latest is None or latest == nonce:
            return False
        if nonce is not None:
            refused = self._refused.setdefault(origin, set())
            refused.add(nonce)
            if len(refused) > MAX_REFUSED:
                # The next request begins anew.
                del self._refused[origin]
                return False
        return True


class KeyProofs:
    """Makes the DPoP proofs of one client; see `TokenProofs`. Its repr has no secret.

    Args:
        key: The key; None for a new one when the first proof is made.
        algorithm: Algorithm of the new key.
        clock: Returns the time in seconds since 1970.
        new_id: Returns random text that is used once.
    """

    def __init__(
        self,
        key: SigningKey | None = None,
        algorithm: str = "ES256",
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = secrets.token_urlsafe,
    ) -> None:
        self._key = key
        self._algorithm = algorithm
        self._clock = clock
        self._new_id = new_id
        self._sent: str | None = None
        self._at_servers = _Nonces()
        self._at_resources = _Nonces()

    @property
    def signing_key(self) -> SigningKey:
        """The key, made when it is first asked for."""
        if self._key is None:
            self._key = SigningKey.generate(self._algorithm)
        return self._key

    @property
    def key(self) -> str:
        """The private key as JWK text, to be stored with its tokens. It is a secret."""
        return msgspec.json.encode(self.signing_key.private_jwk()).decode()

    @property
    def algorithm(self) -> str:
        """The algorithm of the proofs."""
        return self._algorithm if self._key is None else self._key.algorithm

    def use_key(self, key: str) -> None:
        """Go on with the key of stored tokens.

        Args:
            key: What `key` was when they were stored.
        """
        if self._key is None or key != self.key:
            self._key = SigningKey.load(key)

    def headers(self, method: str, url: str) -> Mapping[str, str]:
        """Return the header of a request to an authorization server.

        Args:
            method: The HTTP method.
            url: The URL.
        """
        self._sent = self._at_servers.of(url)
        return {"dpop": self._proof(method, url, self._sent, None)}

    def answered(self, url: str, answer: HttpAnswer) -> bool:
        """Take notice of the response of an authorization server.

        Args:
            url: The URL.
            answer: The response.

        Returns:
            True if it has to be sent once more, with another nonce.
        """
        self._at_servers.note(url, answer.headers)
        if answer.status not in (400, 401) or _error_in(answer.body) != NONCE_WANTED:
            self._at_servers.accepted(url)
            return False
        return self._at_servers.refuse(url, self._sent)

    def resource_proof(self, method: str, url: str, access_token: str) -> str:
        """Return the proof of a request to a protected resource.

        Args:
            method: The HTTP method.
            url: The URL.
            access_token: The token that is sent along.
        """
        return self._proof(method, url, self._at_resources.of(url), access_token)

    def resource_answered(self, url: str, headers: Mapping[str, str]) -> None:
        """Take notice of the response of a protected resource, whatever its status.

        Args:
            url: The URL.
            headers: Its headers, names in lower case.
        """
        self._at_resources.note(url, headers)
        if "www-authenticate" not in headers:
            self._at_resources.accepted(url)

    def resource_refused(self, url: str, headers: Mapping[str, str], proof: str) -> bool:
        """Return True if a refused request should be sent once more, with another nonce.

        Args:
            url: The URL.
            headers: The headers of the refusal, names in lower case.
            proof: The proof that was sent.

        Raises:
            AuthError: The server refuses the nonces that it gives, or the proof itself.
        """
        error = bearer_challenge(headers).error
        if error == "invalid_dpop_proof":
            raise AuthError(
                "the server refused the DPoP proof (invalid_dpop_proof): check the clock of this "
                "machine, and that the server knows its own URL",
                error,
            )
        if error != NONCE_WANTED:
            return False
        if not self._at_resources.refuse(url, _nonce_in(proof)):
            raise AuthError(
                "the server refuses the DPoP nonces that it gives (use_dpop_nonce): ask its "
                "operator",
                error,
            )
        return True

    def _proof(self, method: str, url: str, nonce: str | None, access_token: str | None) -> str:
        return make_proof(
            self.signing_key,
            method,
            url,
            now=self._clock(),
            proof_id=self._new_id(),
            access_token=access_token,
            nonce=nonce,
        )

    def __repr__(self) -> str:
        return f"KeyProofs({self.algorithm})"


class _ErrorAnswer(Struct):
    error: str | None = None


class _ProofClaims(Struct):
    nonce: str | None = None


def _error_in(body: bytes) -> str | None:
    try:
        return msgspec.json.decode(body, type=_ErrorAnswer).error
    except (ValueError, RecursionError):
        return None


def _nonce_in(proof: str) -> str | None:
    return msgspec.json.decode(decode_base64url(proof.split(".")[1]), type=_ProofClaims).nonce

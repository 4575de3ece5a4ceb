"""Signs, encrypts and opens `requestState`."""

from __future__ import annotations

import base64
import binascii
import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Raw, Struct

from mcp_gen.core.errors import InvalidParams, UsageError

__all__ = ["RequestState", "RequestStateSealer", "check_value"]

MIN_KEY_BYTES = 16

_SIGNED, _ENCRYPTED = "s", "e"
_NONCE_BYTES = 12

_RETRY_HINT = "make the request anew, without it - at `$.requestState`"


class RequestState(Struct, omit_defaults=True):
    """State of a multi round-trip request, as JSON. Clients can read it unless it is encrypted."""

    round: int
    """Number of the next run of the handler; the first was 1."""
    expires: int
    """Expiry time, in seconds since 1970."""
    asked: list[str] = []
    """Keys of the open input requests."""
    returned: bool = False
    """True if the handler returned the input requests itself and reads `input_responses`."""
    answers: dict[str, Raw] = {}
    """Responses of earlier rounds, by key."""
    responses: dict[str, Raw] | None = None
    """The `input_responses` that the handler has seen and sees again in the next run."""
    state: str | None = None
    """State of the handler itself."""
    once_store_id: str | None = None
    """Name of the values of `once` in the `OnceStore`."""
    in_vain: bool = False
    """True if the client has not answered a question of some round in a way that fits."""


class RequestStateSealer:
    """Seals and opens `requestState`.

    With keys, states are signed, and also encrypted if `cryptography` is installed. Without keys
    they are signed with a random key of this process: no other process can open them.

    Args:
        keys: Keys of at least 16 bytes each. The first one seals, all of them open.
        ttl_s: Seconds for which a state is valid, more than 0.

    Raises:
        UsageError: A key is too short, or `ttl_s` is not above 0.
    """

    def __init__(self, keys: Sequence[str | bytes], ttl_s: float) -> None:
        encoded = [key.encode() if isinstance(key, str) else key for key in keys]
        if any(len(key) < MIN_KEY_BYTES for key in encoded):
            raise UsageError(
                f"request_state_keys: a key has at least {MIN_KEY_BYTES} bytes; "
                "`secrets.token_urlsafe(32)` makes a good one, once for all processes"
            )
        if ttl_s <= 0:
            raise UsageError(f"request_state_ttl_s={ttl_s:g}: a state lives for more than 0 s")
        self.ttl_s = ttl_s
        self._configured_keys = encoded
        self._shared_keys: Callable[[], Sequence[bytes]] | None = None
        self._ciphers_of: tuple[Sequence[bytes], list[Any]] = (), []

    def share_keys(self, keys: Callable[[], Sequence[bytes]]) -> None:
        """Use keys that several nodes share, unless the user has given some.

        Args:
            keys: Returns the keys as they are now, the newest first; empty before there are any.
        """
        if not self._configured_keys:
            self._shared_keys = keys

    @cached_property
    def _own_key(self) -> bytes:
        return os.urandom(32)

    @property
    def _known_keys(self) -> Sequence[bytes]:
        """Keys that other processes know as well."""
        return self._configured_keys if self._shared_keys is None else self._shared_keys()

    @property
    def _keys(self) -> Sequence[bytes]:
        return self._known_keys or [self._own_key]

    @property
    def _ciphers(self) -> list[Any]:
        """Cipher of each key; empty without keys or without `cryptography`."""
        keys, made = self._known_keys, self._ciphers_of
        if made[0] != keys:
            made = self._ciphers_of = keys, _ciphers_for(keys)
        return made[1]

    def expiry(self) -> int:
        """Return the expiry time of a state that is sealed now, in seconds since 1970."""
        return int(time.time() + self.ttl_s)

    def seal(self, state: RequestState, bound_to: bytes) -> str:
        """Return a state as text that only opens with the same `bound_to`."""
        plain = msgspec.json.encode(state)
        if self._ciphers:
            nonce = os.urandom(_NONCE_BYTES)
            return _ENCRYPTED + _encode_base64(
                nonce + self._ciphers[0].encrypt(nonce, plain, bound_to)
            )
        signature = _sign(self._keys[0], plain, bound_to)
        return f"{_SIGNED}{_encode_base64(plain)}.{_encode_base64(signature)}"

    def open(self, text: str, bound_to: bytes) -> RequestState:
        """Return the state that was sealed as `text`.

        Raises:
            InvalidParams: It was sealed with another key or another `bound_to`, or it has expired.
        """
        state = None
        try:
            plain = self._decode_sealed(text[:1], text[1:], bound_to)
            if plain is not None:
                # Without a decoder of its own, which every server would make and few would use.
                state = msgspec.json.decode(plain, type=RequestState)
        except (binascii.Error, ValueError):
            pass
        if state is None:
            raise InvalidParams(f"this server gave no such state for this request: {_RETRY_HINT}")
        if state.expires < time.time():
            raise InvalidParams(f"the state has expired: {_RETRY_HINT}")
        return state

    def _decode_sealed(self, kind: str, text: str, bound_to: bytes) -> bytes | None:
        if kind == _SIGNED:
            return self._verified(text, bound_to)
        return self._decrypted(text, bound_to) if kind == _ENCRYPTED else None

    def _verified(self, text: str, bound_to: bytes) -> bytes | None:
        # Loaded with the first state, as in `_digest`.
        from hmac import compare_digest

        body, _, signature = text.partition(".")
        plain, received = _decode_base64(body), _decode_base64(signature)
        matches = [compare_digest(_sign(key, plain, bound_to), received) for key in self._keys]
        return plain if any(matches) else None

    def _decrypted(self, text: str, bound_to: bytes) -> bytes | None:
        if not self._ciphers:
            return None
        # Optional: part of an extra.
        from cryptography.exceptions import InvalidTag

        sealed = _decode_base64(text)
        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                plain: bytes = cipher.decrypt(nonce, body, bound_to)
            except InvalidTag:
                continue
            return plain
        return None


def check_value(key: str, value: Any) -> None:
    """Check that a value of `once` is the same after it was stored as JSON.

    Raises:
        UsageError: It is not: another node would get something else than the first round.
    """
    try:
        same = msgspec.json.decode(msgspec.json.encode(value)) == value
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise UsageError(
            f"ctx.once({key!r}): a cluster stores its value as JSON, from which "
            f"{type(value).__name__} does not come back: return None, a bool, a number, a text, or "
            "a list or dict of these"
        )


def _ciphers_for(keys: Sequence[bytes]) -> list[Any]:
    try:
        # Imported here, as above, because `cryptography` is optional.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        return []
    return [AESGCM(_derive_key(key, b"encrypt")) for key in keys]


def _derive_key(key: bytes, purpose: bytes) -> bytes:
    """Derive a key per purpose, so that no key serves two."""
    return _digest(key, b"mcp_gen state: " + purpose)


def _sign(key: bytes, plain: bytes, bound_to: bytes) -> bytes:
    # `bound_to` comes first: its length is fixed, so the boundary cannot be shifted.
    return _digest(_derive_key(key, b"sign"), bound_to + plain)


def _digest(key: bytes, data: bytes) -> bytes:
    # Loaded with the first state: OpenSSL's bindings take a while to import.
    import hmac

    return hmac.digest(key, data, "sha256")


def _encode_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode_base64(text: str) -> bytes:
    padded = text.encode("ascii") + b"=" * (-len(text) % 4)
    data = base64.b64decode(padded, altchars=b"-_", validate=True)
    if _encode_base64(data) != text:
        raise ValueError("another spelling of the same bytes")
    return data

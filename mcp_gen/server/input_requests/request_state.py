"""What travels through the client between rounds, which it can neither change nor use elsewhere."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Raw, Struct

from mcp_gen.core.errors import InvalidParams, UsageError

__all__ = ["OnceStore", "RequestState", "RequestStateSealer"]

MIN_KEY_BYTES = 16
MAX_KEPT = 1000

_SIGNED, _ENCRYPTED = "s", "e"
_NONCE_BYTES = 12

_ANEW = "make the request anew, without it - at `$.requestState`"


class RequestState(Struct, omit_defaults=True):
    """Where a request stands, as JSON: a client can read it, unless it is encrypted."""

    round: int
    """Which run of the handler comes next; the first was 1."""
    expires: int
    """When it is too late to go on, in seconds since 1970."""
    asked: list[str] = []
    """The keys of the questions that are open."""
    returned: bool = False
    """Whether the handler returned them, and wants to see the answers as they are."""
    answers: dict[str, Raw] = {}
    """The answers to the questions of earlier rounds."""
    responses: dict[str, Raw] | None = None
    """What the handler was given as `input_responses`, and is to be given again."""
    state: str | None = None
    """The handler's own state."""
    once_store_id: str | None = None
    """Under which name this server keeps the values of `once`."""


_decode = msgspec.json.Decoder(RequestState).decode


class RequestStateSealer:
    """Seals and opens states. The first of `keys` seals, all of them open.

    Each key has at least 16 bytes. Without keys there is a random one: then no other process, and
    none that is started later, opens what this one has sealed. With keys, states are encrypted
    where `cryptography` is installed.

    Raises:
        UsageError: a key that is too short.
    """

    def __init__(self, keys: Sequence[str | bytes], ttl_s: float) -> None:
        given = [key.encode() if isinstance(key, str) else key for key in keys]
        if any(len(key) < MIN_KEY_BYTES for key in given):
            raise UsageError(
                f"request_state_keys: a key has at least {MIN_KEY_BYTES} bytes; "
                "`secrets.token_urlsafe(32)` makes a good one, once for all processes"
            )
        if ttl_s <= 0:
            raise UsageError(f"request_state_ttl_s={ttl_s:g}: a state lives for more than 0 s")
        self.ttl_s = ttl_s
        self._given = given

    @cached_property
    def _keys(self) -> list[bytes]:
        return self._given or [secrets.token_bytes(32)]

    @cached_property
    def _ciphers(self) -> list[Any]:
        """What encrypts, for each key; empty where nothing does."""
        if not self._given:
            return []
        try:
            # Imported here, as below: it need not be installed.
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            return []
        return [AESGCM(_derived(key, b"encrypt")) for key in self._keys]

    def expiry(self) -> int:
        """When a state that is sealed now expires."""
        return int(time.time() + self.ttl_s)

    def seal(self, state: RequestState, bound_to: bytes) -> str:
        """The state as text that only opens together with `bound_to`."""
        plain = msgspec.json.encode(state)
        if self._ciphers:
            nonce = secrets.token_bytes(_NONCE_BYTES)
            return _ENCRYPTED + _text(nonce + self._ciphers[0].encrypt(nonce, plain, bound_to))
        return f"{_SIGNED}{_text(plain)}.{_text(_signature(self._keys[0], plain, bound_to))}"

    def open(self, text: str, bound_to: bytes) -> RequestState:
        """The state that was sealed.

        Raises:
            InvalidParams: it was not sealed here, or for something else, or too long ago.
        """
        state = None
        try:
            plain = self._opened(text[:1], text[1:], bound_to)
            state = _decode(plain) if plain is not None else None
        except (binascii.Error, ValueError):
            pass
        if state is None:
            raise InvalidParams(f"this server gave no such state for this request: {_ANEW}")
        if state.expires < time.time():
            raise InvalidParams(f"the state has expired: {_ANEW}")
        return state

    def _opened(self, kind: str, text: str, bound_to: bytes) -> bytes | None:
        if kind == _SIGNED:
            return self._verified(text, bound_to)
        return self._decrypted(text, bound_to) if kind == _ENCRYPTED else None

    def _verified(self, text: str, bound_to: bytes) -> bytes | None:
        body, _, signature = text.partition(".")
        plain, given = _bytes(body), _bytes(signature)
        good = [hmac.compare_digest(_signature(key, plain, bound_to), given) for key in self._keys]
        return plain if any(good) else None

    def _decrypted(self, text: str, bound_to: bytes) -> bytes | None:
        if not self._ciphers:
            return None
        from cryptography.exceptions import InvalidTag

        sealed = _bytes(text)
        nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        for cipher in self._ciphers:
            try:
                plain: bytes = cipher.decrypt(nonce, body, bound_to)
            except InvalidTag:
                continue
            return plain
        return None


class OnceStore:
    """What `once` has made, by the name that a state carries; bounded in time and in number.

    What is gone is made again: whoever relies on more keeps it elsewhere.
    """

    def __init__(self, ttl_s: float, limit: int = MAX_KEPT) -> None:
        self._ttl_s = ttl_s
        self._limit = limit
        self._values: OrderedDict[str, tuple[float, dict[str, Any]]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def put(self, name: str | None, values: dict[str, Any]) -> str:
        """Keep values for a while, under the name they had or a new one that nobody can guess."""
        name = name or secrets.token_urlsafe(16)
        now = time.monotonic()
        self._values[name] = (now + self._ttl_s, values)
        self._values.move_to_end(name)
        while self._values:
            oldest, (end, _) = next(iter(self._values.items()))
            if end > now and len(self._values) <= self._limit:
                break
            del self._values[oldest]
        return name

    def get(self, name: str | None) -> dict[str, Any]:
        """What is kept under a name; empty if there is nothing any more."""
        end, values = self._values.get(name or "", (0.0, {}))
        return values if end > time.monotonic() else {}


def _derived(key: bytes, purpose: bytes) -> bytes:
    """A key for one purpose, so that none serves for two."""
    return hmac.digest(key, b"mcp_gen state: " + purpose, hashlib.sha256)


def _signature(key: bytes, plain: bytes, bound_to: bytes) -> bytes:
    # The digest first: it has one length, so that nothing can move from one part to the other.
    return hmac.digest(_derived(key, b"sign"), bound_to + plain, hashlib.sha256)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    padded = text.encode("ascii") + b"=" * (-len(text) % 4)
    data = base64.b64decode(padded, altchars=b"-_", validate=True)
    if _text(data) != text:
        raise ValueError("another spelling of the same bytes")
    return data

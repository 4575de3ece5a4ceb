"""Access tokens that are forged, for somebody else, of another time, or confused with others."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

import msgspec
from joserfc.jwk import ECKey, OctKey, RSAKey

from mcp_gen.auth.proofs import jws
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import EVIL, HONEST, URL, World, opened_world

INVALID = '^401 .*error="invalid_token".*resource_metadata='
ELSEWHERE = "https://evil.example/jwks"
Make: TypeAlias = Callable[[World], str]

THIEF = ECKey.generate_key("P-256", {"kid": "thief"})
PUBLIC = THIEF.as_dict(private=False)


@cache
def rsa() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig", "alg": "RS256"})


def encoded(value: Any) -> str:
    content = value if isinstance(value, bytes) else msgspec.json.encode(value)
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def sign(key: Any, payload: Mapping[str, Any], *, alg: str = "ES256", **header: Any) -> str:
    """Return a token that is signed whatever its header says; a member that is None is left out."""
    members = {"alg": alg, "typ": "at+jwt", **header}
    given = {name: value for name, value in members.items() if value is not None}
    text = f"{encoded(given)}.{encoded(payload)}"
    return f"{text}.{encoded(jws.sign(alg, text.encode(), key))}"


def claims(world: World, **more: Any) -> dict[str, Any]:
    """Return the claims of a good token; None leaves one out."""
    now = world.clock.now
    found = {
        "iss": HONEST,
        "sub": "demo",
        "client_id": "app",
        "aud": URL,
        "iat": now,
        "exp": now + 300,
        "scope": "mcp",
        **more,
    }
    return {name: value for name, value in found.items() if value is not None}


def signed(world: World, payload: Mapping[str, Any] | None = None, **header: Any) -> str:
    """Return a token that the honest server has signed."""
    (key, *_) = world.server.keys._keys
    given = {"kid": key.kid, **header}
    return sign(key, claims(world) if payload is None else payload, **given)


@attacks(
    "claims of a token",
    Attack("another audience", {"aud": "https://other.example/mcp"}, {"aud": URL}, INVALID),
    Attack("an audience above", {"aud": "https://api.example"}, {"aud": URL}, INVALID),
    Attack("an audience below", {"aud": f"{URL}/x"}, {"aud": URL}, INVALID),
    Attack("an audience that begins alike", {"aud": f"{URL}-evil"}, {"aud": URL}, INVALID),
    Attack("an audience with a slash", {"aud": f"{URL}/"}, {"aud": URL}, INVALID),
    Attack("an audience in another case", {"aud": URL.upper()}, {"aud": URL}, INVALID),
    Attack("the client as audience", {"aud": "app"}, {"aud": ["app", URL]}, INVALID),
    Attack("no audience", {"aud": None}, {"aud": URL}, INVALID),
    Attack("an empty list of audiences", {"aud": []}, {"aud": [URL]}, INVALID),
    Attack("an object as audience", {"aud": {URL: 1}}, {"aud": [URL]}, INVALID),
    Attack("nested audiences", {"aud": [[URL]]}, {"aud": [URL]}, INVALID),
    Attack("another issuer", {"iss": EVIL}, {"iss": HONEST}, INVALID),
    Attack("an issuer with a slash", {"iss": f"{HONEST}/"}, {"iss": HONEST}, INVALID),
    Attack("a list of issuers", {"iss": [HONEST]}, {"iss": HONEST}, INVALID),
    Attack("no issuer", {"iss": None}, {"iss": HONEST}, INVALID),
    Attack("no end", {"exp": None}, {"exp": 4e9}, INVALID),
    Attack("an endless end", {"exp": 1e300}, {"exp": 4e9}, INVALID),
    Attack("an end as text", {"exp": "4000000000"}, {"exp": 4_000_000_000}, INVALID),
    Attack("a true end", {"exp": True}, {"exp": 4e9}, INVALID),
    Attack("no user and no client", {"sub": None, "client_id": None}, {"sub": None}, INVALID),
    Attack("an object as user", {"sub": {"a": 1}}, {"sub": "a"}, INVALID),
    Attack("scopes as object", {"scope": {"mcp": True}}, {"scope": "mcp"}, INVALID),
    Attack("a key of another kind", {"cnf": {"x5t#S256": "a"}}, {}, INVALID),
    Attack("an empty key", {"cnf": {"jkt": ""}}, {}, INVALID),
    Attack("no scope", {"scope": None}, {"scope": "mcp"}, '^403 .*insufficient_scope.*scope="mcp"'),
    Attack("a scope alike", {"scope": "mcp2 MCP"}, {"scope": "x mcp"}, "^403 .*insufficient_scope"),
)
async def test_a_token_that_is_not_for_here_is_refused(case: Case[Mapping[str, Any]]) -> None:
    async with opened_world() as world:
        token = signed(world, claims(world, **case.given))
        case.judge(await world.post(token), world.called)


@attacks(
    "times of a token",
    Attack("it has ended", {"exp": -31}, {"exp": -29}, INVALID),
    Attack("it has not begun", {"nbf": 31}, {"nbf": 29}, INVALID),
    Attack("it is issued in the future", {"iat": 31}, {"iat": 29}, INVALID),
)
async def test_a_token_of_another_time_is_refused(case: Case[Mapping[str, float]]) -> None:
    async with opened_world() as world:
        times = {name: world.clock.now + after for name, after in case.given.items()}
        case.judge(await world.post(signed(world, claims(world, **times))), world.called)


def unsigned(algorithm: str) -> Make:
    def make(world: World) -> str:
        header = {"alg": algorithm, "typ": "at+jwt", "kid": world.server.keys._keys[0].kid}
        return f"{encoded(header)}.{encoded(claims(world))}."

    return make


def by_public_key(form: str) -> Make:
    """Sign by HMAC with the public key as secret."""

    def make(world: World) -> str:
        world.server.keys._keys = [rsa()]
        secret = {
            "pem": rsa().as_pem(private=False),
            "der": rsa().as_der(private=False),
            "json": msgspec.json.encode(rsa().as_dict(private=False)),
        }[form]
        header = {"alg": "HS256", "typ": "at+jwt", "kid": "rsa"}
        text = f"{encoded(header)}.{encoded(claims(world))}"
        return f"{text}.{encoded(hmac.digest(secret, text.encode(), hashlib.sha256))}"

    return make


def by_rsa(world: World) -> str:
    world.server.keys._keys = [rsa()]
    return sign(rsa(), claims(world), alg="RS256", kid="rsa")


def by_published_secret(world: World) -> str:
    """Sign by a symmetric key that slipped into the key set."""
    secret = OctKey.generate_key(256, {"kid": "oct"})
    keys = [*world.server.keys.public()["keys"], secret.as_dict(private=True)]
    world.answer(f"{HONEST}/jwks", {"keys": keys})
    return sign(secret, claims(world), alg="HS256", kid="oct")


def by_encryption_key(world: World) -> str:
    """Sign by a key that its server publishes for encryption."""
    keys = [*world.server.keys.public()["keys"], {**PUBLIC, "use": "enc"}]
    world.answer(f"{HONEST}/jwks", {"keys": keys})
    return sign(THIEF, claims(world), kid="thief")


def by_signature_key(world: World) -> str:
    keys = [*world.server.keys.public()["keys"], {**PUBLIC, "use": "sig"}]
    world.answer(f"{HONEST}/jwks", {"keys": keys})
    return sign(THIEF, claims(world), kid="thief")


def by_thief(**header: Any) -> Make:
    """Sign by a key of one's own; the header says where it is."""

    def make(world: World) -> str:
        return sign(THIEF, claims(world), kid="thief", **header)

    return make


def tampered(world: World) -> str:
    """Change the claims behind a genuine signature."""
    head, _, signature = signed(world).split(".")
    return f"{head}.{encoded(claims(world, sub='admin'))}.{signature}"


def with_header(**header: Any) -> Make:
    return lambda world: signed(world, **header)


def id_token(world: World) -> str:
    return signed(world, claims(world, aud="app"), typ="JWT")


def of_evil(world: World) -> str:
    (key, *_) = world.evil.keys._keys
    return sign(key, claims(world), kid=key.kid)


def with_evil_kid(world: World) -> str:
    """Use the `kid` of the honest server with a key of another one."""
    (key, *_) = world.evil.keys._keys
    return sign(key, claims(world), kid=world.server.keys._keys[0].kid)


def published_elsewhere(world: World) -> None:
    keys = {"keys": [PUBLIC]}
    world.answer(ELSEWHERE, keys)


@attacks(
    "signature of a token",
    Attack("alg none", unsigned("none"), signed, INVALID),
    Attack("alg None", unsigned("None"), signed, INVALID),
    Attack("alg NONE", unsigned("NONE"), signed, INVALID),
    Attack("no alg", unsigned(""), signed, INVALID),
    Attack("a signature that was cut off", unsigned("ES256"), signed, INVALID),
    Attack("HMAC by the public key as PEM", by_public_key("pem"), by_rsa, INVALID),
    Attack("HMAC by the public key as DER", by_public_key("der"), by_rsa, INVALID),
    Attack("HMAC by the public key as JSON", by_public_key("json"), by_rsa, INVALID),
    Attack("HMAC by a published secret", by_published_secret, signed, INVALID),
    Attack("by a key for encryption", by_encryption_key, by_signature_key, INVALID),
    Attack("by nobody's key", by_thief(), signed, INVALID),
    Attack("by a key in the header", by_thief(jwk=PUBLIC), signed, INVALID),
    Attack("by keys at jku", by_thief(jku=ELSEWHERE), with_header(jku=ELSEWHERE), INVALID),
    Attack("by a certificate at x5u", by_thief(x5u=ELSEWHERE), with_header(x5u=ELSEWHERE), INVALID),
    Attack("by a certificate in x5c", by_thief(x5c=["MA=="]), with_header(x5c=["MA=="]), INVALID),
    Attack("by another server", of_evil, signed, INVALID),
    Attack("by another server's key of that kid", with_evil_kid, signed, INVALID),
    Attack("of other claims", tampered, signed, INVALID),
    Attack("crit", with_header(crit=["exp"]), signed, INVALID),
    Attack("empty crit", with_header(crit=[]), signed, INVALID),
    Attack("typ of an ID token", id_token, signed, INVALID),
    Attack("typ of a proof", with_header(typ="dpop+jwt"), with_header(typ="JWT"), INVALID),
    Attack(
        "typ of a logout token",
        with_header(typ="logout+jwt"),
        with_header(typ="application/at+jwt"),
        INVALID,
    ),
    Attack("no typ", with_header(typ=None), with_header(typ="AT+JWT"), INVALID),
    Attack("a kid that is a path", with_header(kid="../../../../dev/null"), signed, INVALID),
    Attack("a kid that is a URL", with_header(kid=ELSEWHERE), signed, INVALID),
    Attack("a kid that is SQL", with_header(kid="' or '1'='1"), signed, INVALID),
    Attack("a kid with a null byte", with_header(kid="a\0b"), signed, INVALID),
    Attack("a huge kid", with_header(kid="k" * 9_000), signed, INVALID),
    Attack("a kid that is a list", with_header(kid=["thief"]), signed, INVALID),
    Attack("a kid that is a number", with_header(kid=1), signed, INVALID),
)
async def test_a_token_that_its_issuer_did_not_sign_as_such_is_refused(case: Case[Make]) -> None:
    async with opened_world() as world:
        published_elsewhere(world)
        token = case.given(world)
        case.judge(await world.post(token), world.called)
        # Nothing is fetched but what the issuer itself publishes.
        assert {one.url for one in world.net.log} <= {
            f"{HONEST}/.well-known/oauth-authorization-server",
            f"{HONEST}/jwks",
        }


def nested(part: int) -> Make:
    def make(world: World) -> str:
        parts = signed(world).split(".")
        deep = b'{"a":' * 3_000 + b"1" + b"}" * 3_000
        parts[part] = encoded(deep)
        return ".".join(parts)

    return make


def two_of(part: int, name: str) -> Make:
    """Name a member twice, the second time without a signature."""

    def make(world: World) -> str:
        parts = signed(world).split(".")
        content = base64.urlsafe_b64decode(parts[part] + "==")
        parts[part] = encoded(content[:-1] + f',"{name}":"none"}}'.encode())
        return ".".join(parts)

    return make


@attacks(
    "form of a token",
    Attack("a deep header", nested(0), signed, INVALID),
    Attack("deep claims", nested(1), signed, INVALID),
    Attack("two algorithms", two_of(0, "alg"), signed, INVALID),
    Attack("two users", two_of(1, "sub"), signed, INVALID),
    Attack("four parts", lambda world: signed(world) + ".x", signed, INVALID),
    Attack("two parts", lambda world: signed(world).rpartition(".")[0], signed, INVALID),
    Attack("five empty parts", lambda _: "....", signed, INVALID),
    Attack("more bytes than are read", lambda _: "a" * 20_000, signed, INVALID),
    Attack("padding", lambda world: signed(world) + "==", signed, INVALID),
    Attack("white space in it", lambda world: f" {signed(world)[:9]} x", signed, "^400 "),
    Attack("characters of no token", lambda world: signed(world) + "\xff", signed, "^400 "),
)
async def test_a_malformed_token_is_refused(case: Case[Make]) -> None:
    async with opened_world() as world:
        case.judge(await world.post(case.given(world)), world.called)


@attacks(
    "a token of an end that came",
    Attack("one that was admitted before", 331, 329, INVALID),
)
async def test_a_remembered_token_is_forgotten_at_its_end(case: Case[float]) -> None:
    async with opened_world() as world:
        token = signed(world)
        assert await world.post(token) == PASSED
        del world.called[:]
        world.clock.now += case.given
        case.judge(await world.post(token), world.called)


@attacks(
    "a key that its issuer has withdrawn",
    Attack("after it was fetched", 0, 1, INVALID),
)
async def test_a_token_of_a_withdrawn_key_is_refused(case: Case[int]) -> None:
    async with opened_world() as world:
        token = signed(world, claims(world, exp=world.clock.now + 9_000))
        assert await world.post(token) == PASSED
        del world.called[:]
        world.server.rotate_keys(keep=case.given)
        world.clock.now += 4_000
        case.judge(await world.post(token), world.called)

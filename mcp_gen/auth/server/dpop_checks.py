"""Checks of the proof that a request with a key-bound token carries (DPoP)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mcp_gen.auth.proofs.checking import PROOF_ALGORITHMS, ProofRefused, check_proof
from mcp_gen.auth.proofs.keys import ALGORITHMS
from mcp_gen.auth.proofs.nonces import NonceIssuer
from mcp_gen.auth.proofs.seen_proofs import SeenProofs
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.access_token import AccessToken

__all__ = ["DpopChecks"]


class DpopChecks:
    """Checks of proofs of possession, and what they demand.

    Args:
        required: True to refuse tokens that are not bound to a key.
        nonces: Issuer of nonces that each proof must have; None to demand none.
        window_s: Seconds by which the time of a proof may lie before or after now.
        algorithms: The algorithms that are accepted.
        seen: Memory of proofs, against replay; None for one of its own.

    Raises:
        UsageError: An algorithm is not an asymmetric one.

    Source: https://www.rfc-editor.org/rfc/rfc9449.html#section-7
    """

    def __init__(
        self,
        *,
        required: bool = False,
        nonces: NonceIssuer | None = None,
        window_s: float = 300.0,
        algorithms: Collection[str] = PROOF_ALGORITHMS,
        seen: SeenProofs | None = None,
    ) -> None:
        unknown = sorted(set(algorithms) - ALGORITHMS.keys())
        if unknown or not algorithms:
            raise UsageError(f"algorithms: {unknown}: expected some of {', '.join(ALGORITHMS)}")
        self.required = required
        self.nonces = nonces
        self.algorithms = tuple(algorithms)
        self._window_s = window_s
        self._seen = SeenProofs() if seen is None else seen

    def check(
        self,
        scope: Mapping[str, Any],
        proofs: list[bytes],
        token: AccessToken,
        url: str,
        now: float,
    ) -> None:
        """Check the proof of a request.

        Args:
            scope: The ASGI scope of the request.
            proofs: The values of its headers `DPoP`.
            token: The verified token.
            url: The URL of the request, as its client knows it.
            now: The time in seconds since 1970.

        Raises:
            ProofRefused: It is not the proof of this request and this token.
        """
        if len(proofs) != 1:
            number = "several" if proofs else "none"
            raise ProofRefused(f"expected one header DPoP, got {number}", "invalid_dpop_proof")
        check_proof(
            proofs[0].decode("latin-1"),
            method=scope["method"],
            url=url,
            now=now,
            access_token=token.raw(),
            thumbprint=token.key_thumbprint,
            nonce=self.nonces,
            seen=self._seen,
            window_s=self._window_s,
            algorithms=self.algorithms,
        )

    def __repr__(self) -> str:
        return f"DpopChecks(required={self.required!r}, nonces={self.nonces!r})"

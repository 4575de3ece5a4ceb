"""Other ways to have tokens without a browser, each for `connect(url, auth=...)`."""

from pathlib import Path

from mcp_gen.auth import (
    ClientCredentials,
    DPoP,
    EnterpriseManaged,
    KeyAssertions,
    OAuth,
    SigningKey,
    WorkloadIdentity,
)

ISSUER = "https://login.example.com"
# From a secret store, as PEM or JWK: private_key=os.environ["KEY"]
key = SigningKey.generate("ES256")


def sign_in() -> str:
    """Return the ID token of the user, as the enterprise's sign-in has it."""
    return "header.claims.signature"


with_a_key = ClientCredentials("reports", private_key=key, issuer=ISSUER)

user_with_a_key = OAuth(
    client_id="note-taker",
    issuer=ISSUER,
    token_endpoint_auth_method="private_key_jwt",
    signer=KeyAssertions(key),
)

of_an_employee = EnterpriseManaged(
    "note-taker",
    private_key=key,
    issuer=ISSUER,
    id_token=sign_in,
    idp_issuer="https://idp.example.com",
    idp_client_id="note-taker-at-the-idp",
)

of_a_workload = WorkloadIdentity("reports", Path("/var/run/secrets/tokens/mcp"), issuer=ISSUER)

bound_to_a_key = DPoP(with_a_key)

if __name__ == "__main__":
    print(user_with_a_key, of_an_employee, of_a_workload, bound_to_a_key, sep="\n")

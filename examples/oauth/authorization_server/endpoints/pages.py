"""The two pages of the server: consent, and an error that is not redirected."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from examples.oauth.authorization_server.errors import OAuthError

__all__ = ["PAGE_HEADERS", "consent_page", "error_page"]

PAGE_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body{{font:16px sans-serif;max-width:36em;margin:4em auto;padding:0 1em}}
dt{{color:#555}}dd{{margin:0 0 .7em;overflow-wrap:anywhere}}
input,button{{font:inherit;margin:.2em 0;padding:.3em}}</style></head>
<body><h1>{title}</h1>{content}
<p><small>Example authorization server: for tests and demos only.</small></p></body></html>
"""

_FORM = """<dl><dt>Application</dt><dd>{client}</dd><dt>Client id</dt><dd>{client_id}</dd>
<dt>For</dt><dd>{resources}</dd><dt>Scopes</dt><dd>{scopes}</dd>
<dt>Answer goes to</dt><dd>{redirect_uri}</dd></dl>{problem}
<form method="post" action="{action}"><input type="hidden" name="ticket" value="{ticket}">
<p><label>User <input name="user" autocomplete="username"></label>
<label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" formnovalidate>Deny</button></form>"""


def consent_page(
    *,
    client: str,
    client_id: str,
    redirect_uri: str,
    resources: Iterable[str],
    scopes: Iterable[str],
    action: str,
    ticket: str,
    problem: str = "",
) -> str:
    """Return the page that asks a user to consent; its form posts to `action`."""
    content = _FORM.format(
        client=escape(client),
        client_id=escape(client_id),
        redirect_uri=escape(redirect_uri),
        resources=escape(", ".join(resources)) or "(no resource named)",
        scopes=escape(", ".join(scopes)) or "(none)",
        action=escape(action),
        ticket=escape(ticket),
        problem=f'<p role="alert">{escape(problem)}</p>' if problem else "",
    )
    return _PAGE.format(title="Allow access?", content=content)


def error_page(error: OAuthError) -> str:
    """Return the page of an error that must not be sent to a redirect URI."""
    return _PAGE.format(title="This request is refused", content=f"<p>{escape(str(error))}</p>")

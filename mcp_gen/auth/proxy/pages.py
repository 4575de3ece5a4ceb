"""Pages for users: consent, and what went wrong. Whole, without scripts, never in a frame."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from mcp_gen.auth.proxy.web import WebReply

__all__ = ["consent_page", "error_page"]

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem;"
    "color-scheme:light dark}h1{font-size:1.4rem}dt{opacity:.7}"
    "dd{margin:0 0 .7rem;overflow-wrap:anywhere}button{font:inherit;padding:.3rem .9rem}"
)
_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>{title}</title>'
    "<style>{style}</style></head><body><h1>{title}</h1>{content}</body></html>\n"
)
_CONSENT = (
    "<p>An application asks for access to <strong>{server}</strong> in your name. Allow it only "
    "if you have just begun this yourself.</p>"
    "<dl><dt>Name (chosen by the application, not verified)</dt><dd>{client}</dd>"
    "<dt>Access is given to</dt><dd><strong>{host}</strong><br>{redirect_uri}</dd>"
    "<dt>For the server</dt><dd>{resource}</dd><dt>Scopes</dt><dd>{scopes}</dd>"
    "<dt>You log in at</dt><dd>{provider}</dd></dl>"
    '<form method="post" action="{action}"><input type="hidden" name="ticket" value="{ticket}">'
    '<button name="decision" value="allow">Allow and log in</button> '
    '<button name="decision" value="deny">Deny</button></form>'
)
# No `form-action`: browsers hold redirects to it, too, and the way leads through pages of others.
_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    # Not `no-referrer`, with which browsers do not say where a form comes from.
    "referrer-policy": "same-origin",
}


def consent_page(
    *,
    server: str,
    client: str,
    host: str,
    redirect_uri: str,
    resource: str,
    scopes: Iterable[str],
    provider: str,
    action: str,
    ticket: str,
    cookie: str | None,
) -> WebReply:
    """Return the page that asks a user to consent; all values are escaped.

    Args:
        server: Name of the server.
        client: What the client calls itself.
        host: Host that the redirect leads to.
        redirect_uri: The redirect URI.
        resource: URL of the server.
        scopes: What the client may do.
        provider: Host of the login provider.
        action: URL that the form is posted to.
        ticket: What the form has to bring back.
        cookie: Value of a `Set-Cookie` header; None for none.
    """
    content = _CONSENT.format(
        server=escape(server),
        client=escape(client) or "(no name)",
        host=escape(host),
        redirect_uri=escape(redirect_uri),
        resource=escape(resource),
        scopes=escape(", ".join(scopes)) or "(none)",
        provider=escape(provider),
        action=escape(action),
        ticket=escape(ticket),
    )
    page = _PAGE.format(title="Allow access?", style=_STYLE, content=content)
    headers = _HEADERS | ({} if cookie is None else {"set-cookie": cookie})
    return WebReply(200, headers, page.encode())


def error_page(text: str, status: int = 400, link: tuple[str, str] | None = None) -> WebReply:
    """Return the page of a request that is refused.

    Args:
        text: What was expected; it is escaped.
        status: The HTTP status.
        link: Host and URL of the client, to which the user may take the error.
    """
    content = f"<p>{escape(text)}</p><p>Begin again in your application.</p>"
    if link is not None:
        host, url = map(escape, link)
        content += f'<p><a href="{url}" rel="noreferrer">Tell the application at {host}</a></p>'
    page = _PAGE.format(title="This request is refused", style=_STYLE, content=content)
    return WebReply(status, _HEADERS, page.encode())

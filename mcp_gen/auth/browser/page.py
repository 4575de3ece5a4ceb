"""The page that a browser shows after a login: whole, without scripts, and without a secret."""

from __future__ import annotations

from html import escape
from http import HTTPStatus

__all__ = ["response"]

_STYLE = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;"
    "color-scheme:light dark}h1{font-size:1.4rem}"
)
_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>{title}</title>'
    "<style>{style}</style></head><body><h1>{title}</h1><p>{text}</p></body></html>\n"
)
_HEADERS = (
    "Content-Type: text/html; charset=utf-8",
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    # The address of the page has the code of the login in it.
    "Referrer-Policy: no-referrer",
    "Cache-Control: no-store",
    "X-Content-Type-Options: nosniff",
    "X-Frame-Options: DENY",
    "Connection: close",
)


def response(status: int, title: str, text: str, *more: str) -> bytes:
    """Return a whole HTTP response with a page.

    Args:
        status: The HTTP status.
        title: The heading.
        text: What happened, and what to do next; it is escaped.
        more: More header lines.
    """
    page = _PAGE.format(title=escape(title), style=_STYLE, text=escape(text)).encode()
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Length: {len(page)}",
        *_HEADERS,
        *more,
    )
    return "\r\n".join((*lines, "", "")).encode("latin-1") + page

"""Browser of the transcripts: opens a URL, and logs in as the demo user of the example server.

It prints nothing, as a browser does. The program that opened it shows what came of the login.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin
from urllib.request import ProxyHandler, build_opener

TIME_LIMIT_S = 30
USER = {"user": "demo", "password": "demo", "decision": "allow"}
"""Fields of the consent page of `examples.oauth.authorization_server`."""


class Form(HTMLParser):
    """The form of a page: its action and its hidden fields."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a form, and of its fields."""
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = found["action"]
        elif found.get("type") == "hidden":
            self.fields[found["name"]] = found["value"]


def visit(url: str) -> None:
    """Open a page, and send its form if it has one.

    Args:
        url: The page.
    """
    # No proxy: everything is on this machine.
    opener = build_opener(ProxyHandler({}))
    with opener.open(url, timeout=TIME_LIMIT_S) as page:
        form = Form(page.read().decode())
        at = page.url
    if form.action:
        sent = urlencode({**form.fields, **USER}).encode()
        with opener.open(urljoin(at, form.action), sent, timeout=TIME_LIMIT_S) as after:
            after.read()


if __name__ == "__main__":
    visit(sys.argv[1])

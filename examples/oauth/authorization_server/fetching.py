"""Fetches metadata documents of clients from hosts that were listed, for demos."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Collection
from http.client import HTTPException, HTTPMessage
from typing import IO
from urllib.error import HTTPError
from urllib.parse import urlsplit

from examples.oauth.authorization_server.settings import Document

__all__ = ["DocumentFetcher"]


class DocumentFetcher:
    """Fetches URLs of these hosts alone: a client names the URL, so any other is not asked.

    Args:
        hosts: Host names, without ports.
        max_bytes: Longest body; of a longer one a byte more is read.
        timeout_s: Time for each step.
    """

    def __init__(
        self, hosts: Collection[str], *, max_bytes: int = 5_120, timeout_s: float = 5.0
    ) -> None:
        self._hosts = frozenset(hosts)
        self._max_bytes = max_bytes
        self._timeout_s = timeout_s
        self._opener = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))

    async def __call__(self, url: str) -> Document:
        """Return the document at a URL.

        Raises:
            OSError: its host is not listed, or does not answer.
        """
        if urlsplit(url).hostname not in self._hosts:
            raise OSError("the host is not one that documents are fetched from")
        return await asyncio.to_thread(self._fetch, url)

    def _fetch(self, url: str) -> Document:
        request = urllib.request.Request(url, headers={"accept": "application/json"})
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                content_type = answer.headers.get("content-type", "")
                return Document(answer.status, content_type, answer.read(self._max_bytes + 1))
        except HTTPError as error:
            error.close()
            return Document(error.code, "", b"")
        except HTTPException as error:
            raise OSError("the answer is not HTTP") from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None

"""Public URLs of a protected resource: its own, and that of its metadata."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from mcp_gen.auth.verifiers.configured_urls import check_url
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.addresses import is_loopback

__all__ = ["RESOURCE_METADATA", "ResourceLocation", "canonical_uri", "path_below_mount"]

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


class ResourceLocation:
    """Public URLs of a resource, behind proxies and under mounts.

    Args:
        resource: The URL that clients use; None to take it from each request.
        path: Path of the endpoint below the mount; of use where `resource` is None.
        metadata_url: URL of the metadata document; None to derive it.
        hosts: Hosts that are believed in the header `Host` where `resource` is None. Loopback
            names are believed over loopback; else the address of the socket is taken.

    Raises:
        UsageError: A URL cannot be one of a protected resource.
    """

    def __init__(
        self,
        resource: str | None,
        path: str,
        *,
        metadata_url: str | None = None,
        hosts: Collection[str] = (),
    ) -> None:
        if isinstance(hosts, str):
            raise UsageError(f"allowed_hosts={hosts!r}: expected a list")
        if not path.startswith("/"):
            raise UsageError(f"path={path!r}: expected a path that begins with '/'")
        if resource is not None:
            check_url("the URL of the resource", resource)
        if metadata_url is not None:
            check_url("metadata_url", metadata_url)
        self._resource = resource
        self._path = path
        self._metadata_url = metadata_url
        self._hosts = frozenset(host.lower() for host in hosts)

    def resource(self, scope: Mapping[str, Any]) -> str:
        """Return the URL of the resource, as its clients know it."""
        if self._resource is not None:
            return self._resource
        root = quote(scope.get("root_path", "").rstrip("/"), safe="/%:@!$&'()*+,;=-._~")
        return f"{self._origin(scope)}{root}{self._path}"

    def request_url(self, scope: Mapping[str, Any]) -> str:
        """Return the URL of a request, as its client knows it, without query.

        Args:
            scope: The scope of a request to the endpoint or to a path beside it.
        """
        resource = self.resource(scope)
        parts = urlsplit(resource)
        public, below = parts.path.rstrip("/"), path_below_mount(scope)
        if public.endswith(below.rstrip("/")) or not public.endswith(self._path.rstrip("/")):
            return resource
        above = public[: len(public) - len(self._path.rstrip("/"))]
        return f"{parts.scheme}://{parts.netloc}{above}{below}"

    def metadata_url(self, scope: Mapping[str, Any]) -> str:
        """Return a URL of the metadata that leads to this app.

        The well-known path stands behind the part of the resource's path that a proxy or a mount
        takes away: what goes to the origin's own well-known path may not come here.

        Args:
            scope: The scope of a request to the endpoint.
        """
        if self._metadata_url is not None:
            return self._metadata_url
        parts = urlsplit(self.resource(scope))
        public = parts.path.rstrip("/")
        for below in (path_below_mount(scope), self._path):
            endpoint = below.rstrip("/")
            if public.endswith(endpoint):
                above = public[: len(public) - len(endpoint)]
                break
        else:
            above, endpoint = "", public
        return f"{parts.scheme}://{parts.netloc}{above}{RESOURCE_METADATA}{endpoint}"

    def has_metadata(self, path: str) -> bool:
        """Return True if the metadata document is at a path.

        That is the well-known path alone, or followed by the public path of the resource or by
        the rest of it that the mount leaves.

        Args:
            path: The path below the mount.
        """
        if not path.startswith(RESOURCE_METADATA):
            return False
        rest = path[len(RESOURCE_METADATA) :].rstrip("/")
        if not rest:
            return True
        known = self._path if self._resource is None else urlsplit(self._resource).path
        return rest.startswith("/") and known.rstrip("/").endswith(rest)

    def _origin(self, scope: Mapping[str, Any]) -> str:
        scheme: str = scope.get("scheme", "http")
        server = scope.get("server")
        address, port = (server[0], server[1]) if server else ("localhost", None)
        host = _header(scope, b"host")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        on_loopback = name in LOOPBACK_NAMES and is_loopback(address)
        if on_loopback or host in self._hosts or name in self._hosts:
            return f"{scheme}://{host}"
        literal = f"[{address}]" if ":" in address else address
        standard = port is None or port == {"http": 80, "https": 443}.get(scheme)
        return f"{scheme}://{literal}" if standard else f"{scheme}://{literal}:{port}"


def canonical_uri(text: str) -> str:
    """Return a URI with scheme and host in lower case; another text as it is.

    Args:
        text: What names a resource, such as the audience of a token.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#canonical-server-uri
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    authority, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{authority.lower()}{slash}{path}"


def path_below_mount(scope: Mapping[str, Any]) -> str:
    """Return the path of a request below the path that its app is mounted at."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] or "/" if root and path.startswith(root) else path


def _header(scope: Mapping[str, Any], name: bytes) -> str:
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1").lower() if len(found) == 1 else ""

"""Reads one entry of `mcpServers`: checks its values and replaces variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import mcp_wire
from mcp_gen.core.revisions import find_revision

if TYPE_CHECKING:
    from mcp_gen.auth.configuring.auth_settings import AuthSettings

__all__ = ["ConfigEntry", "ConfigEntryError", "UnknownField", "read_entry"]

_TYPES: Mapping[str, Literal["stdio", "http", "sse"]] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "remote": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
"""Transport names that hosts use."""
_URLS = {"url", "serverUrl", "httpUrl"}
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


class ConfigEntryError(Exception):
    """Invalid entry: where, and what was expected."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where = where
        self.what = what


class UnknownField(NamedTuple):
    """Key of an entry that is ignored."""

    where: str
    what: str


@dataclass
class ConfigEntry:
    """Checked values of an entry."""

    type: Literal["stdio", "http", "sse"] | None = None
    command: str | None = None
    args: list[str] = field(default_factory=list[str], repr=False)
    env: dict[str, str] | Literal["inherit"] | None = field(default=None, repr=False)
    cwd: str | None = None
    url: str | None = field(default=None, repr=False)
    target: str | None = field(default=None, repr=False)
    headers: dict[str, str] | None = field(default=None, repr=False)
    auth: AuthSettings | None = None
    disabled: bool = False
    revision: str | None = None
    timeout_s: float | None = None


def read_entry(
    given: Mapping[str, Any], env: Mapping[str, str], where: str
) -> tuple[ConfigEntry, list[UnknownField]]:
    """Read an entry, with variables replaced.

    Args:
        given: The entry as JSON.
        env: The variables.
        where: Path of the entry, for the texts of problems.

    Returns:
        The entry, and its unknown keys.

    Raises:
        ConfigEntryError: a value of the wrong type, a variable that is not set, an unknown
            revision, or not exactly one of a command, a URL and a target.
    """
    entry, unknown = ConfigEntry(), list[UnknownField]()
    # A disabled server may name variables that are not set.
    entry.disabled = _boolean(given.get("disabled", False), f"{where}.disabled")
    wanted = _Values({} if entry.disabled else env, lenient=entry.disabled)
    for key, value in given.items():
        place = f"{where}.{key}"
        name = "url" if key in _URLS else key
        read = _READ.get(name)
        if read is not None:
            setattr(entry, name, read(wanted, value, place))
        elif name != "disabled":
            unknown.append(UnknownField(place, "this key is not known, and nothing is made of it"))
    _check(entry, where)
    return entry, unknown


def _check(entry: ConfigEntry, where: str) -> None:
    count = sum(one is not None for one in (entry.command, entry.url, entry.target))
    if count != 1:
        raise ConfigEntryError(where, f"expected `command` or `url`, got {_COUNTS[count]}")
    if entry.type is not None and (entry.type == "stdio") == (entry.url is not None):
        needs = "command" if entry.type == "stdio" else "url"
        raise ConfigEntryError(f"{where}.type", f"expected a `{needs}` with this type")


_COUNTS = ("neither", "one", "both", "both, and `target`")


class _Values:
    """Reads the values of one entry; with `lenient`, unset variables stay as they are."""

    def __init__(self, env: Mapping[str, str], *, lenient: bool) -> None:
        self._env = env
        self._lenient = lenient

    def text(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            raise ConfigEntryError(where, f"expected a string, got {_kind(value)}")

        def replaced(found: re.Match[str]) -> str:
            name, default = found[1], found[2]
            # As in shells: with `:-`, an empty variable counts as unset.
            known = self._env.get(name)
            if known or (known is not None and default is None):
                return known
            if default is not None:
                return default
            if self._lenient:
                return found[0]
            raise ConfigEntryError(
                where,
                f"the environment has no `{name}`; set it, or write `${{{name}:-default}}`",
            )

        return _VARIABLE.sub(replaced, value)

    def texts(self, value: Any, where: str) -> list[str]:
        if value.__class__ is not list:
            raise ConfigEntryError(where, f"expected an array of strings, got {_kind(value)}")
        items: list[Any] = value
        return [self.text(one, f"{where}[{place}]") for place, one in enumerate(items)]

    def by_name(self, value: Any, where: str) -> dict[str, str]:
        if value.__class__ is not dict:
            raise ConfigEntryError(where, f"expected an object of strings, got {_kind(value)}")
        members: dict[Any, Any] = value
        return {str(name): self.text(one, f"{where}.{name}") for name, one in members.items()}

    def environment(self, value: Any, where: str) -> dict[str, str] | Literal["inherit"]:
        if value == "inherit":
            return "inherit"
        if isinstance(value, str):
            raise ConfigEntryError(where, 'expected an object of strings, or "inherit"')
        return self.by_name(value, where)

    def url(self, value: Any, where: str) -> str:
        url = self.text(value, where)
        if not self._lenient and not url.startswith(("http://", "https://")):
            raise ConfigEntryError(where, "expected a URL that begins with http:// or https://")
        return url

    def type(self, value: Any, where: str) -> str:
        found = _TYPES.get(self.text(value, where))
        if found is None:
            raise ConfigEntryError(where, f"expected one of {', '.join(_TYPES)}")
        return found

    def revision(self, value: Any, where: str) -> str:
        revision = self.text(value, where)
        if find_revision(revision, mcp_wire.REVISIONS) is None:
            raise ConfigEntryError(where, f"expected one of {', '.join(mcp_wire.REVISIONS)}")
        return revision

    def auth(self, value: Any, where: str) -> AuthSettings:
        # Loaded only for servers with such a member.
        from mcp_gen.auth.configuring.entry import EntryMistake, auth_settings

        try:
            return auth_settings(value, where, self.text, None if self._lenient else self._env)
        except EntryMistake as mistake:
            raise ConfigEntryError(mistake.where, mistake.what) from None

    def seconds(self, value: Any, where: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ConfigEntryError(where, "expected a number of seconds above 0")
        return float(value)


_READ: Mapping[str, Callable[[_Values, Any, str], Any]] = {
    "type": _Values.type,
    "command": _Values.text,
    "args": _Values.texts,
    "env": _Values.environment,
    "cwd": _Values.text,
    "url": _Values.url,
    "target": _Values.text,
    "headers": _Values.by_name,
    "auth": _Values.auth,
    "revision": _Values.revision,
    "timeout_s": _Values.seconds,
}


def _boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ConfigEntryError(where, f"expected true or false, got {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    for kind, word in _KINDS:
        if isinstance(value, kind):
            return word
    return type(value).__name__


_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    (int, "a number"),
    (float, "a number"),
    (list, "an array"),
    (Mapping, "an object"),
)

"""Environment of a command: a short list of variables, those that were given, or all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from mcp_gen.core.errors import UsageError

__all__ = ["Environment", "command_environment"]

Environment: TypeAlias = "Mapping[str, str] | Literal['inherit'] | None"
"""Environment variables of a command.

None: the basic ones of this process. A mapping: these, and the basic ones. `"inherit"`: all of this
process.
"""

POSIX = frozenset({"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "TZ"})
WINDOWS = frozenset(
    {
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LANG",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "TMPDIR",
        "TZ",
        "USERNAME",
        "USERPROFILE",
    }
)
NETWORK = frozenset(
    {
        "ALL_PROXY",
        "FTP_PROXY",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "CURL_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
    }
)
"""Proxies and certificates, in upper or lower case."""
PREFIXES: tuple[str, ...] = ("LC_",)
_SHELL_FUNCTION = "()"
"""Beginning of the value of a shell function; programs that run shells would define it."""


def command_environment(
    env: Environment, of: Mapping[str, str] | None = None, *, windows: bool = os.name == "nt"
) -> dict[str, str]:
    """Return the environment variables of a command.

    Args:
        env: What was asked for.
        of: Variables of this process; None takes `os.environ`.
        windows: True selects the basic variables of Windows.

    Raises:
        UsageError: `env` is another word than `inherit`, or a value is no text.
    """
    inherited = os.environ if of is None else of
    if env == "inherit":
        return dict(inherited)
    if isinstance(env, str):
        raise UsageError('env: expected a mapping of names to values, or "inherit"')
    added: Mapping[str, Any] = env or {}
    for name, value in added.items():
        if not isinstance(value, str):
            raise UsageError(f"env: {name}: expected text, got {type(value).__name__}")
    basic = WINDOWS if windows else POSIX
    passed = {
        name: value
        for name, value in inherited.items()
        if (name in basic or name.upper() in NETWORK or name.startswith(PREFIXES))
        and not value.startswith(_SHELL_FUNCTION)
    }
    return {**passed, **added}

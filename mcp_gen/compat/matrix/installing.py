"""Installation of the peers of a matrix, each into a folder of its own."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from mcp_gen.compat.matrix.definition import Packages, PeerDefinition, peers_folder
from mcp_gen.core.errors import UsageError

__all__ = ["Installed", "install", "matrix_folder"]

INSTALL_S = 300.0
"""Longest time of one installation, in seconds."""
DONE = "installed"
"""File that says that an installation was completed."""
MAX_WHY_CHARS = 300


class Installed(Struct, frozen=True, kw_only=True):
    """Programs of a peer.

    Args:
        python: The Python interpreter.
        node: The Node interpreter; empty if there is none.
        folder: The folder in which its commands run.
        missing: Why it could not be installed, in one line; empty if it could.
    """

    python: str = sys.executable
    node: str = ""
    folder: str = ""
    missing: str = ""


def matrix_folder() -> Path:
    """Return the folder that peers are installed into: one of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "mcp-gen" / "matrix"


async def install(
    definition: PeerDefinition, into: Path, say: Callable[[str], None] = lambda text: None
) -> Installed:
    """Install the packages of a peer, unless that was done before.

    Args:
        definition: The peer.
        into: Folder with a subfolder per set of packages.
        say: Called with one line before something is installed.

    Raises:
        UsageError: the folder cannot be written.
    """
    node = shutil.which("node") or ""
    packages = definition.packages
    if packages.pip and packages.npm:
        return Installed(missing="packages: give pip or npm, not both")
    if packages.pip:
        return await _install_pip(packages.pip, into, definition.folder, say)
    if packages.npm:
        return await _install_npm(packages, into, node, definition.folder, say)
    return Installed(node=node, folder=definition.folder)


async def _install_pip(
    requirements: Sequence[str], into: Path, folder: str, say: Callable[[str], None]
) -> Installed:
    home = into / f"pip-{_digest(*sorted(requirements), sys.version)}"
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (home / DONE).exists():
        say(f"installing {', '.join(requirements)}")
        _renew(home)
        why = await _run([sys.executable, "-m", "venv", str(home)], home)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        why = why or await _run([*pip, *requirements], home)
        if why:
            return Installed(missing=f"pip install {' '.join(requirements)}: {why}")
        (home / DONE).touch()
    return Installed(python=str(python), folder=folder)


async def _install_npm(
    packages: Packages, into: Path, node: str, folder: str, say: Callable[[str], None]
) -> Installed:
    npm = shutil.which("npm")
    if not node or npm is None:
        return Installed(missing="there is no `node` and `npm` on this machine")
    source = (Path(folder) if folder else peers_folder()) / packages.npm
    if not (source / "package.json").is_file():
        return Installed(missing=f"there is no {source / 'package.json'}")
    files = sorted(one for one in source.iterdir() if one.is_file())
    home = into / f"npm-{_digest(*(one.name + one.read_text('utf-8') for one in files))}"
    if not (home / DONE).exists():
        say(f"installing the packages of {source.name}/package.json")
        _renew(home)
        for one in files:
            shutil.copy(one, home)
        # Without the scripts of packages: nothing of them runs before a program needs it.
        why = await _run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts"], home)
        if why:
            return Installed(missing=f"npm install: {why}")
        (home / DONE).touch()
    return Installed(node=node, folder=str(home))


def _renew(home: Path) -> None:
    """Make an empty folder in the place of what an installation that failed has left."""
    shutil.rmtree(home, ignore_errors=True)
    try:
        home.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"{home.parent} cannot be written: {error.strerror}") from None


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


async def _run(command: Sequence[str], folder: Path) -> str:
    """Run a command; return why it failed, in one line; empty if it did not."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(INSTALL_S):
            output, _ = await process.communicate()
    except TimeoutError:
        return f"not done in {INSTALL_S:g} s"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 0:
        return ""
    lines = [one.strip() for one in output.decode("utf-8", "replace").splitlines() if one.strip()]
    told = [one for one in lines if "error" in one.lower()] or lines or ["no output"]
    return told[0][:MAX_WHY_CHARS]

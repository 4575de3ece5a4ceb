"""Finds the server that a command runs, in a Python file or a module."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.server.server import Server
    from mcp_gen.server.serving.per_connection import PerConnection

__all__ = ["folder_of", "load"]


def load(target: str) -> Server | PerConnection[Server]:
    """Import a target and return its server.

    Args:
        target: `file.py:name`, `module:name`, or one of these without a name, if it has a single
            server.

    Returns:
        The server, or what makes one per connection.

    Raises:
        UsageError: no server, several without a name, no such name, or code that fails.
    """
    place, name = _split(target)
    module = _module(place)
    found = _servers(module)
    names = ", ".join(f"{place}:{one}" for one in found)
    if not found:
        raise UsageError(f"{place} has no Server; write `server = Server('name')` in it")
    if not name and len({id(server) for server in found.values()}) > 1:
        raise UsageError(f"{place} has several servers; name one: {names}")
    if name and name not in found:
        what = type(getattr(module, name)).__name__ if hasattr(module, name) else "nothing"
        raise UsageError(f"{target}: expected a Server, found {what}; there is {names}")
    return found[name or next(iter(found))]


def folder_of(target: str) -> Path:
    """Return the folder of a target's code, which `--reload` watches for changes."""
    place, _ = _split(target)
    return Path(place).resolve().parent if _is_file(place) else Path.cwd()


def _split(target: str) -> tuple[str, str]:
    place, colon, name = target.rpartition(":")
    # The colon may be that of a Windows drive, as in `C:\\server.py`.
    return (place, name) if colon and not _is_file(name) else (target, "")


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place or "\\" in place


def _servers(module: ModuleType) -> dict[str, Server | PerConnection[Server]]:
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.server.server import Server
    from mcp_gen.server.serving.per_connection import PerConnection

    members = vars(module).items()
    return {name: value for name, value in members if isinstance(value, Server | PerConnection)}


def _module(place: str) -> ModuleType:
    if not _is_file(place):
        sys.path.insert(0, str(Path.cwd()))
        with _errors_in_one_sentence(place):
            return import_module(place)
    path = Path(place).resolve()
    if not path.is_file():
        raise UsageError(f"no such file: {place}; give a Python file, as in `server.py:server`")
    # As when Python runs the file itself: modules beside it can be imported.
    sys.path.insert(0, str(path.parent))
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_to_run"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{place}: expected a Python file, whose name ends in .py")
    # Annotations are resolved in `sys.modules`, by the module name of their class.
    module = sys.modules[name] = module_from_spec(spec)
    with _errors_in_one_sentence(place):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _errors_in_one_sentence(place: str) -> Generator[None]:
    """Turn an error of the target's code into a UsageError of one sentence."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name == place.partition(".")[0] or error.name == place:
            raise UsageError(
                f"no module {place!r} here; give a file, as in `server.py:server`, or run this in "
                "the folder that has the module"
            ) from None
        raise _load_error(place, error) from error
    except Exception as error:
        raise _load_error(place, error) from error


def _load_error(place: str, error: Exception) -> UsageError:
    frames = traceback.extract_tb(error.__traceback__)
    last = next((one for one in reversed(frames) if "importlib" not in one.filename), None)
    where = f", {Path(last.filename).name} line {last.lineno}" if last else ""
    if isinstance(error, SyntaxError):
        where = f", {Path(error.filename or place).name} line {error.lineno}"
    command = f"python {place}" if _is_file(place) else f"python -m {place}"
    return UsageError(
        f"{place} cannot be run{where}: {type(error).__name__}: {error}; "
        f"`{command}` shows all of it"
    )

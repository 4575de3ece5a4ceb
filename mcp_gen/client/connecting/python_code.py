"""Imports the Python code of a target and finds the server in it. Names no class of servers.

A server is recognized by its methods: clients do not import servers.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mcp_gen.client.connecting.target_text import CodeTarget, nearest, parse_code
from mcp_gen.core.code_loading import RunReached, importing
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex

__all__ = ["LoadedServer", "check_file", "load"]


@runtime_checkable
class LoadedServer(Protocol):
    """Server in Python code: a Server, or what makes one per connection."""

    def run(self, transport: Any = "stdio", **options: Any) -> None:
        """Serve in this process until it is told to stop."""
        ...

    async def serve(self, transport: Duplex) -> None:
        """Serve one client until it disconnects."""
        ...

    def asgi(self, path: str = "/mcp", **options: Any) -> Any:
        """Return the ASGI app."""
        ...

    def add_middleware(self, middleware: Any) -> None:
        """Add a middleware around every message from clients."""
        ...


def load(target: str | CodeTarget) -> LoadedServer:
    """Import the code of a target and return its server.

    The code is imported, so what stands under `if __name__ == "__main__":` does not run. Code that
    calls `server.run()` while it is imported names its server so.

    Args:
        target: `file.py:name`, `module:name`, or one of these without a name, if it has a single
            server. The name may be that of a function without arguments that returns a server.

    Returns:
        The server, or what makes one per connection.

    Raises:
        UsageError: no server, several without a name, no such name, or code that fails.
    """
    code = parse_code(target) if isinstance(target, str) else target
    try:
        with importing():
            module = _module(code.place)
    except RunReached as reached:
        ran: LoadedServer = reached.server
        return ran
    return _named(module, code) if code.name else _only(module, code.place)


def _only(module: ModuleType, place: str) -> LoadedServer:
    found = _servers(module)
    if len({id(server) for server in found.values()}) > 1:
        names = ", ".join(f"{place}:{one}" for one in found)
        raise UsageError(f"{place} has several servers; name one: {names}")
    if found:
        return next(iter(found.values()))
    raise UsageError(
        f"{place} has no Server; write `server = Server('name')` in it, or name a function that "
        f"returns one, as in `{place}:make`; what a program makes under `__main__` is not seen: "
        f"`{_python(place)}` is the command for that"
    )


def _named(module: ModuleType, code: CodeTarget) -> LoadedServer:
    found: Any = getattr(module, code.name, None)
    if _is_server(found):
        server: LoadedServer = found
        return server
    if inspect.isfunction(found):
        return _made(found, code)
    servers = _servers(module)
    there = ", ".join(f"{code.place}:{one}" for one in servers)
    what = type(found).__name__ if hasattr(module, code.name) else "nothing"
    near = nearest(code.name, list(servers))
    advice = f"{near}there is {there}" if there else "write `server = Server('name')` in it"
    raise UsageError(f"{code}: expected a Server, found {what}; {advice}")


def _made(factory: Any, code: CodeTarget) -> LoadedServer:
    """Return the server that a function of the code makes."""
    with _errors_in_one_sentence(code.place):
        try:
            inspect.signature(factory).bind()
        except TypeError as error:
            raise UsageError(f"{code}: expected a function without arguments: {error}") from None
        made = factory()
    if inspect.iscoroutine(made):
        made.close()
        raise UsageError(
            f"{code} is an async function; expected a function that returns a Server at once; what "
            "it awaits belongs into the `lifespan=` of the Server"
        )
    if not _is_server(made):
        raise UsageError(f"{code}(): expected a Server, got {type(made).__name__}")
    server: LoadedServer = made
    return server


def _servers(module: ModuleType) -> dict[str, LoadedServer]:
    return {name: value for name, value in vars(module).items() if _is_server(value)}


def _is_server(value: Any) -> bool:
    return isinstance(value, LoadedServer) and not isinstance(value, type)


def _module(place: str) -> ModuleType:
    if not CodeTarget(place).is_file:
        _import_from(Path.cwd())
        with _errors_in_one_sentence(place):
            return import_module(place)
    path = check_file(place)
    # As when Python runs the file itself: modules beside it can be imported.
    _import_from(path.parent)
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_to_run"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{place}: expected a Python file, whose name ends in .py")
    # Annotations are resolved in `sys.modules`, by the module name of their class.
    module = sys.modules[name] = module_from_spec(spec)
    with _errors_in_one_sentence(place):
        try:
            spec.loader.exec_module(module)
        except BaseException:
            # As for an import: a module that has failed is not there.
            del sys.modules[name]
            raise
    return module


def check_file(place: str) -> Path:
    """Return the absolute path of a file of code.

    Raises:
        UsageError: there is no such file; the text has a similar name of the same folder.
    """
    path = Path(place).resolve()
    if path.is_file():
        return path
    beside = [one.name for one in path.parent.glob("*.py")]
    raise UsageError(
        f"no such file: {place}; {nearest(path.name, beside)}"
        "give a Python file, as in `server.py:server`"
    )


def _import_from(folder: Path) -> None:
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))


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
    except UsageError:
        raise
    except (Exception, SystemExit) as error:
        # Code that ends its process is told so: the process is not that of the code alone.
        raise _load_error(place, error) from error


def _load_error(place: str, error: BaseException) -> UsageError:
    frames = traceback.extract_tb(error.__traceback__)
    last = next((one for one in reversed(frames) if "importlib" not in one.filename), None)
    where = f", {Path(last.filename).name} line {last.lineno}" if last else ""
    if isinstance(error, SyntaxError):
        where = f", {Path(error.filename or place).name} line {error.lineno}"
    return UsageError(
        f"{place} cannot be run{where}: {type(error).__name__}: {error}; "
        f"`{_python(place)}` shows all of it"
    )


def _python(place: str) -> str:
    return f"python {place}" if CodeTarget(place).is_file else f"python -m {place}"

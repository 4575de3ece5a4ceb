"""What is collected, and how an async test runs: in a loop of its own that must end up empty."""

from __future__ import annotations

import inspect

import pytest

from tests.support.loop import run_clean

# The peers bring the official SDK, which the project itself must not need: `nox -s peers` asks for
# them by name, and what is asked for by name is collected all the same. So does `nox -s types` for
# what the type checkers are to find.
collect_ignore = ["peers", "typing"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests, except those that another plugin is marked for."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj) or pyfuncitem.get_closest_marker("anyio"):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    run_clean(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True

"""Test collection, async tests, and the check of every server's frames during a test.

Each async test has its own loop, which must be empty at the end. Frames of servers must be valid at
the negotiated revision: see tests/support/checks/watch.py.
"""

from __future__ import annotations

import gc
import inspect
import os
import random
from collections.abc import Generator

import pytest

from tests.support.checks import watch
from tests.support.few_cases import left_out
from tests.support.loop import run_clean
from tests.support.processes import environment
from tests.support.requirement import cells, covering, reaches, revisions_of
from tests.support.skips import UnlistedSkips, in_ci

watch.install()
environment.install()

# The peers bring the official SDK, which the project itself must not need: `nox -s peers` asks for
# them by name, and what is asked for by name is collected all the same. So does `nox -s types` for
# what the type checkers are to find, and `nox -s browser` for what needs a browser.
collect_ignore = ["browser", "everyday/migration", "peers", "typing"]

COLLECTS_AFTER = (10_000, 10, 10)
"""Thresholds of the garbage collector: the usual 700 objects cost a tenth of the time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--full` and `--shuffle`."""
    parser.addoption(
        "--full",
        action="store_true",
        help="run each test of a requirement over every transport at every revision, each pair of "
        "the zoo in all areas and scenarios, each command of docs/ in a process of its own, and "
        "all cases of tests with `few_cases`",
    )
    parser.addoption(
        "--shuffle", type=int, metavar="SEED", help="run the tests in a random order by this seed"
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector what was collected: it all stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(*COLLECTS_AFTER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that are run with `--full` alone; with `--shuffle` change the order."""
    out = set[pytest.Item]() if config.getoption("full") else left_out(items)
    if out:
        config.hook.pytest_deselected(items=[*out])
        items[:] = [one for one in items if one not in out]
    seed: int | None = config.getoption("shuffle")
    if seed is not None:
        # Not by chance alone: all processes of xdist must come to the same order.
        random.Random(seed).shuffle(items)


def pytest_report_header() -> str | None:
    """Say which tests are left out of this run, and what brings them in."""
    if "MCP_GEN_PUBLISHED_SCHEMAS" in os.environ:
        return None
    return "without MCP_GEN_PUBLISHED_SCHEMAS: kept schemas are compared with their pinned hashes"


def pytest_configure(config: pytest.Config) -> None:
    """Let nothing be skipped in CI that is not listed."""
    if in_ci():
        config.pluginmanager.register(UnlistedSkips())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run `async def` tests."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    run_clean(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Watch every server while a test runs."""
    if item.get_closest_marker("unchecked"):
        return (yield)
    with watch.guarded():
        return (yield)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of requirements on its transports, at the revisions that have all of them.

    Without `--full` only on cells that cover them: see `covering`. A test with a `revision`
    parameter instead chooses its transport, and runs at every revision that has one of them.
    """
    ids, without = _marked(metafunc, "requirement"), _marked(metafunc, "not_over")
    name = metafunc.function.__qualname__
    full = metafunc.config.getoption("full")
    if "connect" in metafunc.fixturenames:
        connects = cells(ids, without)
        metafunc.parametrize("connect", connects if full else covering(connects, name), ids=str)
    elif "reach" in metafunc.fixturenames:
        ways = reaches(ids, without)
        metafunc.parametrize("reach", ways if full else covering(ways, name), ids=str)
    elif ids and "revision" in metafunc.fixturenames:
        revisions, given = revisions_of(ids), _given(metafunc, "revision")
        if given is None:
            metafunc.parametrize("revision", revisions)
        elif not set(revisions) <= set(given):
            raise LookupError(f"{metafunc.function.__name__}: expected to run at {revisions}")


def _marked(metafunc: pytest.Metafunc, name: str) -> tuple[str, ...]:
    """Return the arguments of all marks of this name."""
    return tuple(one for mark in metafunc.definition.iter_markers(name) for one in mark.args)


def _given(metafunc: pytest.Metafunc, name: str) -> list[object] | None:
    """Return the values of a parameter that the test itself parametrizes, or None."""
    marks = metafunc.definition.iter_markers("parametrize")
    return next((list(mark.args[1]) for mark in marks if mark.args[0] == name), None)

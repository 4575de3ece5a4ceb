"""Hypothesis with the profile of this run; test modules import it from here.

The profile is loaded with this module, so that runs without property tests need not import it.
"""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.skips import in_ci

__all__ = ["HealthCheck", "example", "given", "settings", "st"]

# On a slow machine nothing that takes its time is a fault.
settings.register_profile(
    "local",
    settings.get_profile("default"),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, database=None)
settings.load_profile("ci" if in_ci() else "local")

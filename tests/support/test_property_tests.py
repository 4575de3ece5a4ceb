"""Property tests do not depend on the speed of a machine, and draw the same examples in CI."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT_S = 50
PROGRAM = """
import json
from tests.support.property_tests import settings
names = ("deadline", "derandomize", "print_blob", "database")
print(json.dumps({name: repr(getattr(settings(max_examples=5), name)) for name in names}))
"""


def chosen(ci: str) -> Any:
    """Return the settings of a property test in a run with this value of `CI`."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return json.loads(ran.stdout)


def test_in_ci_the_same_examples_are_drawn_and_none_is_stored() -> None:
    wanted = {"deadline": "None", "derandomize": "True", "print_blob": "True", "database": "None"}
    assert chosen("true") == wanted


def test_elsewhere_examples_are_random_and_those_that_fail_are_stored() -> None:
    found = chosen("")
    assert "Directory" in found.pop("database")
    assert found == {"deadline": "None", "derandomize": "False", "print_blob": "True"}


def test_a_run_without_property_tests_does_not_import_hypothesis() -> None:
    words = "import sys, tests.conftest; print('hypothesis' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert ran.stdout == "False\n"


def test_every_property_test_has_the_profile() -> None:
    importing = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"^\s*(from|import) hypothesis\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert importing == {"tests/support/property_tests.py"}

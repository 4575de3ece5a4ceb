"""Fixtures of the generator tests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from codegen.emit import pydantic_models

# The published schemas are not in this repository: see test_published.py.
collect_ignore = [] if "MCP_GEN_PUBLISHED_SCHEMAS" in os.environ else ["test_published.py"]


@pytest.fixture(autouse=True, scope="session")
def _printed_once() -> Iterator[None]:
    """Cache the output of datamodel-code-generator, which takes half of every run."""
    known: dict[str, str] = {}
    really = pydantic_models.printed

    def printed(schema: Any, attributes: dict[str, str]) -> str:
        key = json.dumps([schema, attributes])
        if key not in known:
            known[key] = really(schema, attributes)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydantic_models, "printed", printed)
        yield

"""Types that keep keys which the schema does not name: rows [[extra]] of the overlay."""

from __future__ import annotations

from pathlib import Path

from codegen.__main__ import generate
from tests.codegen.tiny import CAPABILITY, STRING, checkout, stopped, struct

EXTRA = """
[[extra]]
names = ["Box"]
reason = "a test"
"""


def test_a_type_of_a_row_is_open(tmp_path: Path) -> None:
    root = checkout(tmp_path, {"Box": struct(lid=STRING)}, overlay=CAPABILITY + EXTRA)
    types = generate(root).package[Path("v2030_01_01/types.py")]
    assert "class Box(OpenWire, kw_only=True):" in types
    assert "class EchoResult(Wire, kw_only=True):" in types


def test_a_type_without_a_row_is_not(tmp_path: Path) -> None:
    root = checkout(tmp_path, {"Box": struct(lid=STRING)})
    types = generate(root).package[Path("v2030_01_01/types.py")]
    assert "class Box(Wire, kw_only=True):" in types


def test_a_row_whose_type_is_gone_stops_the_run(tmp_path: Path) -> None:
    assert stopped(checkout(tmp_path, overlay=CAPABILITY + EXTRA)) == (
        "overlay.toml: [[extra]] row 1: Box matched nothing in any revision; remove it"
    )


def test_a_field_with_the_name_of_what_every_open_type_has_stops_the_run(tmp_path: Path) -> None:
    root = checkout(tmp_path, {"Box": struct(withExtra=STRING)}, overlay=CAPABILITY + EXTRA)
    assert stopped(root) == (
        "2030-01-01: #/$defs/Box/properties/withExtra: `with_extra`, which every type with extra "
        "keys has as an attribute; give it another name in codegen/model/names.py"
    )

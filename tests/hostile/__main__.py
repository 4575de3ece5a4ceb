"""Count the hostile requests by theme: `python -m tests.hostile`."""

from __future__ import annotations

from collections import Counter

from tests.hostile.corpus import HERE, corpus

if __name__ == "__main__":
    rows = corpus()
    alone = Counter(row.theme for row in rows if row.alone)
    many = Counter(row.theme for row in rows if not row.alone)
    print(f"{'theme':<12}{'alone':>7}{'of many':>9}  what it is about")
    for theme in sorted(alone.keys() | many.keys()):
        first, *_ = (HERE / f"{theme}.toml").read_text(encoding="utf-8").splitlines()
        print(f"{theme:<12}{alone[theme]:>7}{many[theme]:>9}  {first.removeprefix('# ')}")
    print(f"{'all':<12}{alone.total():>7}{many.total():>9}")

"""A release is refused without a section of its own in the changelog."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.release.__main__ import main
from tests.release.changelog import NoSection, section

CHANGELOG = """# Changelog

One section per release.

## 0.2.0 (unreleased)

### Names

* Added: b

## 0.1.0 (2026-01-31)

* Added: a
"""


def checkout(folder: Path, version: str, changelog: str = CHANGELOG) -> Path:
    """Write a project of this version, with a changelog."""
    (folder / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (folder / "CHANGELOG.md").write_text(changelog)
    return folder


def test_a_section_ends_where_that_of_the_release_before_begins() -> None:
    assert section(CHANGELOG, "0.2.0") == "### Names\n\n* Added: b"


def test_the_oldest_section_ends_with_the_file() -> None:
    assert section(CHANGELOG, "0.1.0") == "* Added: a"


@pytest.mark.parametrize("version", ["0.1", "0.1.00", "0.3.0", "(unreleased)", ""])
def test_a_version_that_no_heading_names_is_refused(version: str) -> None:
    with pytest.raises(NoSection, match=r"found 0 among 0\.2\.0, 0\.1\.0"):
        section(CHANGELOG, version)


def test_a_version_with_two_sections_is_refused() -> None:
    with pytest.raises(NoSection, match="found 2"):
        section(CHANGELOG + "\n## 0.2.0 (2026-02-28)\n\n* Added: c\n", "0.2.0")


def test_a_section_without_a_change_is_refused() -> None:
    with pytest.raises(NoSection, match="is empty"):
        section(CHANGELOG.replace("## 0.2.0", "## 0.3.0 (unreleased)\n\n## 0.2.0"), "0.3.0")


def test_the_section_of_the_projects_version_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([], checkout(tmp_path, "0.1.0")) == 0
    assert capsys.readouterr().out == "* Added: a\n"


def test_a_version_other_than_the_projects_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["0.1.0"], checkout(tmp_path, "0.2.0")) == 1
    shown = capsys.readouterr()
    assert shown.err == "asked to release 0.1.0, but pyproject.toml says 0.2.0\n"
    assert shown.out == ""


def test_a_version_that_the_changelog_does_not_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([], checkout(tmp_path, "0.3.0")) == 1
    assert capsys.readouterr().err.startswith("CHANGELOG.md: expected one section `## 0.3.0`")

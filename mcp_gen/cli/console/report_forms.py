"""Forms of a report that a command writes: which, and where to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.report.model import Report

__all__ = ["ReportForm", "doctor_writers", "report_forms", "write_forms"]

R = TypeVar("R")
STDOUT = "-"


class ReportForm(NamedTuple):
    """One form of the report.

    Args:
        name: The name of its option, without `--`.
        place: The file for it; `-` for stdout.
    """

    name: str
    place: str

    @property
    def is_printed(self) -> bool:
        """True if it goes to stdout."""
        return self.place == STDOUT


def report_forms(as_json: bool, **places: str | None) -> list[ReportForm]:
    """Return the forms that are wanted.

    Args:
        as_json: True prints JSON.
        places: The files of the other forms by their names; None: not wanted.

    Raises:
        UsageError: two are to go to stdout, or a folder is not there.
    """
    forms = [ReportForm("json", STDOUT)] if as_json else []
    forms += [ReportForm(name, place) for name, place in places.items() if place is not None]
    printed = [f"--{one.name}" for one in forms if one.is_printed]
    if len(printed) > 1:
        raise UsageError(f"{' and '.join(printed)} print to stdout; give a file for all but one")
    for one in forms:
        folder = Path(one.place).parent
        if not one.is_printed and not folder.is_dir():
            raise UsageError(f"--{one.name}: there is no folder {folder}")
    return forms


def write_forms(
    report: R, forms: list[ReportForm], writers: Mapping[str, Callable[[R], str]]
) -> None:
    """Write a report in each of its forms.

    Args:
        report: The report.
        forms: The forms that are wanted.
        writers: Functions that make the forms, by name.

    Raises:
        UsageError: a file cannot be written.
    """
    for form in forms:
        text = writers[form.name](report)
        if form.is_printed:
            print(text, end="")
            continue
        try:
            Path(form.place).write_text(text, "utf-8")
        except OSError as error:
            why = f"{form.place} cannot be written: {error.strerror}"
            raise UsageError(f"--{form.name}: {why}") from None


def doctor_writers() -> dict[str, Callable[[Report], str]]:
    """Return the functions that make the forms of the doctor's report."""
    # Imported here so that `mcp-gen --help` stays fast.
    from mcp_gen.compat.report.encoding import encode_report
    from mcp_gen.compat.report.html import html_report
    from mcp_gen.compat.report.junit import junit_report
    from mcp_gen.compat.report.markdown import markdown_report

    return {
        "json": encode_report,
        "html": html_report,
        "junit": junit_report,
        "markdown": markdown_report,
    }

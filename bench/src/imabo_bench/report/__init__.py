"""The report: one page with tables and figures from the rows of a benchmark run."""

from __future__ import annotations

from pathlib import Path

from imabo.errors import ImaboError
from imabo_bench.problems import open_problem
from imabo_bench.report.browser import write_pngs
from imabo_bench.report.data import Group, groups_of
from imabo_bench.report.figures import looks_of
from imabo_bench.report.landscape import Landscape, landscape_of
from imabo_bench.report.page import render_page
from imabo_bench.report.rows import read_results
from imabo_bench.report.sections import sections_of
from imabo_bench.report.tables import overview_of

__all__ = ["write_report"]


def write_report(folder: Path, out: Path | None = None, png: Path | None = None) -> Path:
    """Write the report of a benchmark run as one HTML page that needs no network.

    Use it on the folder that ``imabo bench run --out`` filled, also while the run goes on.

    Args:
        folder: Holds ``rows.jsonl`` (or ``rows.jsonl.gz``) and ``manifest.json``.
        out: The page's file; ``report.html`` in ``folder`` by default.
        png: A folder for the figures as PNG files; this needs Chromium or Chrome.

    Returns:
        Where the page is.

    Raises:
        MissingData: If the folder holds no rows.
        MissingExtra: If Plotly is missing, or a browser when ``png`` is given.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as empty:
        ...     write_report(Path(empty))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        imabo.errors.MissingData: ... holds no rows: ...
    """
    results = read_results(folder)
    groups = groups_of(results.runs)
    looks = looks_of({label for group in groups for label in group.methods})
    sections = sections_of(groups, [_look_at(group) for group in groups], looks)
    overview = overview_of({section.group.title: section.standings for section in sections})
    page = out or folder / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render_page(results, sections, overview, looks), encoding="utf-8")
    if png is not None:
        write_pngs([drawing for section in sections for drawing in section.drawings], png)
    return page


def _look_at(group: Group) -> Landscape | str:
    """What the group's problem looks like, or why it cannot be opened here."""
    try:
        return landscape_of(open_problem(group.problem), group.runs[0].rho)
    except ImaboError as error:
        return str(error)

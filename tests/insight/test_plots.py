"""``study.plot``: Plotly figures of every kind, and no cost for those who do not use it."""

from __future__ import annotations

import subprocess
import sys

import plotly.graph_objects as go
import pytest

from imabo import insight
from imabo.errors import MissingExtra
from imabo.insight import FIGURES
from tests.insight.story import instant


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_a_method_of_plot(name: str) -> None:
    study, _ = instant(60)
    drawn = getattr(study.plot, name)()
    assert isinstance(drawn, go.Figure)
    assert drawn.layout.title.text == insight.caption(name).title
    assert len(drawn.data) == len(insight.figure(name, insight.read(study))["data"])


def test_options_reach_the_figure() -> None:
    study, _ = instant(60)
    assert "configuration 1" in [trace.name for trace in study.plot.reward(baseline=1).data]
    assert sum(len(trace.y) for trace in study.plot.arms(limit=3).data) == 3


def test_without_plotly_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    study, _ = instant(5)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtra, match=r"imabo\[plot\]"):
        study.plot.reward()
    snapshot = insight.read(study)
    assert insight.figure("reward", snapshot)["data"]
    assert "<svg" in insight.report(snapshot)


@pytest.mark.service
def test_importing_imabo_does_not_import_its_figures_nor_figures_plotly() -> None:
    code = (
        "import sys, imabo; assert 'imabo.insight' not in sys.modules; "
        "import imabo.insight; assert 'plotly' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

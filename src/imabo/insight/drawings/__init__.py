"""Figures as plain Plotly dicts, drawn from the read models without importing Plotly."""

from imabo.insight.drawings.figures import (
    FIGURES,
    RESEARCH,
    Caption,
    caption,
    figure,
    figures_of,
    options_of,
)

__all__ = ["FIGURES", "RESEARCH", "Caption", "caption", "figure", "figures_of", "options_of"]

"""Figures as plain Plotly dicts, drawn from the read models without importing Plotly."""

from imabo.insight.drawings.figures import FIGURES, Caption, caption, figure

__all__ = ["FIGURES", "Caption", "caption", "figure"]

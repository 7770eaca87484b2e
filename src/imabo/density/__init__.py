"""Densities on the unit cube: Parzen mixtures made of truncated normals and smoothed choices."""

from imabo.density.parzen import Parzen

__all__ = ["Parzen"]

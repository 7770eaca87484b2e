"""A Gaussian process over the arms of a mixed, conditional space."""

from imabo.gaussian.kernel import Points
from imabo.gaussian.process import Hyperparameters, Process

__all__ = ["Hyperparameters", "Points", "Process"]

"""Benchmark problems: what they are, and how they are opened by name."""

from imabo.bench.problems.base import Problem
from imabo.bench.problems.registry import open_problem, problem_names

__all__ = ["Problem", "open_problem", "problem_names"]

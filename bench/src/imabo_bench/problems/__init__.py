"""Benchmark problems: what they are, and how they are opened by name."""

from imabo_bench.problems.base import Problem
from imabo_bench.problems.family import Family
from imabo_bench.problems.registry import open_problem, problem_names

__all__ = ["Family", "Problem", "open_problem", "problem_names"]

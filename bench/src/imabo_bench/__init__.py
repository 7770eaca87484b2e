"""Benchmarks: the engine's speed, and regret on problems whose optimum is known."""

__version__ = "0.1.0"  # the wheel takes it from here

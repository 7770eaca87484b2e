"""Benchmarks: the engine's speed, and regret on problems whose optimum is known."""

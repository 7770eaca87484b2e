"""The kinds of parameters that teams tune, put together at random."""

from __future__ import annotations

import numpy as np

from imabo.space import Choice, Float, Int, Parameter, Space

_NUMBERS: dict[str, Parameter] = {
    "temperature": Float(0.0, 1.5),
    "top_p": Float(0.5, 1.0),
    "top_k": Int(1, 20),
    "chunk_tokens": Int(64, 2048, log=True),
    "overlap": Float(0.0, 0.5),
    "examples": Int(0, 8),
    "max_tokens": Int(32, 1024, log=True),
    "threshold": Float(1e-3, 1.0, log=True),
}
_CHOICES = ("model", "prompt", "retriever")
_WIDE = {"float": 12, "int": 10, "choice": 8}


def draw_mixed(rng: np.random.Generator, n_numbers: int, n_choices: int) -> Space:
    """Some numbers and some choices of 2 to 5 values."""
    names = rng.choice(list(_NUMBERS), n_numbers, replace=False).tolist()
    parameters: dict[str, Parameter] = {
        name: lettered(name, int(rng.integers(2, 6))) for name in _CHOICES[:n_choices]
    }
    return Space(parameters | {name: _NUMBERS[name] for name in names})


def draw_knobs(rng: np.random.Generator) -> Space:
    """Two real numbers, on linear or log scales."""
    scales = (Float(0.0, 1.0), Float(0.0, 2.0), Float(1e-4, 1.0, log=True))
    x, y = rng.integers(0, len(scales), 2).tolist()
    return Space(x=scales[x], y=scales[y])


def draw_wide(rng: np.random.Generator) -> tuple[Space, list[str]]:
    """Thirty parameters in any order, and the five of them that matter."""
    parameters: dict[str, Parameter] = {}
    for i in range(_WIDE["float"]):
        parameters[f"float_{i}"] = Float(0.0, 1.0) if i % 3 else Float(1e-3, 1.0, log=True)
    for i in range(_WIDE["int"]):
        parameters[f"int_{i}"] = Int(1, int(rng.integers(5, 60)))
    for i in range(_WIDE["choice"]):
        parameters[f"choice_{i}"] = lettered(f"choice_{i}", int(rng.integers(2, 6)))
    names = rng.permutation(list(parameters)).tolist()
    matter: list[str] = []
    for kind, count in (("float", 2), ("int", 2), ("choice", 1)):
        own = [name for name in names if name.startswith(kind)]
        matter += rng.choice(own, count, replace=False).tolist()
    return Space({name: parameters[name] for name in names}), matter


def lettered(name: str, n_values: int) -> Choice:
    """A choice without order: ``model-a``, ``model-b``, ...

    Example:
        >>> lettered("model", 2)
        Choice('model-a', 'model-b')
    """
    return Choice(*(f"{name}-{chr(ord('a') + i)}" for i in range(n_values)))

"""Which settings of the assistant matter, from the table of all its answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from imabo.arms import Floats
from imabo_bench.problems.hotpotqa import PROMPTS, READER, WRITER, Rewards, read_rewards


def effects(rewards: Rewards | None = None) -> Iterator[str]:
    """Lines: the mean reward by each value of a setting, the others drawn at random.

    Args:
        rewards: Of every question with every configuration; those shipped with imabo when None.

    Example:
        >>> next(effects())
        'model: extractive 0.121, smollm2-135m-instruct 0.150'
    """
    table = rewards or read_rewards()
    written, copied = table.written.mean(axis=-1), table.copied.mean(axis=-1)
    yield f"model: {READER} {copied.mean():.3f}, {WRITER} {written.mean():.3f}"
    by_prompt = zip(PROMPTS, written.mean(axis=(1, 2)), strict=True)
    yield "prompt: " + ", ".join(f"{name} {mean:.3f}" for name, mean in by_prompt)
    depths = enumerate((written.mean(axis=(0, 2)) + copied) / 2, start=1)
    yield "top_k: " + ", ".join(f"{k} {mean:.3f}" for k, mean in depths)
    heats = written.mean(axis=(0, 1))[::10]
    yield "temperature: " + ", ".join(f"{n / 10:g} {mean:.3f}" for n, mean in enumerate(heats))
    shares = zip(("prompt", "top_k", "temperature"), _shares(written), strict=True)
    yield (
        f"of the variance between configurations of {WRITER}: "
        + ", ".join(f"{name} {share:.0%}" for name, share in shares)
        + ", the rest together"
    )
    best = np.unravel_index(int(written.argmax()), written.shape)
    yield (
        f"best: {WRITER}, {PROMPTS[best[0]]}, top_k {best[1] + 1}, temperature {best[2] / 100:g}: "
        f"{written.max():.3f}; the best of {READER}: {copied.max():.3f} (top_k "
        f"{int(copied.argmax()) + 1}); a configuration at random: "
        f"{(written.mean() + copied.mean()) / 2:.3f}"
    )


def _shares(means: Floats) -> list[float]:
    """What each axis alone explains of the variance over a grid of means."""
    axes = range(means.ndim)
    alone = [means.mean(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    return [float(main.var() / means.var()) for main in alone]

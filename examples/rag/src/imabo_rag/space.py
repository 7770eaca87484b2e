"""What can be tuned: the model, and for models that write, how they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from imabo import Choice, Float, Int, Space
from imabo_rag.prompts import STYLES

EXTRACTIVE: Final = "extractive"
MOST_PASSAGES: Final = 10


def rag_space(models: Sequence[str] = (), *, extractive: bool = True) -> Space:
    """The search space of the pipeline.

    Args:
        models: Models that write their answers, none of them called ``extractive``.
        extractive: Whether the reader that copies a sentence takes part; it must when there are no
            other models.

    Example:
        >>> rag_space(["small"]).validate({"model": "extractive", "top_k": 3})
        {'model': 'extractive', 'top_k': 3}
        >>> sorted(rag_space(["small"], extractive=False).names)
        ['model', 'prompt', 'temperature', 'top_k']
    """
    names = (*([EXTRACTIVE] if extractive or not models else []), *models)
    # A prompt and a temperature mean nothing to a reader that writes nothing.
    when = {"model": list(models)} if EXTRACTIVE in names else None
    top_k = Int(1, MOST_PASSAGES)
    if not models:
        return Space(model=Choice(*names), top_k=top_k)
    return Space(
        model=Choice(*names),
        prompt=Choice(*STYLES, when=when),
        top_k=top_k,
        temperature=Float(0.0, 1.0, when=when),
    )

"""LiteLLM: a routing strategy whose choices a study makes, and a callback that tells signals.

Extra: ``litellm``. docs/guides/litellm.md shows it.
"""

from __future__ import annotations

from imabo.errors import MissingExtra

try:
    from imabo.litellm.logger import ImaboLogger
    from imabo.litellm.routing import ImaboRouting
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "litellm":
        raise
    raise MissingExtra(
        "imabo.litellm needs the package litellm",
        "it is not installed",
        'pip install "imabo[litellm]"',
    ) from error

__all__ = ["ImaboLogger", "ImaboRouting"]

"""A provider for the OpenFeature SDK: flags are the configurations of studies.

Extra: ``openfeature``. docs/guides/openfeature.md shows it.
"""

from __future__ import annotations

from imabo.errors import MissingExtra

try:
    from imabo.openfeature.provider import ImaboProvider
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "openfeature":
        raise
    raise MissingExtra(
        "imabo.openfeature needs the package openfeature-sdk",
        "it is not installed",
        'pip install "imabo[openfeature]"',
    ) from error

__all__ = ["ImaboProvider"]

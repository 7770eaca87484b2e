"""The parameters that a space is declared with."""

from __future__ import annotations

from collections.abc import Mapping

from imabo.errors import InvalidSpace
from imabo.space.base import Parameter, parameter_name
from imabo.space.scalars import show


def collect(
    parameters: Mapping[str, Parameter] | None, named: Mapping[str, Parameter]
) -> dict[str, Parameter]:
    """Merge the two ways of naming parameters and check that they are parameters."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidSpace(
            f"Space got {show(parameters)}",
            "the parameters are a mapping from names to Float, Int or Choice",
            "pass a dict or keyword arguments",
        )
    collected: dict[str, Parameter] = {}
    for name, parameter in [*(parameters or {}).items(), *named.items()]:
        clean = parameter_name(name)
        if clean in collected:
            raise InvalidSpace(
                f"parameter {clean!r} is declared twice",
                "a name stands for one parameter",
                "remove one of the two",
            )
        if not isinstance(parameter, Parameter):
            raise InvalidSpace(
                f"parameter {clean!r} is {show(parameter)}",
                "a parameter is a Float, an Int or a Choice",
                f"write for instance Choice({show(parameter)})",
            )
        collected[clean] = parameter
    if not collected:
        raise InvalidSpace(
            "the space has no parameters", "there is nothing to tune", "declare at least one"
        )
    return collected

"""A family of problems: what ``family/instance:variant`` stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from imabo_bench.problems.base import Problem
from imabo_bench.problems.names import Name, check_variants, unknown_instance

Data = Path | str | None


@dataclass(frozen=True, slots=True)
class Family:
    """Problems that belong together, opened by name.

    Use it for a family of your own: an entry point of the group ``imabo_bench.problems`` whose name
    is the family's and that stands for such an object.

    Args:
        instances: Their names, or a function that finds them in the folder of the data.
        make: Makes the problem from the parts of its name and the folder of the data; the
            problem's ``name`` must be the whole name.
        variants: What may follow a colon; None when ``make`` checks the name by itself.

    Example:
        >>> from imabo_bench.problems.toy import Toy
        >>> family = Family(("sin1", "garland"), lambda name, data: Toy(name.instance))
        >>> family.open(Name("mine", "sin1", ())).space.names
        ('x1', 'x2', 'x3', 'x4')
    """

    instances: Sequence[str] | Callable[[Data], Sequence[str]]
    make: Callable[[Name, Data], Problem]
    variants: Sequence[str] | None = ()

    def names(self, data: Data = None) -> Sequence[str]:
        """The instances there are."""
        return self.instances(data) if callable(self.instances) else self.instances

    def open(self, name: Name, data: Data = None) -> Problem:
        """The problem of that name."""
        if self.variants is not None:
            known = self.names(data)
            if name.instance not in known:
                raise unknown_instance(name.family, name.instance, known)
            check_variants(name, self.variants)
        return self.make(name, data)

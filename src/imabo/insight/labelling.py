"""Names for configurations that people know them by: what sets each apart from the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from imabo.space.scalars import Scalar, value_key

Values = Mapping[str, Scalar]

_PREFIXES: Final = ("use_", "with_", "has_", "is_", "enable_", "add_")
_LARGE: Final = 100.0  # numbers from here on need no decimals


_MOST: Final = 4  # parameters of a label, unless it takes more


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much a label says: digits of a number, letters of a text."""

    digits: int
    letters: int


# The first is for all; those that are still alike say more, step by step.
_DETAILS: Final = (_Detail(2, 28), _Detail(4, 60), _Detail(17, 400))


def labels(configs: Sequence[Values], *, varying: Collection[str] | None = None) -> list[str]:
    """Short names of configurations, each unlike the others.

    A label has the parameters that differ between the configurations: texts and switches before
    numbers, of which those with the most different values come first, and at most four, unless it
    takes more to tell two apart. A parameter that a configuration does not have, because its
    condition is not met, is not mentioned.

    Args:
        configs: The configurations that are shown together.
        varying: The parameters that differ between all configurations there are. Texts and
            switches among them are named even where the shown ones agree: a model is what people
            know a configuration by.

    Example:
        >>> labels([
        ...     {"model": "large", "examples": True, "T": 0.0, "top_k": 5},
        ...     {"model": "small", "examples": False, "T": 0.7134, "top_k": 5},
        ... ])
        ['large, with examples, T = 0', 'small, without examples, T = 0.71']
    """
    known = _to_name(configs, frozenset() if varying is None else frozenset(varying))
    unclear = _unclear(configs)
    kinds = _counted(configs)
    names = [_first_names(config, known, kinds) for config in configs]
    found = [""] * len(configs)

    def say(places: Iterable[int], detail: _Detail) -> list[list[int]]:
        for i in places:
            parts = (_part(name, configs[i][name], unclear, detail) for name in names[i])
            found[i] = ", ".join(parts)
        return _alike(found)

    alike = say(range(len(configs)), _DETAILS[0])
    for detail in _DETAILS:
        for group in alike:
            more = _telling_apart([configs[i] for i in group])
            for i in group:
                names[i] += [name for name in configs[i] if name in more - set(names[i])]
        alike = say([i for group in alike for i in group], detail)
    for group in alike:  # only texts of hundreds of letters come to this
        for n, i in enumerate(group, start=1):
            found[i] += f" ({n})"
    return found


def _to_name(configs: Sequence[Values], varying: frozenset[str]) -> frozenset[str]:
    shown = varying_names(configs)
    if not shown:
        return varying
    words = {
        name for config in configs for name in varying & set(config) if not _is_number(config[name])
    }
    return shown | words


def varying_names(configs: Iterable[Values]) -> frozenset[str]:
    """The parameters of which those configurations that have them have different values."""
    first: dict[str, object] = {}
    found = set()
    for config in configs:
        for name, value in config.items():
            if name not in found and first.setdefault(name, value_key(value)) != value_key(value):
                found.add(name)
    return frozenset(found)


def _telling_apart(configs: Sequence[Values]) -> frozenset[str]:
    """What differs between configurations, and what only some of them have."""
    names: list[set[str]] = [set(config) for config in configs]
    everywhere = names[0].intersection(*names)
    return varying_names(configs) | (everywhere.union(*names) - everywhere)


def short_number(value: float, digits: int = 2) -> str:
    """A number with as few letters as say what it is.

    Example:
        >>> [short_number(x) for x in (0, 0.3134, 2048, 1234.5, 3e-5, 12_500_000)]
        ['0', '0.31', '2,048', '1,234', '3e-05', '12,500,000']
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if digits < 17 and _LARGE <= abs(value) < 1e15:
        return f"{value:,.{max(digits - 2, 0)}f}"
    return f"{value:.{digits}g}"


def _first_names(config: Values, known: Collection[str], kinds: Mapping[str, int]) -> list[str]:
    names = [name for name in config if name in known] or list(config)

    # Of numbers, those that tell most apart come first, so that they are seen where a label is cut.
    # Sorting is stable: equal ones are in the order of the space.
    def rank(name: str) -> tuple[bool, int]:
        is_number = _is_number(config[name])
        return is_number, -kinds[name] if is_number else 0

    return sorted(names, key=rank)[:_MOST]


def _counted(configs: Sequence[Values]) -> dict[str, int]:
    """How many different values each parameter has."""
    found: dict[str, set[object]] = {}
    for config in configs:
        for name, value in config.items():
            found.setdefault(name, set()).add(value_key(value))
    return {name: len(values) for name, values in found.items()}


def _part(name: str, value: Scalar, unclear: Collection[str], detail: _Detail) -> str:
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {_plain(name)}"
    if value is None:
        return f"no {_plain(name)}"
    if not isinstance(value, str):
        return f"{_cut(name, detail.letters)} = {short_number(value, detail.digits)}"
    text = _cut(value, detail.letters)
    is_clear = value.strip() and value not in unclear and not value[0].isdigit()
    return text if is_clear else f"{_cut(name, detail.letters)} = {text}"


def _unclear(configs: Sequence[Values]) -> frozenset[str]:
    """Texts that are values of more than one parameter: they need its name."""
    owners: dict[str, set[str]] = {}
    for config in configs:
        for name, value in config.items():
            if isinstance(value, str):
                owners.setdefault(value, set()).add(name)
    return frozenset(text for text, names in owners.items() if len(names) > 1)


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(name: str) -> str:
    for prefix in _PREFIXES:
        if name.startswith(prefix) and len(name) > len(prefix):
            name = name[len(prefix) :]
            break
    return name.replace("_", " ")


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1] + "…"


def _alike(texts: Sequence[str]) -> list[list[int]]:
    """The places of texts that are there more than once, together."""
    places: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        places.setdefault(text, []).append(i)
    return [group for group in places.values() if len(group) > 1]

"""As much of PromQL as a dashboard needs: which metrics and labels an expression names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

FUNCTIONS = {"rate", "increase", "delta", "deriv", "histogram_quantile", "label_values"}
AGGREGATIONS = {"sum", "max", "min", "avg", "count"}
TOKEN = re.compile(
    r"\s*(?:(?P<word>[a-zA-Z_:][\w:]*)|(?P<number>\d+(?:\.\d+)?)|(?P<text>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<range>\[(?:\d+[smhd]|\$__rate_interval)\])|(?P<sign>=~|!~|!=|>=|<=|==|[-+*/(){},=<>]))"
)


@dataclass
class Named:
    """What an expression names."""

    metrics: list[str] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)  # the labels that are left at the end


def tokens_of(expression: str) -> list[tuple[str, str]]:
    """The tokens, each with its kind; what is none is refused."""
    found, place, whole = [], 0, expression.rstrip()
    while place < len(whole):
        match = TOKEN.match(whole, place)
        if match is None:
            raise ValueError(f"{expression!r} cannot be read from {whole[place:]!r}")
        found.append((str(match.lastgroup), match[str(match.lastgroup)]))
        place = match.end()
    return found


def parsed(expression: str) -> Named:
    """What an expression names; refuses unknown functions and brackets that do not fit.

    Example:
        >>> parsed('sum by (a) (rate(x_total{b=~"$b"}[5m]))').metrics
        ['x_total']
    """
    tokens, named, closing = tokens_of(expression), Named(), []
    is_grouping = False
    for i, (kind, text) in enumerate(tokens):
        follows = tokens[i + 1][1] if i + 1 < len(tokens) else ""
        if text in "({":
            closing.append("}" if text == "{" else ")")
        elif text in ")}":
            if not closing or closing.pop() != text:
                raise ValueError(f"{expression!r} has a {text!r} too many")
            is_grouping = is_grouping and text != ")"
        elif kind == "word" and closing[-1:] == ["}"]:
            if follows not in ("=", "=~", "!=", "!~"):
                raise ValueError(f"{expression!r} says nothing of {text!r}")
            named.labels.add(text)
        elif kind == "word" and is_grouping:
            named.groups.add(text)
        elif text in ("by", "without"):
            is_grouping = True
        elif kind == "word" and follows in ("(", "by", "without"):
            if text not in FUNCTIONS | AGGREGATIONS:
                raise ValueError(f"{expression!r} calls {text!r}, which is not known")
        elif kind == "word":
            named.metrics.append(text)
    if closing:
        raise ValueError(f"{expression!r} lacks {closing}")
    named.labels |= named.groups
    return named

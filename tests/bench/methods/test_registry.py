"""Methods are found by name."""

from __future__ import annotations

import sys

import pytest

from imabo.errors import InvalidSetting, MissingExtra
from imabo_bench.methods import method_names, open_method
from imabo_bench.testing.small import PAIR

PROMISED = {
    "imoss-random", "imoss-tpe", "imoss-mutate", "imoss-tpe-blind", "imoss-mutate-blind",
    "imoss-tpe-index", "imabo", "ucb-air", "qrm2", "random", "hier-mab", "hier-mab-10",
    "hier-mab-11", "tpe-1", "tpe-10", "tpe-50", "tpe-70", "tpe-100", "tpe-200", "stosoo", "hoo-t",
    "stroquool", "thompson-10", "thompson-50", "ab-test",
}  # fmt: skip


def test_every_promised_method_is_there_once() -> None:
    names = method_names()
    assert set(names) >= PROMISED
    assert len(set(names)) == len(names)
    assert [open_method(name).name for name in names] == names
    assert all(open_method(name).summary for name in names)


@pytest.mark.parametrize("name", ["imoss", "", None, ["random"]])
def test_an_unknown_name_lists_what_exists(name: str) -> None:
    with pytest.raises(InvalidSetting) as raised:
        open_method(name)
    assert repr(name) in raised.value.what
    assert all(known in raised.value.fix for known in method_names())


@pytest.mark.parametrize(
    ("package", "name"),
    [("optuna", "tpe-10"), ("PyXAB", "stosoo"), ("PyXAB", "hoo-t"), ("PyXAB", "stroquool")],
)
def test_a_missing_library_names_the_extra(
    package: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"imabo-bench"):
        open_method(name).start(PAIR, rounds=100, seed=0)

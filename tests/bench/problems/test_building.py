"""How the scripts read data and fill a table."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from imabo.errors import InvalidSetting, MissingData
from imabo_bench.build import krvskp, rf_grid
from imabo_bench.build.arff import read
from imabo_bench.build.filling import fill, write

ARFF = r"""% a comment
@relation made
@attribute 'the colour' {red,'dark red',blue}
@attribute size REAL
@attribute range {'\'(-inf-1]\'','\'(1-inf)\''}
@ATTRIBUTE class {yes,no}

@data
red, 1, '\'(1-inf)\'', yes
'dark red', 3, '\'(-inf-1]\'', no
% another
red, 5, '\'(1-inf)\'', no
"""


def test_categories_become_columns_and_numbers_are_standardised(tmp_path: Path) -> None:
    path = tmp_path / "made.arff"
    path.write_text(ARFF)
    examples = read(path)
    # Columns: dark red, red (blue never occurs); size (mean 3, deviation sqrt(8/3)); two ranges.
    z = 2.0 / np.sqrt(8.0 / 3.0)
    expected = [[0, 1, -z, 0, 1], [1, 0, 0, 1, 0], [0, 1, z, 0, 1]]
    assert examples.features == pytest.approx(np.array(expected))
    assert examples.labels.tolist() == [1, 0, 0]  # no, yes
    assert (examples.source["file"], examples.source["examples"]) == ("made.arff", 3)


@pytest.mark.parametrize("main", [rf_grid.main, krvskp.main])
def test_a_missing_file_says_where_to_get_it(
    main: Callable[[Sequence[str]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingData, match="OpenML"):
        main(["nowhere.arff"])


def test_missing_values_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "made.arff"
    path.write_text(ARFF.replace("red, 5", "?, 5"))
    with pytest.raises(InvalidSetting, match="missing values"):
        read(path)


class Row:
    """Counts index * 10 and index * 10 + 1; stops where it is told to."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at, self.asked = stop_at, list[int]()

    def __call__(self, index: int) -> list[int]:
        if index == self.stop_at:
            raise KeyboardInterrupt
        self.asked.append(index)
        return [index * 10, index * 10 + 1]


WHOLE = [[0, 1], [10, 11], [20, 21], [30, 31]]


@pytest.mark.parametrize(("seed", "asked"), [(0, [2, 3]), (1, [0, 1, 2, 3])])
def test_a_stopped_build_goes_on_only_with_the_same_settings(
    seed: int, asked: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imabo_bench.build.filling.SAVE_EVERY_S", 0.0)
    partial = tmp_path / "made.partial"
    with pytest.raises(KeyboardInterrupt):
        fill((4, 2), Row(stop_at=2), partial, {"seed": 0})
    row = Row()
    assert fill((4, 2), row, partial, {"seed": seed}).tolist() == WHOLE
    assert row.asked == asked
    assert not partial.exists()


def test_progress_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill((4, 2), Row(), tmp_path / "made.partial", {})
    assert capsys.readouterr().err == "made: 4 of 4 rows, 0 s left\n"


def test_a_written_table_carries_its_versions(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    write(tmp_path, "made", np.array(WHOLE), 40, {"seed": 0})
    with np.load(tmp_path / "made.npz") as stored:
        assert (stored["right"].tolist(), stored["asked"].item()) == (WHOLE, 40)
    assert '"scikit-learn"' in (tmp_path / "made.json").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["made.json", "made.npz"]

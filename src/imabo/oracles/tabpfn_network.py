"""The pretrained network behind the oracle TabPFN: where its weights are, loading, predicting.

The only file that imports the package ``tabpfn`` (and with it torch), and only when it is needed.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from imabo.arms import Floats
from imabo.errors import InvalidSetting, MissingData, MissingExtra

_WEIGHTS = "https://huggingface.co/Prior-Labs/tabpfn_3"
_KEPT = 2  # networks in memory; a process seldom has use for more than one

# One load and one prediction at a time: a load is slow and large enough not to be done twice, and
# torch spreads a single prediction over the cores by itself.
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Network:
    """Which weights to use, and where to run them.

    Args:
        model_path: A checkpoint of the regressor; None is where the package ``tabpfn`` keeps the
            TabPFN-3 regressor that it downloads.
        device: As torch names it.
    """

    model_path: str | None
    device: str

    def load(self, *, download: bool) -> None:
        """Have the network in memory; with ``download``, get the package's own weights first."""
        path = self._path()
        with _lock:
            if download and self.model_path is None and not path.is_file():
                _download(path)
            self._loaded(path)

    def quantiles(
        self,
        table: Floats,
        labels: Floats,
        rows: Floats,
        *,
        categorical: list[int],
        quantile: float,
        estimators: int,
        seed: int,
    ) -> Floats:
        """The quantile of the predicted label of each row, given a table of labelled rows.

        NaN stands for a missing value; ``categorical`` are the columns of category numbers.
        """
        path = self._path()
        with _lock:
            specs = self._loaded(path)
            regressor = _import_tabpfn().TabPFNRegressor(
                n_estimators=estimators,
                categorical_features_indices=categorical or None,
                model_path=specs,
                device=self.device,
                # A study must not stop at the package's advice on how many rows suit a CPU.
                ignore_pretraining_limits=True,
                random_state=seed,
            )
            regressor.fit(table, labels)
            (found,) = regressor.predict(rows, output_type="quantiles", quantiles=[quantile])
        return np.asarray(found, dtype=np.float64)

    def _path(self) -> Path:
        _import_tabpfn()
        if self.model_path is not None:
            return Path(self.model_path).expanduser()
        from tabpfn.model_loading import ModelSource, prepend_cache_path

        return Path(prepend_cache_path(ModelSource.get_regressor_v3().default_filename))

    def _loaded(self, path: Path) -> Any:
        if not path.is_file():
            asked = "model_path" if self.model_path is not None else "the default place"
            raise _missing(path, f"{asked} has no such file")
        return _load(path, self.device)


# A cache of the process and not of the oracle, which is a value without memory: loading takes
# seconds, a proposal must not pay for it each time, and what is proposed does not depend on it.
@lru_cache(maxsize=_KEPT)
def _load(path: Path, device: str) -> Any:
    from tabpfn import ModelSpecs
    from tabpfn.model_loading import load_model

    try:
        model, criterion, config, inference = load_model(path=path, estimator_type="regressor")
    except Exception as error:  # of many kinds: whatever the file's format makes torch stumble on
        why = f"{type(error).__name__}: {_first_line(error)}"
        fix = f"set model_path to a checkpoint of the TabPFN regressor, from {_WEIGHTS}"
        raise MissingData(f"the TabPFN weights at {path} cannot be read", why, fix) from error
    try:
        model.to(device)
    except (AssertionError, RuntimeError) as error:
        why = f"torch cannot use it here ({_first_line(error)})"
        fix = "pass device='cpu', or install a torch that supports it"
        raise InvalidSetting(f"device is {device!r}", why, fix) from error
    return ModelSpecs(model, config, inference, criterion)


def _download(path: Path) -> None:
    """Get the package's TabPFN-3 regressor, which asks for its licence to be accepted."""
    from tabpfn.constants import ModelVersion
    from tabpfn.model_loading import download_model

    outcome = download_model(path, version=ModelVersion.V3, which="regressor")
    if outcome != "ok":
        reason = f"the download failed ({_first_line(outcome[0])})"
        raise _missing(path, reason) from outcome[0]


def _missing(path: Path, why: str) -> MissingData:
    return MissingData(
        f"the TabPFN weights were not found at {path}",
        why,
        f"accept the licence at {_WEIGHTS}, get the regressor's checkpoint there and set "
        "model_path to the file; or run oracles.TabPFN().prepare(download=True) once, online",
    )


def _import_tabpfn() -> Any:
    try:
        import tabpfn
    except ImportError as error:
        why = f"it cannot be imported here ({_first_line(error)})"
        fix = 'run pip install "imabo[tabpfn]"'
        raise MissingExtra("the oracle TabPFN needs the package tabpfn", why, fix) from error
    return tabpfn


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]

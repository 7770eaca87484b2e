"""What we use of SciPy, loaded when the first of it is needed.

To load it takes as long as all of imabo with NumPy. Programs that only ask, tell or look, and most
commands, end without ever needing it.

Example:
    >>> from imabo import late_scipy
    >>> float(late_scipy.expit(0.0))
    0.5
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from scipy.linalg import solve_triangular as solve_triangular
    from scipy.linalg.lapack import dpotrf as dpotrf
    from scipy.linalg.lapack import dpotri as dpotri
    from scipy.linalg.lapack import dpotrs as dpotrs
    from scipy.optimize import linprog as linprog
    from scipy.special import betainc as betainc
    from scipy.special import betaincinv as betaincinv
    from scipy.special import betaln as betaln
    from scipy.special import expit as expit
    from scipy.special import log_ndtr as log_ndtr
    from scipy.special import logit as logit
    from scipy.special import logsumexp as logsumexp
    from scipy.special import ndtr as ndtr
    from scipy.special import ndtri as ndtri
    from scipy.special import ndtri_exp as ndtri_exp

_MODULES: Final = {
    "scipy.linalg": {"solve_triangular"},
    "scipy.linalg.lapack": {"dpotrf", "dpotri", "dpotrs"},
    "scipy.optimize": {"linprog"},
    "scipy.special": {
        *("betainc", "betaincinv", "betaln", "expit", "log_ndtr", "logit", "logsumexp"),
        *("ndtr", "ndtri", "ndtri_exp"),
    },
}


def load() -> None:
    """Load all of it now, and the parts of NumPy that are loaded late as well.

    For programs that signals end by an exception: some of these modules lose one that comes while
    they are loaded.
    """
    for module in ("numpy.random", *_MODULES):
        import_module(module)


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            found = getattr(import_module(module), name)
            globals()[name] = found  # from now on it is found without this function
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

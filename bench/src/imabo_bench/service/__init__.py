"""Load benchmark of the service: ratios measured side by side over real sockets.

Needs the extra ``service``: the service itself, psycopg, and a PostgreSQL to start.
"""

from importlib.util import find_spec

from imabo.errors import MissingExtra

_MISSING = [name for name in ("uvicorn", "psycopg") if find_spec(name) is None]
if _MISSING:
    raise MissingExtra(
        f"{' and '.join(_MISSING)} is not installed",
        "the load benchmark runs the service and speaks to PostgreSQL",
        'run pip install "imabo-bench[service]"',
    )
